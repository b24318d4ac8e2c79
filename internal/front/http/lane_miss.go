package httpfront

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/internal/lane"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// A miss is a request for a document that memory could not answer, while its
// connection waits: a load takes longer than a loop may be held. There may be as
// many as connections, so it is small.
type miss struct {
	l       *Lane
	c       *lane.Conn
	live    *settings
	res     *resource.Resource
	rule    resource.Rule // which the request has passed
	format  row.Format
	head    []byte
	closing bool
	mayWait bool // for the database, where it runs
}

// park has somebody answer a request that memory could not.
func (l *Lane) park(
	c *lane.Conn, s *scope, res *laneResource, r *http1.Request, head []byte, closing bool,
) {
	format, _ := s.format(r)
	m := &miss{l: l, c: c, live: s.live, res: res.Resource, rule: res.rule, format: format,
		head: bytes.Clone(head), closing: closing, mayWait: !res.OnDisk()}
	if m.mayWait {
		l.crew.Go(m.run)
	} else {
		l.desk.Go(m.run)
	}
}

// run answers the request, or has somebody do it who may wait for the database.
func (m *miss) run() {
	var r http1.Request
	r.Parse(m.head) // it was complete before
	defer m.rescue(&r)
	since := m.live.Now()
	_, segment, _ := splitPath(r.Path, m.live.BasePath)
	key, err := parseKey(row.Alias(segment), len(m.res.KeyType()))
	if err != nil {
		m.resume(m.full(&r, nil)) // the Handler says what is wrong with it
		return
	}
	read := m.res.Begin(key, m.format)
	if m.mayWait || read.Ready() {
		m.end(&r, &read, since)
		return
	}
	waiting := read // in memory of its own only here
	m.l.crew.Go(func() {
		var r http1.Request
		r.Parse(m.head)
		defer m.rescue(&r)
		m.end(&r, &waiting, since)
	})
}

// rescue answers a request that has panicked: a bug of ours that must not take the
// answer with it, nor the process.
func (m *miss) rescue(r *http1.Request) {
	if v := recover(); v != nil {
		m.live.Log.Error("request panicked", "path", string(r.Path), "panic", v,
			"stack", string(debug.Stack()))
		w := parked{header: make(http.Header)}
		m.resume(w.answer(r.AppendConnection(nil, m.closing)))
	}
}

// resume gives the connection the answer.
func (m *miss) resume(answer []byte) {
	next := lane.More
	if m.closing {
		next = lane.Close
	}
	m.c.ResumeThen(answer, next)
}

// answered is what a resource has said to a request before the Handler sees it.
type answered struct {
	resource.Answer
	err   error
	since time.Time
}

// end waits for the document and answers: one that is there as the lane would,
// without a map of headers; all else, such as errors, as the Handler does.
func (m *miss) end(r *http1.Request, read *resource.Missed, since time.Time) {
	a, err := read.Answer(context.Background())
	if err != nil || !m.plain(r, &a) {
		m.resume(m.full(r, &answered{a, err, since}))
		return
	}
	out := m.document(r, &a)
	m.l.h.stats.observe(m.res.Name(), http.StatusOK, m.live.Now().Sub(since))
	m.resume(out)
}

// plain reports whether an answer is that of a document as it is, for somebody
// who may still read it.
func (m *miss) plain(r *http1.Request, a *resource.Answer) bool {
	logged := m.live.Access != nil && m.live.Access.On() // which the Handler does
	if logged || a.Doc.Absent() || r.IfNoneMatch != nil || m.res.Access().Read != m.rule {
		return false
	}
	if r.AcceptEncoding == nil || len(m.live.Compression) == 0 {
		return true
	}
	takes := parseAccepted(row.Alias(r.AcceptEncoding), m.live.Compression)
	return a.Origin != resource.HitMemory && takes.takes(row.Identity) &&
		takes.coded(a.Doc) == a.Doc
}

// document returns the answer that has a document.
func (m *miss) document(r *http1.Request, a *resource.Answer) []byte {
	wire := a.Doc.Wire()
	if r.Head {
		wire = a.Doc.WireHead()
	}
	cacheControl := m.live.CacheControl
	if m.rule != "public" {
		cacheControl = privateControl
	}
	out := make([]byte, 0, 512+len(wire))
	out = http1.AppendStatus(out, http.StatusOK)
	out = r.AppendConnection(out, m.closing)
	out = http1.AppendDate(out, m.live.Now())
	out = m.live.appendLines(out, cacheStatus(a.Origin), cacheControl, a.Token, a.Lag)
	out = appendRequestID(out, r.RequestID)
	return append(out, wire...)
}

// full has the Handler answer: to the last header, so that nothing depends on the
// road. got is what the resource has said, if it was asked.
func (m *miss) full(r *http1.Request, got *answered) []byte {
	req := &http.Request{
		Method: http.MethodGet, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Host: string(r.Host), RemoteAddr: m.c.RemoteAddr().String(), Body: http.NoBody,
		RequestURI: string(r.Path), Header: make(http.Header, 4),
	}
	if len(r.Query) > 0 {
		req.RequestURI += "?" + string(r.Query)
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
		{"X-Request-Id", r.RequestID},
		{"User-Agent", userAgent(m.head)},
	} {
		if h.value != nil {
			req.Header[h.name] = []string{string(h.value)}
		}
	}
	w := parked{header: make(http.Header, 12), head: r.Head}
	var err error
	if req.URL, err = url.ParseRequestURI(req.RequestURI); err != nil {
		w.WriteHeader(http.StatusBadRequest) // http1 lets no such path through
	} else {
		ctx := context.WithValue(context.Background(), http.LocalAddrContextKey, m.c.LocalAddr())
		m.l.h.serve(&w, req.WithContext(ctx), got)
	}
	return w.answer(r.AppendConnection(nil, m.closing))
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
