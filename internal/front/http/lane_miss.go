package httpfront

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/internal/lane"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// park has the Handler answer a request that memory could not, while the
// connection waits: a load takes longer than a loop may be held. The answer is
// the Handler's to the last header, so that nothing depends on the road.
func (l *Lane) park(c *lane.Conn, r *http1.Request, head []byte, closing bool) {
	req := &http.Request{
		Method: http.MethodGet, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Host: string(r.Host), RemoteAddr: c.RemoteAddr().String(), Body: http.NoBody,
		RequestURI: string(r.Path), Header: make(http.Header, 4),
	}
	if r.Head {
		req.Method = http.MethodHead
	}
	for _, h := range []struct {
		name  string
		value []byte
	}{
		{"Accept", r.Accept}, {"Accept-Encoding", r.AcceptEncoding},
		{"If-None-Match", r.IfNoneMatch}, {"Authorization", r.Authorization},
		{"User-Agent", userAgent(head)},
	} {
		if h.value != nil {
			req.Header[h.name] = []string{string(h.value)}
		}
	}
	last, next := r.AppendConnection(nil, closing), lane.More
	if closing {
		next = lane.Close
	}
	ctx := context.WithValue(context.Background(), http.LocalAddrContextKey, c.LocalAddr())
	l.crew.Go(func() {
		w := &parked{header: make(http.Header, 12), head: req.Method == http.MethodHead}
		defer func() { c.ResumeThen(w.answer(last), next) }()
		var err error
		if req.URL, err = url.ParseRequestURI(req.RequestURI); err != nil {
			w.WriteHeader(http.StatusBadRequest) // http1 lets no such path through
			return
		}
		l.h.ServeHTTP(w, req.WithContext(ctx))
	})
}

// parked collects the Handler's answer. It is an http.ResponseWriter.
type parked struct {
	header http.Header
	code   int
	body   bytes.Buffer
	head   bool
}

// Header returns the header of the answer.
func (w *parked) Header() http.Header { return w.header }

// WriteHeader sets the status.
func (w *parked) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
}

// Write adds to the body.
func (w *parked) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// answer returns the bytes of the whole answer. A Handler that panicked has
// written nothing.
func (w *parked) answer(connection []byte) []byte {
	if w.code == 0 {
		w.code = http.StatusInternalServerError
	}
	if w.header.Get("Content-Length") == "" && w.code != http.StatusNotModified {
		w.header.Set("Content-Length", strconv.Itoa(w.body.Len()))
	}
	out := bytes.NewBuffer(make([]byte, 0, 512+w.body.Len()))
	out.WriteString("HTTP/1.1 " + strconv.Itoa(w.code) + " " + http.StatusText(w.code) + "\r\n")
	out.Write(http1.AppendDate(nil, time.Now()))
	out.Write(connection)
	_ = w.header.Write(out) // a bytes.Buffer takes all
	out.WriteString("\r\n")
	if !w.head {
		out.Write(w.body.Bytes())
	}
	return out.Bytes()
}
