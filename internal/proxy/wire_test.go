package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// startExit serves the far end of the wire on a free port until the test ends.
func startExit(t testing.TB, o Options, e Exit) (*Server, string) {
	t.Helper()
	return startExitAt(t, "127.0.0.1:0", o, e)
}

// startExitAt is startExit at an address.
func startExitAt(t testing.TB, at string, o Options, e Exit) (*Server, string) {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.ServeExit(l, e) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s, l.Addr().String()
}

// overWire starts an exit, and a proxy that relays through it.
func overWire(t testing.TB, exit Options) (near, far *Server, addr string) {
	t.Helper()
	far, at := startExit(t, exit, Exit{})
	near, addr = start(t, Options{Upstreams: []string{"wire://" + at}})
	return near, far, addr
}

func TestWire_RelaysSmallExchanges(t *testing.T) {
	up := echo(t)
	near, far, addr := overWire(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	for i := range 3 {
		c.send(fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: a\r\n\r\n", i))
		if resp, body := c.answer("GET"); resp.StatusCode != 200 || body != fmt.Sprintf("GET /%d ", i) {
			t.Fatalf("%d %q", resp.StatusCode, body)
		}
		c.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde")
		if resp, body := c.answer("POST"); resp.StatusCode != 200 || body != "POST /x abcde" {
			t.Fatalf("%d %q", resp.StatusCode, body)
		}
		c.send("POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
		if resp, body := c.answer("POST"); resp.StatusCode != 200 || body != "POST /c abc" {
			t.Fatalf("%d %q", resp.StatusCode, body)
		}
	}
	if n := near.remote.requests.Load(); n != 9 {
		t.Errorf("%d requests of the wire, want 9", n)
	}
	if up.opened() != 1 {
		t.Errorf("%d connections at the upstream, want 1", up.opened())
	}
	eventually(t, "the exit has counted them", func() bool { return far.Stats().Statuses[200] == 9 })
}

// wireUpstream is an upstream of net/http.
func wireUpstream(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return "http://" + l.Addr().String()
}

func TestWire_StreamsLargeBodiesBothWays(t *testing.T) {
	const size = 3 << 20
	up := wireUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		b, _ := io.ReadAll(r.Body)
		_, _ = w.Write(b)
		w.Header().Set("X-Sum", fmt.Sprint(len(b)))
	})
	near, _, addr := overWire(t, Options{Upstreams: []string{up}})
	for _, chunked := range []bool{false, true} {
		var body io.Reader = strings.NewReader(strings.Repeat("0123456789abcdef", size/16))
		if chunked {
			body = io.MultiReader(body)
		}
		req, err := http.NewRequest("POST", "http://"+addr+"/", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("TE", "trailers")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || len(got) != size || resp.Trailer.Get("X-Sum") != fmt.Sprint(size) {
			t.Errorf("chunked %v: %d %d bytes, trailer %q, %v", chunked, resp.StatusCode, len(got),
				resp.Trailer.Get("X-Sum"), err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if near.remote.streams.Load() != 2 {
		t.Errorf("%d streams, want 2", near.remote.streams.Load())
	}
}

// A request that is small may have an answer that is not, or that comes in parts.
func TestWire_AnAnswerGoesOnInAStream(t *testing.T) {
	next := make(chan struct{})
	up := wireUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			w.Header().Set("Content-Length", "1000000")
			_, _ = w.Write(make([]byte, 1_000_000))
		case "/parts":
			_, _ = io.WriteString(w, "one\n")
			w.(http.Flusher).Flush()
			<-next
			_, _ = io.WriteString(w, "two\n")
		}
	})
	near, far, addr := overWire(t, Options{Upstreams: []string{up}})
	c := call(t, addr)
	for range 2 {
		c.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
		if _, body := c.answer("GET"); len(body) != 1_000_000 {
			t.Fatalf("%d bytes", len(body))
		}
	}
	c.send("GET /parts HTTP/1.1\r\nHost: a\r\n\r\n")
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		t.Fatal(err)
	}
	br := bufio.NewReader(resp.Body)
	if line, err := br.ReadString('\n'); line != "one\n" || err != nil {
		t.Fatalf("%q %v", line, err)
	}
	close(next)
	if rest, err := io.ReadAll(br); string(rest) != "two\n" || err != nil {
		t.Fatalf("%q %v", rest, err)
	}
	if far.count.rests.Load() != 3 || near.remote.requests.Load() != 3 {
		t.Errorf("%d rests of %d requests", far.count.rests.Load(), near.remote.requests.Load())
	}
}

func TestWire_NamesUpstreamsAsTheProxyDoes(t *testing.T) {
	up := echo(t)
	_, port, _ := net.SplitHostPort(up.addr)
	_, _, addr := overWire(t, loopbackAllowed())
	tests := map[string]struct {
		request string
		status  int
	}{
		"host":   {"GET / HTTP/1.1\r\nHost: 127.0.0.1.ccnproxy:" + port + "\r\n\r\n", 200},
		"field":  {"GET / HTTP/1.1\r\nHost: x\r\nX-Hotrow-Upstream: http://" + up.addr + "\r\n\r\n", 200},
		"path":   {"GET /_/http/" + up.addr + "/a HTTP/1.1\r\nHost: localhost\r\n\r\n", 200},
		"none":   {"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", 400},
		"denied": {"GET / HTTP/1.1\r\nHost: 169.254.169.254.ccnproxy\r\n\r\n", 403},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := call(t, addr)
			c.send(tt.request)
			if resp, body := c.answer("GET"); resp.StatusCode != tt.status {
				t.Errorf("%d %q, want %d", resp.StatusCode, body, tt.status)
			}
		})
	}
}

func TestWire_ShutdownLosesNoRequest(t *testing.T) {
	release, arrived := make(chan struct{}, 2), make(chan struct{}, 2)
	up := wireUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		_, _ = io.WriteString(w, "ok")
	})
	far, at := startExit(t, Options{Upstreams: []string{up}}, Exit{})
	_, addr := start(t, Options{Upstreams: []string{"wire://" + at}, Dial: 500 * time.Millisecond})
	c := call(t, addr)
	c.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	release <- struct{}{}
	if resp, _ := c.answer("GET"); resp.StatusCode != 200 {
		t.Fatal(resp.StatusCode)
	}
	c.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	<-arrived // the first
	<-arrived
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ended := make(chan error)
	go func() { ended <- far.Shutdown(ctx) }()
	eventually(t, "it takes nothing new", func() bool { return far.draining.Load() })
	release <- struct{}{}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if resp, body := c.answer("GET"); resp.StatusCode != 200 || body != "ok" {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
	c.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if resp, body := c.answer("GET"); resp.StatusCode != 503 || !strings.Contains(body, "far end is away") {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
}
