package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A lockedBuffer is a buffer that several goroutines use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// onceThenDead answers one request on each connection and closes it when the
// next one comes, as an upstream does whose idle time has run out meanwhile.
func onceThenDead(t *testing.T) (up *script, seen *atomic.Int64) {
	seen = new(atomic.Int64)
	return upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		if _, _, err := readRequest(br); err != nil {
			return
		}
		seen.Add(1)
		_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		_, _, _ = readRequest(br)
	}), seen
}

func TestRetry_OnlyWhereItIsSafe(t *testing.T) {
	put := func(n int) string {
		return fmt.Sprintf("PUT / HTTP/1.1\r\nHost: up\r\nContent-Length: %d\r\n\r\n%s", n, strings.Repeat("x", n))
	}
	tests := map[string]struct {
		send   string
		status int
	}{
		"get":             {"GET / HTTP/1.1\r\nHost: up\r\n\r\n", 200},
		"put with a body": {put(3), 200},
		"post":            {"POST / HTTP/1.1\r\nHost: up\r\nContent-Length: 3\r\n\r\nabc", 502},
		"post with a key": {
			"POST / HTTP/1.1\r\nHost: up\r\nIdempotency-Key: k\r\nContent-Length: 3\r\n\r\nabc", 200,
		},
		"put, large":     {put(50_000), 200},
		"put, too large": {put(90_000), 502},
		"put, large chunk": {"PUT / HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\nc350\r\n" +
			strings.Repeat("x", 50_000) + "\r\n0\r\n\r\n", 200},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			up, _ := onceThenDead(t)
			s, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
			c := call(t, addr)
			c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
			c.answer("GET")
			c.send(tt.send)
			if resp, body := c.answer("GET"); resp.StatusCode != tt.status {
				t.Errorf("%d %q, want %d", resp.StatusCode, body, tt.status)
			}
			if got, want := s.Stats().Retries, int64(flag(tt.status == 200)); got != want {
				t.Errorf("%d retries, want %d", got, want)
			}
		})
	}
}

func TestPool_AClosedConnectionIsNotUsed(t *testing.T) {
	closed := make(chan struct{})
	up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		if _, _, err := readRequest(br); err == nil {
			_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			_ = nc.Close()
			closed <- struct{}{}
		}
	})
	s, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	for range 5 {
		c.send("POST / HTTP/1.1\r\nHost: up\r\nContent-Length: 0\r\n\r\n")
		if resp, _ := c.answer("POST"); resp.StatusCode != 200 {
			t.Fatalf("%d", resp.StatusCode)
		}
		<-closed
	}
	if n := s.Stats().Retries; n != 0 {
		t.Errorf("%d retries", n)
	}
}

func TestPool_AddressesThatFailAreLeftAlone(t *testing.T) {
	up := echo(t)
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = dead.Close()
	s, addr := start(t, Options{Upstreams: []string{"http://" + dead.Addr().String(), "http://" + up.addr}})
	c := call(t, addr)
	for range 200 {
		c.send("POST / HTTP/1.1\r\nHost: up\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		if resp, _ := c.answer("POST"); resp.StatusCode != 200 {
			t.Fatalf("%d", resp.StatusCode)
		}
		c = call(t, addr)
		if s.Stats().Ejections > 0 {
			break
		}
		for _, b := range s.fixed.backends() { // idle connections would win
			b.reap(0, 100)
		}
	}
	if s.Stats().Ejections == 0 {
		t.Error("the dead address was not left alone")
	}
}

func TestPool_AnUpstreamThatIsDown(t *testing.T) {
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = dead.Close()
	_, addr := start(t, Options{Upstreams: []string{"http://" + dead.Addr().String()}})
	c := call(t, addr)
	for i := range failuresToEject + 1 {
		c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
		resp, _ := c.answer("GET")
		want := 502
		if i == failuresToEject {
			want = 503
		}
		if resp.StatusCode != want || want == 503 && resp.Header.Get("Retry-After") == "" {
			t.Errorf("request %d: %d, want %d", i, resp.StatusCode, want)
		}
	}
	l, err := net.Listen("tcp", dead.Addr().String())
	if err != nil {
		t.Skip("the port is taken")
	}
	server := &http.Server{Handler: http.NotFoundHandler()}
	go func() { _ = server.Serve(l) }()
	defer func() { _ = server.Close() }()
	eventually(t, "it is tried again", func() bool {
		c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
		resp, _ := c.answer("GET")
		return resp.StatusCode == 404
	})
}

func TestPool_MaxConnsWaitInLine(t *testing.T) {
	var now, most atomic.Int64
	up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		for {
			if _, _, err := readRequest(br); err != nil {
				return
			}
			n := now.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			<-time.After(5 * time.Millisecond)
			now.Add(-1)
			_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}, MaxConns: 3})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			c := call(t, addr)
			for range 3 {
				_, _ = io.WriteString(c.nc, "GET / HTTP/1.1\r\nHost: up\r\n\r\n")
				resp, err := http.ReadResponse(c.br, nil)
				if err != nil || resp.StatusCode != 200 {
					t.Errorf("%v %v", err, resp)
					return
				}
			}
		})
	}
	wg.Wait()
	if most.Load() > 3 || up.opened() > 3 {
		t.Errorf("%d at once on %d connections, at most 3", most.Load(), up.opened())
	}
}

func TestPool_IdleConnsAreBounded(t *testing.T) {
	var wg sync.WaitGroup
	up := echo(t)
	s, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}, IdleConns: 2})
	for range 20 {
		wg.Go(func() {
			c := call(t, addr)
			for range 5 {
				_, _ = io.WriteString(c.nc, "GET / HTTP/1.1\r\nHost: up\r\n\r\n")
				if resp, err := http.ReadResponse(c.br, nil); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
				}
			}
		})
	}
	wg.Wait()
	eventually(t, "two connections at most are kept", func() bool { return s.Stats().UpstreamConns <= 2 })
}

// secure starts an upstream that speaks TLS.
func secure(t *testing.T, http2 bool, h http.HandlerFunc) (ts *httptest.Server, config *tls.Config) {
	ts = httptest.NewUnstartedServer(h)
	ts.EnableHTTP2 = http2
	ts.StartTLS()
	t.Cleanup(ts.Close)
	roots := x509.NewCertPool()
	roots.AddCert(ts.Certificate())
	return ts, &tls.Config{RootCAs: roots, ServerName: "example.com"}
}

func TestTLS_UpstreamIsVerifiedAndKept(t *testing.T) {
	var resumed atomic.Int64
	ts, config := secure(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.DidResume {
			resumed.Add(1)
		}
		_, _ = fmt.Fprint(w, r.Host, r.TLS.ServerName)
	})
	_, port, _ := net.SplitHostPort(ts.Listener.Addr().String())
	o := loopbackAllowed()
	o.TLS = config
	s, addr := start(t, o)
	c := call(t, addr)
	ask := "GET / HTTP/1.1\r\nHost: 127.0.0.1.ccnproxy-ssl:" + port + "\r\n\r\n"
	for range 10 {
		c.send(ask)
		if resp, body := c.answer("GET"); resp.StatusCode != 200 || body != "127.0.0.1:"+port+"example.com" {
			t.Fatalf("%d %q", resp.StatusCode, body)
		}
	}
	if n := s.Stats().Targets[0].Opened; n != 1 {
		t.Errorf("%d connections", n)
	}
	s.reap(100)
	c.send(ask)
	if c.answer("GET"); resumed.Load() == 0 {
		t.Error("the session was not resumed")
	}
	o.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
	_, strict := start(t, o)
	c = call(t, strict)
	c.send(ask)
	if resp, _ := c.answer("GET"); resp.StatusCode != 502 {
		t.Errorf("an unknown authority: %d", resp.StatusCode)
	}
}

func TestHTTP2_UpstreamThatChoosesIt(t *testing.T) {
	ts, config := secure(t, true, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Trailer", "X-Sum")
		w.Header().Add("X-Two", "1")
		w.Header().Add("X-Two", "2")
		if r.URL.Path == "/early" {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = fmt.Fprintf(w, "%s %s %s %s", r.Proto, r.Method, r.RequestURI, body)
		w.(http.Flusher).Flush()
		w.Header().Set("X-Sum", "3")
	})
	_, port, _ := net.SplitHostPort(ts.Listener.Addr().String())
	o := loopbackAllowed()
	o.TLS, o.HTTP2 = config, true
	_, addr := start(t, o)
	c := call(t, addr)
	host := "Host: 127.0.0.1.ccnproxy-ssl:" + port + "\r\n"
	for i := range 3 {
		c.send("GET /a%2fb?" + fmt.Sprint(i) + " HTTP/1.1\r\n" + host + "\r\n")
		resp, body := c.answer("GET")
		if want := fmt.Sprintf("HTTP/2.0 GET /a%%2fb?%d ", i); body != want || len(resp.Header["X-Two"]) != 2 ||
			resp.Trailer.Get("X-Sum") != "3" {
			t.Fatalf("%q, want %q; %v %v", body, want, resp.Header, resp.Trailer)
		}
		c.send("POST /p HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n")
		if resp, body := c.answer("POST"); body != "HTTP/2.0 POST /p abcdef" {
			t.Fatalf("%q", body)
		} else if resp.Close {
			c = call(t, addr)
		}
	}
}

// TestHTTP2_AnyHostWithAFixedUpstream: with --upstream the Host is the client's.
func TestHTTP2_AnyHostWithAFixedUpstream(t *testing.T) {
	ts, config := secure(t, true, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s %s %s", r.Proto, r.Host, r.RequestURI)
	})
	own := ts.Listener.Addr().String()
	_, addr := start(t, Options{Upstreams: []string{"https://" + own}, TLS: config, HTTP2: true})
	for _, tt := range []struct{ head, want string }{
		{"GET /a%2f?b HTTP/1.1\r\nHost: " + own + "\r\n", own + " /a%2f?b"},
		{"GET /a%2f?b HTTP/1.1\r\nHost: shop.example\r\n", "shop.example /a%2f?b"},
		{"GET //a?b HTTP/1.1\r\nHost: shop.example:81\r\n", "shop.example:81 //a?b"},
		{"GET http://shop.example?q HTTP/1.1\r\nHost: shop.example\r\n", "shop.example /?q"},
		{"OPTIONS * HTTP/1.1\r\nHost: shop.example\r\n", "shop.example *"},
		{"GET / HTTP/1.0\r\n", own + " /"},
	} {
		c := call(t, addr)
		c.send(tt.head + "\r\n")
		if resp, body := c.answer("GET"); resp.StatusCode != 200 || body != "HTTP/2.0 "+tt.want &&
			!strings.HasPrefix(tt.head, "OPTIONS *") { // which net/http answers itself
			t.Errorf("%q: %d %q", tt.head, resp.StatusCode, body)
		}
	}
}

func TestUnix_SocketsOnBothSides(t *testing.T) {
	dir := t.TempDir()
	ul, err := net.Listen("unix", filepath.Join(dir, "up"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Host, r.URL.Path)
	})}
	go func() { _ = server.Serve(ul) }()
	defer func() { _ = server.Close() }()
	s, _ := start(t, Options{Upstreams: []string{"unix:" + filepath.Join(dir, "up")}})
	l, err := net.Listen("unix", filepath.Join(dir, "proxy"))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	nc, err := net.Dial("unix", filepath.Join(dir, "proxy"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	_ = nc.SetDeadline(time.Now().Add(patience))
	c := &caller{t, nc, bufio.NewReader(nc)}
	for range 3 {
		c.send("GET /x HTTP/1.1\r\nHost: up\r\n\r\n")
		if _, body := c.answer("GET"); body != "up/x" {
			t.Errorf("%q", body)
		}
	}
	if n := s.Stats().UpstreamConns; n != 1 {
		t.Errorf("%d connections", n)
	}
	_ = l.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// An upstream that moves is followed, and its old address is let go.
func TestPool_FollowsTheNames(t *testing.T) {
	answer := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	}
	old := httptest.NewServer(answer("old"))
	defer old.Close()
	_, port, _ := net.SplitHostPort(old.Listener.Addr().String())
	l, err := net.Listen("tcp", "127.0.0.2:"+port)
	if err != nil {
		t.Skipf("no second address: %v", err)
	}
	next := &http.Server{Handler: answer("new")}
	go func() { _ = next.Serve(l) }()
	defer func() { _ = next.Close() }()
	resolver, _ := nameServer(t, "127.0.0.1", "127.0.0.2")
	s, addr := start(t, Options{
		Upstreams: []string{"http://moves.example:" + port}, Resolver: resolver, DNSRefresh: time.Nanosecond,
	})
	c := call(t, addr)
	ask := func() string {
		c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
		_, body := c.answer("GET")
		return body
	}
	if got := ask(); got != "old" {
		t.Fatalf("%q", got)
	}
	eventually(t, "the new address is used", func() bool { return ask() == "new" })
	if st := s.Stats(); st.UpstreamConns != 1 || st.Targets[0].Addresses != 1 {
		t.Errorf("%+v", st)
	}
}

// While a name cannot be resolved the addresses that are known stay.
func TestPool_KeepsAddressesWhileNamesFail(t *testing.T) {
	up := echo(t)
	_, port, _ := net.SplitHostPort(up.addr)
	var fails atomic.Bool
	resolver, asked := nameServer(t, "127.0.0.1")
	dial := resolver.Dial
	resolver.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if fails.Load() {
			return nil, io.ErrClosedPipe
		}
		return dial(ctx, network, address)
	}
	_, addr := start(t, Options{
		Upstreams: []string{"http://up.example:" + port}, Resolver: resolver, DNSRefresh: time.Nanosecond,
	})
	c := call(t, addr)
	for i := range 50 {
		c.send("GET / HTTP/1.1\r\nHost: up\r\nX-N: " + fmt.Sprint(i) + "\r\n\r\n")
		if resp, _ := c.answer("GET"); resp.StatusCode != 200 {
			t.Fatalf("%d", resp.StatusCode)
		}
		fails.Store(true)
	}
	if asked.Load() == 0 {
		t.Error("the name was never asked for")
	}
}
