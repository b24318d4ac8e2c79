package h2_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/httpserve/h2"
	"github.com/hotrow/hotrow/internal/tlstest"
	"github.com/hotrow/hotrow/internal/waittest"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

var timeLimit = waittest.Limit(60 * time.Second) // of a busy machine

// TestMain lets every test find whoever looks at a buffer that is not its own.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		eventloop.PoisonBuffers()
	}
	os.Exit(m.Run())
}

// words answers GET /hit/NAME at once, /miss/NAME by a goroutine, /again/NAME by being
// asked again, POST /take by a goroutine if all of its body is there, and hands all else over.
type words struct{}

func (words) Open(_ *eventloop.Conn, out []byte) []byte                   { return out }
func (words) Tick(_ *eventloop.Conn, out []byte) ([]byte, eventloop.Next) { return out, eventloop.More }

func (w words) Step(c *eventloop.Conn, in, out []byte) (n int, _ []byte, next eventloop.Next) {
	for n < len(in) && next == eventloop.More {
		var used int
		if used, out, next = w.step(c, in[n:], out); used == 0 {
			break
		}
		n += used
	}
	return n, out, next
}

func (words) step(c *eventloop.Conn, in, out []byte) (int, []byte, eventloop.Next) {
	var r http1.Request
	n, v := r.Parse(in)
	kind, _, _ := strings.Cut(strings.TrimPrefix(string(r.Path), "/"), "/")
	switch {
	case v == http1.HandOver && kind == "take":
		body, n, whole := r.Body(in)
		if !whole {
			return 0, out, eventloop.HandOver
		}
		late := http1.AppendStatus(nil, 200)
		late = http1.AppendEnd(http1.AppendLength(late, len(sumOf(body))))
		go c.Resume(append(late, sumOf(body)...))
		return n, out, eventloop.Parked
	case v == http1.HandOver:
		return 0, out, eventloop.HandOver
	case v == http1.NeedMore:
		return 0, out, eventloop.More
	case v != http1.Complete:
		return len(in), http1.AppendRefusal(out, v, time.Now(), ""), eventloop.Close
	case kind == "hit" || kind == "again" && c.Data != nil:
		c.Data = nil
		return n, answer(out, &r), eventloop.More
	case kind == "miss":
		late := answer(nil, &r)
		go c.Resume(late)
		return n, out, eventloop.Parked
	case kind == "again":
		c.Data = true
		go c.Resume(nil)
		return 0, out, eventloop.Parked
	}
	return 0, out, eventloop.HandOver
}

func answer(out []byte, r *http1.Request) []byte {
	body := bodyOf(string(r.Path))
	out = http1.AppendHeader(http1.AppendStatus(out, 200), "Content-Type", "text/plain")
	out = http1.AppendEnd(http1.AppendLength(out, len(body)))
	if r.Head {
		return out
	}
	return append(out, body...)
}

// sumOf is what the answer to a body says.
func sumOf(body []byte) string { return fmt.Sprintf("%d %08x", len(body), crc32.ChecksumIEEE(body)) }

// bodyOf returns path, repeated to N bytes if its last part is "N:...".
func bodyOf(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	size, _, ok := strings.Cut(name, ":")
	if n, err := strconv.Atoi(size); ok && err == nil {
		return strings.Repeat(path, n/len(path)+1)[:n]
	}
	return path
}

// full answers what is handed over.
type full struct{ entered, canceled, release chan struct{} }

func (f *full) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch kind, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); kind {
	case "put", "take":
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, sumOf(body))
	case "unread":
		_, _ = io.WriteString(w, "unread")
	case "head":
		_, _ = fmt.Fprintf(w, "%s %s %s %s %q %v", r.Method, r.Host, r.URL, r.Proto, r.Header["Cookie"],
			r.TLS != nil)
	case "full", "hit": // hits, while the peer takes too little
		_, _ = io.WriteString(w, bodyOf(r.URL.Path))
	case "flow": // a megabyte, of which the handler holds nothing
		for range 16 {
			_, _ = w.Write(flow)
		}
	case "watch":
		f.watch(w, r)
	case "slow":
		f.entered <- struct{}{}
		select {
		case <-r.Context().Done():
			f.canceled <- struct{}{}
		case <-f.release:
			_, _ = io.WriteString(w, "slow")
		}
	case "tail": // has work to do behind its answer
		w.Header().Set("Content-Length", "5")
		_, _ = io.WriteString(w, "/tail")
		_ = http.NewResponseController(w).Flush()
		f.entered <- struct{}{}
		<-f.release
	case "panic":
		_, _ = io.WriteString(w, "beg")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	default:
		http.NotFound(w, r)
	}
}

var flow = make([]byte, 62_500)

// A site is a server under test.
type site struct {
	*full
	addr     string
	trust    *tls.Config // nil: no TLS
	server   *eventloop.Server
	messages *eventloop.MessageServer
	two      *h2.Protocol
}

// forms are those of connections, with TLS and without.
var forms = map[string]eventloop.Config{
	"loop":          {TLS: new(tls.Config)},
	"goroutine":     {TLS: new(tls.Config), Goroutines: true},
	"h2c-loop":      {},
	"h2c-goroutine": {Goroutines: true},
}

// each runs a test over every form.
func each(t *testing.T, f func(t *testing.T, s *site)) {
	for form, c := range forms {
		t.Run("form="+form, func(t *testing.T) { f(t, open(t, c)) })
	}
}

// open serves with a certificate if c has TLS, and else HTTP/2 to those who know.
func open(t testing.TB, c eventloop.Config) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, l, c)
}

// serve is open over a listener.
func serve(t testing.TB, l net.Listener, c eventloop.Config) *site {
	t.Helper()
	s := &site{full: &full{make(chan struct{}, 4096), make(chan struct{}, 4096), make(chan struct{})}}
	s.addr = l.Addr().String()
	quiet := slog.New(slog.DiscardHandler)
	s.messages = eventloop.NewMessageServer(
		&http.Server{Handler: s.full, ErrorLog: slog.NewLogLogger(quiet.Handler(), 0)}, http1.Frame)
	s.two = h2.New(words{})
	c.Proto, c.HandedOver, c.HTTP2 = words{}, s.messages.Serve, s.two
	if c.TLS != nil {
		made := tlstest.New(t, "h2")
		s.trust = &tls.Config{RootCAs: made.Pool(), ServerName: "localhost", NextProtos: []string{"h2"}}
		c.TLS = &tls.Config{Certificates: []tls.Certificate{*made.Pair(t)}, NextProtos: []string{"h2"}}
	} else if c.Preface == "" {
		c.Preface = http2.ClientPreface
	}
	if c.Grace == 0 {
		c.Grace = 20 * time.Millisecond
	}
	var err error
	if s.server, err = eventloop.Serve(l, c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
		defer cancel()
		if err := s.stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *site) stop(ctx context.Context) error {
	return errors.Join(s.server.Shutdown(ctx), s.messages.Shutdown(ctx))
}

// url returns the address of path.
func (s *site) url(path string) string {
	if s.trust == nil {
		return "http://" + s.addr + path
	}
	return "https://" + s.addr + path
}

// client asks over one connection.
func (s *site) client(t testing.TB) *http.Client {
	tr := &http.Transport{Protocols: new(http.Protocols)}
	if s.trust != nil {
		tr.TLSClientConfig = s.trust.Clone()
	}
	tr.Protocols.SetHTTP2(true)
	tr.Protocols.SetUnencryptedHTTP2(s.trust == nil)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: timeLimit}
}

// do returns the status and the body of an answer.
func do(t testing.TB, c *http.Client, method, url string, body io.Reader) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil || a.ProtoMajor != 2 {
		t.Fatalf("%s %s: %s, %v", method, url, a.Proto, err)
	}
	return a.StatusCode, string(b)
}

// A peer speaks frames.
type peer struct {
	t  testing.TB
	nc net.Conn
	*http2.Framer
	block bytes.Buffer
	enc   *hpack.Encoder
}

// connect returns a connection on which nothing was sent.
func (s *site) connect(t testing.TB) net.Conn {
	t.Helper()
	var nc net.Conn
	var err error
	if s.trust != nil {
		nc, err = tls.Dial("tcp", s.addr, s.trust)
	} else {
		nc, err = net.Dial("tcp", s.addr)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = nc.SetDeadline(time.Now().Add(timeLimit))
	return nc
}

// dial connects; after it settings and preface are sent.
func (s *site) dial(t testing.TB, settings ...http2.Setting) *peer {
	t.Helper()
	nc := s.connect(t)
	if _, err := io.WriteString(nc, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	return newPeer(t, nc, settings...)
}

// newPeer returns the peer whose preface was sent over nc, and sends its settings.
func newPeer(t testing.TB, nc net.Conn, settings ...http2.Setting) *peer {
	t.Helper()
	t.Cleanup(func() { cut(nc) })
	p := &peer{t: t, nc: nc, Framer: http2.NewFramer(nc, nc)}
	p.enc = hpack.NewEncoder(&p.block)
	p.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	p.must(p.WriteSettings(settings...))
	return p
}

// cut closes a connection without the last word of TLS, for which the client would wait 5 s
// where the server takes nothing more.
func cut(nc net.Conn) {
	if secure, ok := nc.(*tls.Conn); ok {
		nc = secure.NetConn()
	}
	_ = nc.Close()
}

func (p *peer) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// ping ends a test unless a ping is answered.
func (p *peer) ping() {
	p.t.Helper()
	p.must(p.WritePing(false, [8]byte{1}))
	for {
		f, err := p.ReadFrame()
		p.must(err)
		if pong, ok := f.(*http2.PingFrame); ok {
			if !pong.IsAck() || pong.Data != [8]byte{1} {
				p.t.Fatalf("%v", pong)
			}
			return
		}
	}
}

// fields returns a header block, of "name", "value" pairs.
func (p *peer) fields(pairs ...string) []byte {
	p.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		p.must(p.enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}))
	}
	return p.block.Bytes()
}

// ask begins a stream.
func (p *peer) ask(id uint32, method, path string, end bool, more ...string) {
	p.t.Helper()
	pairs := append([]string{":method", method, ":scheme", "https", ":authority", "localhost",
		":path", path}, more...)
	p.must(p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true, EndStream: end,
		BlockFragment: p.fields(pairs...)}))
}

// A heard is what a stream or the connection has come to.
type heard struct {
	status string
	body   string
	reset  http2.ErrCode // of the stream; noCode: it was not
	goAway http2.ErrCode // of the connection
	closed bool
}

const noCode = http2.ErrCode(1 << 31)

// hear reads until stream id has ended, or the connection. It answers settings and opens
// windows for what has come, if windows says so.
func (p *peer) hear(id uint32, windows bool) heard {
	p.t.Helper()
	h := heard{reset: noCode, goAway: noCode}
	for {
		f, err := p.ReadFrame()
		if err != nil {
			var late net.Error
			if errors.As(err, &late) && late.Timeout() {
				p.t.Fatalf("stream %d: nothing comes", id)
			}
			h.closed = true
			return h
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = p.WriteSettingsAck() // to a server that ends, perhaps
			}
		case *http2.GoAwayFrame:
			h.goAway = f.ErrCode
		case *http2.MetaHeadersFrame:
			if f.StreamID == id {
				h.status = f.PseudoValue("status")
			}
		case *http2.DataFrame:
			if f.StreamID == id {
				h.body += string(f.Data())
			}
			if n := uint32(len(f.Data())); windows && n > 0 {
				_ = p.WriteWindowUpdate(0, n)
				if !f.StreamEnded() {
					_ = p.WriteWindowUpdate(f.StreamID, n)
				}
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == id {
				h.reset = f.ErrCode
				return h
			}
		}
		if fh := f.Header(); fh.StreamID == id && (fh.Type == http2.FrameData || fh.Type == http2.FrameHeaders) &&
			fh.Flags.Has(http2.FlagDataEndStream) {
			return h
		}
	}
}

// wantStream ends a test unless stream id is answered so.
func (p *peer) want(id uint32, status, body string) {
	p.t.Helper()
	if h := p.hear(id, true); h.status != status || h.body != body {
		p.t.Fatalf("stream %d: %s %.80q (reset %v, goaway %v, closed %v), want %s %.80q",
			id, h.status, h.body, h.reset, h.goAway, h.closed, status, body)
	}
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	waittest.Until(t, what, ok)
}
