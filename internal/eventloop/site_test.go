package eventloop

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/tlstest"
	"github.com/hotrow/hotrow/internal/waittest"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// timeLimit bounds whatever a test waits for.
var timeLimit = waittest.Limit(time.Minute)

// hits is a protocol that answers GET /hit/NAME at once, parks for /miss/NAME
// and /now/NAME, and hands the rest over. Package front/http has the real one.
type hits struct {
	ended  atomic.Int64
	strict bool // no empty line before a request
}

func (*hits) Open(c *Conn, out []byte) []byte {
	c.Data = new(http1.Gap)
	return out
}

func (*hits) Tick(_ *Conn, out []byte) ([]byte, Next) { return out, More }
func (p *hits) End(*Conn)                             { p.ended.Add(1) }

// Prefetch makes hits a Prefetcher, so that every test runs over batches too.
func (*hits) Prefetch(_ Scope, inputs [][]byte) {
	for _, in := range inputs {
		if len(in) == 0 {
			panic("prefetched nothing")
		}
	}
}

func (p *hits) Step(c *Conn, in, out []byte) (n int, _ []byte, next Next) {
	var r http1.Request
	for n < len(in) {
		if !p.strict {
			skip, v := c.Data.(*http1.Gap).Skip(in[n:])
			if v == http1.NeedMore {
				return n, out, More
			}
			n += skip
		}
		length, v := r.Parse(in[n:])
		switch v {
		case http1.NeedMore:
			return n, out, More
		case http1.Bad, http1.TooLarge, http1.LongLine, http1.OtherVersion:
			return n, http1.AppendRefusal(out, v, time.Now(), ""), Close
		}
		kind, name, _ := strings.Cut(strings.TrimPrefix(string(r.Path), "/"), "/")
		if v == http1.HandOver || kind != "hit" && kind != "miss" && kind != "now" {
			return n, out, HandOver
		}
		n += length
		closing := r.Close || c.Draining()
		answer := func(out []byte) []byte { return appendAnswer(out, &r, kind+" "+name, closing) }
		then := More
		if closing {
			then = Close
		}
		switch kind {
		case "hit":
			out = answer(out)
		case "miss":
			late := answer(nil)
			go c.ResumeThen(late, then)
			return n, out, Parked
		case "now":
			c.ResumeThen(answer(nil), then)
			return n, out, Parked
		}
		if closing {
			return n, out, Close
		}
		if len(out) >= FlushSize {
			return n, out, Flush
		}
	}
	return n, out, More
}

// appendAnswer appends a 200 with text, which "N:" in its name makes N bytes.
func appendAnswer(out []byte, r *http1.Request, text string, closing bool) []byte {
	body := bodyOf(text)
	out = http1.AppendDate(http1.AppendStatus(out, 200), time.Now())
	out = r.AppendConnection(http1.AppendHeader(out, "Content-Type", "text/plain"), closing)
	out = http1.AppendEnd(http1.AppendLength(out, len(body)))
	if r.Head {
		return out
	}
	return append(out, body...)
}

// bodyOf returns text, repeated to N bytes if its name begins with "N:".
func bodyOf(text string) string {
	_, name, _ := strings.Cut(text, " ")
	size, _, ok := strings.Cut(name, ":")
	if n, err := strconv.Atoi(size); ok && err == nil {
		return strings.Repeat(text, n/len(text)+1)[:n]
	}
	return text
}

// full answers what is handed over. With all it answers as hits does too, so
// that a plain net/http server can be the reference.
type full struct {
	all      bool
	canceled chan struct{} // a handler's context was
	entered  chan struct{}
	release  chan struct{}
}

func newFull() *full {
	return &full{canceled: make(chan struct{}, 16), entered: make(chan struct{}, 4096),
		release: make(chan struct{})}
}

func (f *full) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, name, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	switch kind {
	case "hit", "miss", "now":
		if f.all || r.Method == http.MethodGet {
			text := bodyOf(kind + " " + name)
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
			_, _ = io.WriteString(w, text)
			return
		}
		http.NotFound(w, r)
	case "put":
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = fmt.Fprintf(w, "put %d %08x", len(body), crc32.ChecksumIEEE(body))
	case "unread":
		_, _ = io.WriteString(w, "unread")
	case "tls":
		_, _ = fmt.Fprint(w, r.Proto, " ", r.TLS != nil)
	case "big":
		w.Header().Set("Content-Length", strconv.Itoa(8<<20))
		_, _ = w.Write(bytes.Repeat([]byte("x"), 8<<20))
	case "slow":
		f.entered <- struct{}{}
		select {
		case <-r.Context().Done():
			f.canceled <- struct{}{}
		case <-f.release:
			_, _ = io.WriteString(w, "slow")
		}
	case "panic":
		panic(http.ErrAbortHandler)
	case "silent":
	case "hijack":
		f.hijack(w)
	default:
		http.NotFound(w, r)
	}
}

// hijack answers by echoing one line in upper case.
func (f *full) hijack(w http.ResponseWriter) {
	nc, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer nc.Close()
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\n\r\n")
	_ = rw.Flush()
	line, _ := rw.ReadString('\n')
	_, _ = rw.WriteString(strings.ToUpper(line))
	_ = rw.Flush()
}

// A site is a server under test.
type site struct {
	form     string
	addr     net.Addr
	tls      *tls.Config
	server   *Server // nil: plain net/http
	messages *MessageServer
	proto    *hits
	full     *full
	stop     func(context.Context) error
}

var forms = []string{"epoll", "goroutine", "unix", "tls", "tlsloop", "nethttp"}

// loopForms are those that are ours.
var loopForms = forms[:5]

// each runs a test over several forms, and looks for goroutines that stay.
func each(t *testing.T, forms []string, c Config, f func(t *testing.T, s *site)) {
	for _, form := range forms {
		t.Run("form="+form, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			run(t, form, c, f)
		})
	}
}

// eachAtOnce is each for tests that mostly wait: the forms share the time.
func eachAtOnce(t *testing.T, forms []string, c Config, f func(t *testing.T, s *site)) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("forms", func(t *testing.T) {
		for _, form := range forms {
			t.Run("form="+form, func(t *testing.T) {
				t.Parallel()
				run(t, form, c, f)
			})
		}
	})
}

// run runs a test over one form.
func run(t *testing.T, form string, c Config, f func(t *testing.T, s *site)) {
	s := open(t, form, c)
	defer func() {
		ctx, cancel := context.WithTimeout(t.Context(), timeLimit)
		defer cancel()
		if err := s.stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	}()
	f(t, s)
}

// open starts a site, once each of before has seen it.
func open(t testing.TB, form string, c Config, before ...func(*site)) *site {
	t.Helper()
	s := &site{form: form, proto: new(hits), full: newFull()}
	for _, f := range before {
		f(s)
	}
	network, address := "tcp", "127.0.0.1:0"
	if form == "unix" {
		network, address = "unix", filepath.Join(t.TempDir(), "s")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr()
	srv := &http.Server{Handler: s.full, ErrorLog: log.New(io.Discard, "", 0),
		MaxHeaderBytes: 12 << 10, IdleTimeout: c.Idle, ReadHeaderTimeout: c.Header}
	if form == "nethttp" {
		s.full.all = true
		go func() { _ = srv.Serve(l) }()
		s.stop = func(context.Context) error { return srv.Close() }
		return s
	}
	if strings.HasPrefix(form, "tls") {
		c.TLS = &tls.Config{
			Certificates: []tls.Certificate{*tlstest.New(t, "eventloop").Pair(t)},
			NextProtos:   []string{"http/1.1"},
		}
		s.tls = c.TLS
	}
	c.Goroutines = c.Goroutines || form == "goroutine" || form == "tls"
	if c.Proto == nil {
		s.messages = NewMessageServer(srv, http1.Frame)
		c.Proto, c.HandedOver = s.proto, s.messages.Serve
	}
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError + 1}))
	}
	if c.Grace == 0 {
		c.Grace = 20 * time.Millisecond
	}
	if s.server, err = Serve(l, c); err != nil {
		t.Fatal(err)
	}
	s.stop = func(ctx context.Context) error {
		err := s.server.Shutdown(ctx)
		if s.messages != nil {
			err = errors.Join(err, s.messages.Shutdown(ctx))
		}
		return err
	}
	return s
}

// A client is one connection to a site.
type client struct {
	net.Conn
	t testing.TB
	r *bufio.Reader
}

// dial connects to the site.
func (s *site) dial(t testing.TB) *client {
	t.Helper()
	nc, err := s.connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(timeLimit)); err != nil {
		t.Fatal(err)
	}
	return &client{nc, t, bufio.NewReader(nc)}
}

func (s *site) connect() (net.Conn, error) {
	if s.tls == nil {
		return net.Dial(s.addr.Network(), s.addr.String())
	}
	return tls.Dial("tcp", s.addr.String(), clientTLS())
}

// send writes text.
func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatalf("send %.60q: %v", text, err)
	}
}

// answer reads an answer.
func (c *client) answer(method string) (*http.Response, string) {
	c.t.Helper()
	a, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("no answer: %v", err)
	}
	body, err := io.ReadAll(a.Body)
	if err != nil {
		c.t.Fatalf("half an answer: %v", err)
	}
	return a, string(body)
}

// want reads an answer to a GET and compares it with status and body.
func (c *client) want(status int, body string) *http.Response {
	c.t.Helper()
	a, got := c.answer("GET")
	if a.StatusCode != status || status == 200 && got != body {
		c.t.Fatalf("answer %d %.80q, want %d %.80q", a.StatusCode, got, status, body)
	}
	return a
}

// wantEnd wants nothing but the end of the connection.
func (c *client) wantEnd() {
	c.t.Helper()
	b, err := io.ReadAll(c.r)
	var timeout net.Error
	if len(b) > 0 || errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Fatalf("the connection goes on: %.60q, %v", b, err)
	}
}

// get returns a request.
func get(path string, lines ...string) string {
	head := "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n"
	for _, line := range lines {
		head += line + "\r\n"
	}
	return head + "\r\n"
}

// put returns a request with a body, and its answer.
func put(body string) (request, answer string) {
	return fmt.Sprintf("PUT /put HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s",
			len(body), body),
		fmt.Sprintf("put %d %08x", len(body), crc32.ChecksumIEEE([]byte(body)))
}

// eventually waits for cond.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	waittest.Until(t, what, cond)
}

// clientTLS trusts every server.
func clientTLS() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

// openFiles returns how many descriptors this process has.
func openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc: ", err)
	}
	return len(entries)
}
