package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/waittest"
)

// patience is how long a test waits for what must happen.
var patience = waittest.Limit(time.Minute)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loopbackAllowed are options under which clients may name upstreams on this
// machine.
func loopbackAllowed() Options {
	return Options{AllowAddresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

// start serves a proxy on a free port until the test ends.
func start(t testing.TB, o Options) (*Server, string) {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		for _, target := range s.Stats().Targets {
			if target.InFlight != 0 {
				t.Errorf("%s: %d connections in use at the end", target.Name, target.InFlight)
			}
		}
		if n := s.Stats().UpstreamConns; n != 0 {
			t.Errorf("%d upstream connections open at the end", n)
		}
	})
	return s, l.Addr().String()
}

// A script is an upstream that does as a test says with each connection.
type script struct {
	addr  string
	conns chan net.Conn // those that were accepted
	wg    sync.WaitGroup
}

// upstreamScript listens and calls serve for each connection.
func upstreamScript(t testing.TB, serve func(nc net.Conn, br *bufio.Reader)) *script {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &script{addr: l.Addr().String(), conns: make(chan net.Conn, 10_000)}
	s.wg.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			s.conns <- nc
			_ = nc.SetDeadline(time.Now().Add(2 * patience))
			s.wg.Go(func() {
				defer func() { _ = nc.Close() }()
				serve(nc, bufio.NewReader(nc))
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		for {
			select {
			case nc := <-s.conns:
				_ = nc.Close()
				continue
			default:
			}
			break
		}
		s.wg.Wait()
	})
	return s
}

// opened returns how many connections were opened.
func (s *script) opened() int { return len(s.conns) }

// forget makes room for as many connections again: they close themselves.
func (s *script) forget() {
	for len(s.conns) > 0 {
		<-s.conns
	}
}

// readRequest reads a request and its body.
func readRequest(br *bufio.Reader) (*http.Request, string, error) {
	req, err := http.ReadRequest(br)
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(req.Body)
	return req, string(body), err
}

// echo is an upstream that answers each request with what it got.
func echo(t testing.TB) *script {
	return upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		for {
			req, body, err := readRequest(br)
			if err != nil {
				return
			}
			answer := req.Method + " " + req.RequestURI + " " + body
			if _, err := fmt.Fprintf(nc, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s",
				len(answer), answer); err != nil {
				return
			}
		}
	})
}

// A caller is a client that speaks bytes.
type caller struct {
	t  testing.TB
	nc net.Conn
	br *bufio.Reader
}

// call connects to the proxy.
func call(t testing.TB, addr string) *caller {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(patience))
	return &caller{t, nc, bufio.NewReader(nc)}
}

// send writes text.
func (c *caller) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.nc, text); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads one response to a method.
func (c *caller) answer(method string) (*http.Response, string) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.br, &http.Request{Method: method})
	if err != nil {
		c.t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("body %q: %v", body, err)
	}
	return resp, string(body)
}

// line reads up to a line's end.
func (c *caller) line() string {
	c.t.Helper()
	s, err := c.br.ReadString('\n')
	if err != nil {
		c.t.Fatalf("%q: %v", s, err)
	}
	return s
}

// rest reads until the proxy closes.
func (c *caller) rest() string {
	c.t.Helper()
	b, err := io.ReadAll(c.br)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		c.t.Fatalf("%q: %v", b, err)
	}
	return string(b)
}

// eventually polls until what holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	waittest.Until(t, what, holds)
}

// simple returns a GET for an upstream in the words of chocon's Host rule.
func simple(upstream, path string) string {
	name, port, _ := net.SplitHostPort(upstream)
	return "GET " + path + " HTTP/1.1\r\nHost: " + name + ".ccnproxy:" + port + "\r\n\r\n"
}

func TestProxy_RelaysByTheHostRule(t *testing.T) {
	up := echo(t)
	s, addr := start(t, loopbackAllowed())
	c := call(t, addr)
	for i := range 20 {
		c.send(simple(up.addr, fmt.Sprint("/", i)))
		resp, body := c.answer("GET")
		if want := fmt.Sprintf("GET /%d ", i); resp.StatusCode != 200 || body != want {
			t.Fatalf("%d %q, want %q", resp.StatusCode, body, want)
		}
		if resp.Header.Get("X-Chocon-Id") == "" || resp.Close {
			t.Errorf("%v", resp.Header)
		}
	}
	if up.opened() != 1 {
		t.Errorf("%d upstream connections, want 1", up.opened())
	}
	eventually(t, "all are counted", func() bool { return s.Stats().Statuses[200] == 20 })
	if st := s.Stats(); st.Requests != 20 || st.Accepted != 1 {
		t.Errorf("%+v", st)
	}
}

func TestProxy_AnswersPipelinedRequestsInOrder(t *testing.T) {
	up := echo(t)
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	c.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc" +
		"\r\nPOST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\n" +
		"HEAD /4 HTTP/1.1\r\nHost: a\r\n\r\nGET /5 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	for _, want := range []string{"GET /1 ", "POST /2 abc", "POST /3 def", "", "GET /5 "} {
		method := "GET"
		if want == "" {
			method = "HEAD"
		}
		if resp, body := c.answer(method); body != want || resp.StatusCode != 200 {
			t.Fatalf("%d %q, want %q", resp.StatusCode, body, want)
		}
	}
	if left := c.rest(); left != "" {
		t.Errorf("left: %q", left)
	}
}

func TestProxy_StopsWithoutLosingARequest(t *testing.T) {
	up := echo(t)
	s, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	var wg sync.WaitGroup
	var failed, done sync.Map
	for i := range 16 {
		wg.Go(func() {
			c := call(t, addr)
			for n := 0; ; n++ {
				if _, err := io.WriteString(c.nc, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
					failed.Store(i, err)
					return
				}
				resp, err := http.ReadResponse(c.br, nil)
				if err != nil {
					failed.Store(i, err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				done.Store(i, n)
				if resp.Close {
					return
				}
			}
		})
	}
	eventually(t, "requests", func() bool {
		n := 0
		done.Range(func(_, _ any) bool { n++; return true })
		return n == 16
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	wg.Wait()
	failed.Range(func(i, err any) bool {
		t.Errorf("client %v: %v", i, err)
		return true
	})
}

func TestProxy_CloseWaitsForNobody(t *testing.T) {
	asked := make(chan struct{}, 100)
	silent := upstreamScript(t, func(_ net.Conn, br *bufio.Reader) {
		if _, _, err := readRequest(br); err == nil {
			asked <- struct{}{}
			_, _ = io.Copy(io.Discard, br)
		}
	})
	s, addr := start(t, Options{Upstreams: []string{"http://" + silent.addr}})
	for range 20 {
		call(t, addr).send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	<-asked // one waits; the others are somewhere on their way
	closed := make(chan struct{})
	go func() { s.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatal("Close waits")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_ = s.Shutdown(ctx) // after Close it has nothing to do
}
