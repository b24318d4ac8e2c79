package h2_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/httpserve/h2"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// An inquiry is a request as it is sent, well formed or not.
type inquiry struct {
	method, scheme, path, authority string
	n1, v1, n2, v2                  string // fields; none if the name is empty
	body, trailer, value            string // a trailer; none if the name is empty
	end                             bool   // the head ends the stream: no body, no trailer
	cut                             int    // the bytes come in two parts
}

// FuzzDifferential: what is answered is answered by net/http's own HTTP/2 too, and the
// handler sees the same request. What net/http answers may be refused.
func FuzzDifferential(f *testing.F) {
	for _, q := range valid {
		q.add(f)
	}
	for _, q := range malformed {
		q.add(f)
	}
	ours, theirs := pair(f)
	f.Fuzz(func(t *testing.T, method, scheme, path, authority, n1, v1, n2, v2, body, trailer, value string,
		end bool, cut int) {
		q := inquiry{method, scheme, path, authority, n1, v1, n2, v2, body, trailer, value, end, cut}
		if size := len(q.bytes()); size > 8_000 { // limits differ
			return
		}
		if got := q.ask(t, ours); got != "" {
			if want := q.ask(t, theirs); got != want {
				t.Errorf("%+v\nis    %q,\nwant  %q", q, got, want)
			}
		}
	})
}

// valid are requests that both answer, and malformed such that both refuse.
var (
	bare = inquiry{method: "GET", scheme: "https", path: "/a?b=%20c", authority: "a.example", end: true}
	post = inquiry{method: "POST", scheme: "http", path: "/", authority: "a:80", body: "hello"}

	valid = []inquiry{
		bare, post,
		bare.with("te", "trailers", "cookie", "a=1"), bare.with("cookie", "a", "cookie", "b"),
		bare.with("x", "", "x", "y"), bare.with("content-length", "0", "", ""),
		post.with("content-length", "5", "x-y", "z"),
		func() inquiry { q := post; q.trailer, q.value = "x-trailer", "v"; return q }(),
		func() inquiry { q := post; q.method, q.path = "OPTIONS", "*"; return q }(),
		func() inquiry { q := bare; q.authority, q.n1, q.v1 = "", "host", "b.example"; return q }(),
	}
	malformed = []inquiry{
		bare.with("connection", "close", "", ""), bare.with("transfer-encoding", "chunked", "", ""),
		bare.with("te", "gzip", "", ""), bare.with("Upper", "1", "", ""), bare.with("x", "a\r\nb: c", "", ""),
		bare.with(":path", "/b", "", ""), bare.with("x", "y", ":method", "PUT"),
		bare.with(":status", "200", "", ""), bare.with("content-length", "5", "", ""),
		post.with("content-length", "4", "", ""), post.with("content-length", "6", "", ""),
		func() inquiry { q := bare; q.scheme = "ftp"; return q }(),
		func() inquiry { q := bare; q.path = ""; return q }(),
		func() inquiry { q := bare; q.method = "G T"; return q }(),
		func() inquiry { q := bare; q.path = "/ HTTP/1.1\r\nx: y"; return q }(),
		func() inquiry { q := post; q.trailer, q.value = ":path", "/"; return q }(),
	}
)

// TestH2_AgreesWithNetHTTP is about requests of which it is known what becomes of them.
func TestH2_AgreesWithNetHTTP(t *testing.T) {
	ours, theirs := pair(t)
	for _, q := range valid {
		whole := q.ask(t, ours)
		if want := q.ask(t, theirs); whole == "" || whole != want {
			t.Errorf("%+v: %q, want %q", q, whole, want)
		}
		for q.cut = range len(q.bytes()) {
			if got := q.ask(t, ours); got != whole {
				t.Errorf("%+v, cut: %q, want %q", q, got, whole)
			}
		}
	}
	for _, q := range malformed {
		for q.cut = range len(q.bytes()) {
			if got := q.ask(t, ours); got != "" {
				t.Errorf("%+v: %q, want it refused", q, got)
			}
		}
	}
}

func (q inquiry) with(n1, v1, n2, v2 string) inquiry {
	q.n1, q.v1, q.n2, q.v2 = n1, v1, n2, v2
	return q
}

func (q *inquiry) add(f *testing.F) {
	f.Add(q.method, q.scheme, q.path, q.authority, q.n1, q.v1, q.n2, q.v2, q.body, q.trailer, q.value, q.end, 7)
}

// bytes returns what a client sends behind the preface and its settings.
func (q *inquiry) bytes() []byte {
	var out, block bytes.Buffer
	fr, enc := http2.NewFramer(&out, nil), hpack.NewEncoder(&block)
	fr.AllowIllegalWrites = true
	heads := func(end bool, pairs ...string) {
		block.Reset()
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] != "" && (pairs[i+1] != "" || !strings.HasPrefix(pairs[i], ":")) {
				_ = enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
			}
		}
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, EndStream: end,
			BlockFragment: block.Bytes()})
	}
	heads(q.end, ":method", q.method, ":scheme", q.scheme, ":path", q.path, ":authority", q.authority,
		q.n1, q.v1, q.n2, q.v2)
	if q.end {
		return out.Bytes()
	}
	half := len(q.body) / 2
	_ = fr.WriteData(1, false, []byte(q.body[:half]))
	_ = fr.WriteDataPadded(1, q.trailer == "", []byte(q.body[half:]), make([]byte, half%50))
	if q.trailer != "" {
		heads(true, q.trailer, q.value)
	}
	return out.Bytes()
}

// ask returns what the handler of the server at the socket has seen, or "" if the request was
// refused.
func (q *inquiry) ask(t *testing.T, socket string) string {
	t.Helper()
	nc, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	_ = nc.SetDeadline(time.Now().Add(timeLimit))
	b := q.bytes()
	if _, err := io.WriteString(nc, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	p := newPeer(t, nc)
	cut := min(max(q.cut, 0), len(b))
	_, _ = nc.Write(b[:cut]) // it may be refused meanwhile
	_, _ = nc.Write(b[cut:])
	if h := p.hear(1, true); h.status == "200" && h.reset == noCode && !h.closed {
		return "answered: " + h.body
	}
	return ""
}

// pair returns the sockets of two servers of one handler: ours, which lends it every
// request, and net/http's.
func pair(t testing.TB) (ours, theirs string) {
	t.Helper()
	listen := func(name string) net.Listener {
		l, err := net.Listen("unix", filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	quiet := log.New(io.Discard, "", 0)
	l := listen("ours")
	messages := eventloop.NewMessageServer(&http.Server{Handler: http.HandlerFunc(seen), ErrorLog: quiet}, http1.Frame)
	s, err := eventloop.Serve(l, eventloop.Config{Proto: lender{}, HTTP2: h2.New(lender{}), HandedOver: messages.Serve,
		Preface: http2.ClientPreface})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	second := listen("theirs")
	reference := &http.Server{Handler: http.HandlerFunc(seen), ErrorLog: quiet, Protocols: new(http.Protocols)}
	reference.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = reference.Serve(second) }()
	t.Cleanup(func() { _ = reference.Close() })
	return l.Addr().String(), second.Addr().String()
}

// A lender hands everything over.
type lender struct{ marked }

func (lender) Step(_ *eventloop.Conn, _, out []byte) (int, []byte, eventloop.Next) {
	return 0, out, eventloop.HandOver
}

// seen answers by what a handler sees of a request. Fields that say how it was sent are not
// of it.
func seen(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var fields []string
	for name, values := range r.Header {
		switch name {
		case "Content-Length", "Te", "Host", "Trailer", "Expect":
			continue
		}
		fields = append(fields, fmt.Sprintf("%s: %q", name, values))
	}
	slices.Sort(fields)
	u, _ := url.PathUnescape(r.URL.EscapedPath())
	_, _ = fmt.Fprintf(w, "%s %s %s %q %d %08x %v", r.Method, r.Host, r.RequestURI, u, len(body),
		crc32.ChecksumIEEE(body), fields)
}
