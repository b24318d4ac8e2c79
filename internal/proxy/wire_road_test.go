package proxy

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/tlstest"
)

func TestWire_TokensAndTLS(t *testing.T) {
	up := echo(t)
	cert := tlstest.New(t, "localhost")
	exit := Exit{
		TLS:    &tls.Config{Certificates: []tls.Certificate{*cert.Pair(t)}, MinVersion: tls.VersionTLS12},
		Tokens: [][]byte{[]byte("one"), []byte("two")},
	}
	_, at := startExit(t, Options{Upstreams: []string{"http://" + up.addr}}, exit)
	_, port, _ := net.SplitHostPort(at)
	for token, want := range map[string]int{"two": 200, "three": 502, "": 502} {
		_, addr := start(t, Options{
			Upstreams: []string{"wire+tls://localhost:" + port}, Token: []byte(token),
			TLS: &tls.Config{RootCAs: cert.Pool(), MinVersion: tls.VersionTLS12},
		})
		c := call(t, addr)
		c.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		if resp, body := c.answer("GET"); resp.StatusCode != want {
			t.Errorf("token %q: %d %q, want %d", token, resp.StatusCode, body, want)
		}
		c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n" + strings.Repeat("x", 70000))
		if resp, body := c.answer("POST"); resp.StatusCode != want {
			t.Errorf("token %q, stream: %d %.80q, want %d", token, resp.StatusCode, body, want)
		}
	}
}

func TestWire_NamesWhyTheFarEndIsAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := l.Addr().String() // it accepts and says nothing
	t.Cleanup(func() { _ = l.Close() })
	web := echo(t)
	tests := map[string]struct {
		far    string
		status int
		says   string
	}{
		"silent":   {silent, 504, ""},
		"not wire": {web.addr, 503, "away"},
		"nobody":   {"127.0.0.1:1", 503, "refused"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, addr := start(t, Options{Upstreams: []string{"wire://" + tt.far}, Dial: 200 * time.Millisecond})
			c := call(t, addr)
			c.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			resp, body := c.answer("GET")
			if tt.status == 504 && resp.StatusCode == 503 && strings.Contains(body, "deadline") {
				return // the dial gave up first
			}
			if resp.StatusCode != tt.status || !strings.Contains(body, tt.says) {
				t.Errorf("%d %q", resp.StatusCode, body)
			}
		})
	}
}

func TestWire_ConnectsAgainWhenTheFarEndIsBack(t *testing.T) {
	up := echo(t)
	exit := Options{Upstreams: []string{"http://" + up.addr}}
	first, at := startExit(t, exit, Exit{})
	_, addr := start(t, Options{Upstreams: []string{"wire://" + at}, Dial: 200 * time.Millisecond})
	status := func() int {
		c := call(t, addr)
		defer func() { _ = c.nc.Close() }()
		c.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		resp, _ := c.answer("GET")
		return resp.StatusCode
	}
	if got := status(); got != 200 {
		t.Fatal(got)
	}
	first.Close()
	eventually(t, "it is away", func() bool { return status() == 503 })
	startExitAt(t, at, exit, Exit{})
	eventually(t, "it is back", func() bool { return status() == 200 })
}

// When the client leaves, so does the request at the upstream.
func TestWire_CancelsWhatNobodyWaitsFor(t *testing.T) {
	came, gone := make(chan struct{}, 2), make(chan struct{}, 2)
	up := wireUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begun" {
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
		}
		came <- struct{}{}
		select {
		case <-r.Context().Done():
			gone <- struct{}{}
		case <-time.After(patience):
		}
	})
	near, far, addr := overWire(t, Options{Upstreams: []string{up}})
	for _, path := range []string{"/waiting", "/begun"} {
		c := call(t, addr)
		c.send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n")
		<-came
		_ = c.nc.Close()
		select {
		case <-gone:
		case <-time.After(patience):
			t.Fatalf("%s: the upstream is still at it", path)
		}
	}
	eventually(t, "all have left", func() bool {
		return near.Stats().Clients == 0 && far.Stats().Clients == 0
	})
}

func TestWire_FindsLoops(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, at := startExit(t, Options{Upstreams: []string{"http://" + l.Addr().String()}}, Exit{})
	s, err := New(Options{Upstreams: []string{"wire://" + at}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	go func() { _ = s.Serve(l) }()
	c := call(t, l.Addr().String())
	c.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if resp, _ := c.answer("GET"); resp.StatusCode != 508 {
		t.Errorf("%d, want 508", resp.StatusCode)
	}
}

func TestWire_CarriesFieldsAsTheyAre(t *testing.T) {
	heads := make(chan string, 1)
	up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		var head strings.Builder
		for {
			line, err := br.ReadString('\n')
			if err != nil {
				return
			}
			if head.WriteString(line); line == "\r\n" {
				break
			}
		}
		heads <- head.String()
		_, _ = io.WriteString(nc, "HTTP/1.1 304 Not Modified\r\nx-LOWER: 1\r\nX-Two: a\r\nX-Two: b\r\n"+
			"Connection: X-Secret\r\nX-Secret: s\r\nX-Chocon-Id: theirs\r\nETag: \"e\"\r\n\r\n")
	})
	_, _, addr := overWire(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	c.send("GET /a?b=c HTTP/1.1\r\nHost: a.example:81\r\naccept: */*\r\nX-Chocon-Id: mine\r\nX-d: 1\r\nX-D: 2\r\n" +
		"Connection: X-Hop\r\nX-Hop: s\r\nTE: trailers\r\n\r\n")
	resp, _ := c.answer("GET")
	if resp.StatusCode != 304 || resp.Header.Get("X-Chocon-Id") != "mine" || len(resp.Header["X-Two"]) != 2 ||
		resp.Header.Get("X-Secret") != "" || resp.Header.Get("Etag") != `"e"` {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	head := <-heads
	for _, want := range []string{"GET /a?b=c HTTP/1.1\r\nHost: a.example:81\r\n", "\r\naccept: */*\r\n",
		"\r\nX-Chocon-Id: mine\r\n", "\r\nX-d: 1\r\nX-D: 2\r\n", "\r\nTE: trailers\r\n", "\r\nX-Chocon-Ver: hotrow/"} {
		if !strings.Contains(head, want) {
			t.Errorf("no %q in\n%s", want, head)
		}
	}
	if strings.Contains(head, "X-Hop") || strings.Count(head, "Via: 1.1 hotrow-") != 2 {
		t.Errorf("hop-by-hop or Via:\n%s", head)
	}
}

func TestWire_SwitchesProtocols(t *testing.T) {
	up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		req, _, err := readRequest(br)
		if err != nil {
			return
		}
		if req.Header.Get("Upgrade") != "echo" {
			_, _ = io.WriteString(nc, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
			return
		}
		_, _ = io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n"+
			"X-Chocon-Id: theirs\r\nConnection: Upgrade\r\n\r\nhi\n")
		_, _ = io.Copy(nc, br)
	})
	_, _, addr := overWire(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	c.send("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n")
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil || resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "echo" ||
		len(resp.Header["X-Chocon-Id"]) != 1 || resp.Header.Get("X-Chocon-Id") == "theirs" {
		t.Fatalf("%v %v", resp, err)
	}
	if line := c.line(); line != "hi" && line != "hi\n" {
		t.Errorf("%q", line)
	}
	for i := range 3 {
		c.send(fmt.Sprintf("line %d\n", i))
		if line := strings.TrimSpace(c.line()); line != fmt.Sprintf("line %d", i) {
			t.Errorf("%q", line)
		}
	}
	_ = c.nc.(*net.TCPConn).CloseWrite()
	if rest := c.rest(); rest != "" {
		t.Errorf("%q", rest)
	}
}

func TestWire_RelaysExpectAndHints(t *testing.T) {
	up := wireUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "<a>")
		w.WriteHeader(http.StatusEarlyHints)
		b, _ := io.ReadAll(r.Body)
		_, _ = w.Write(b)
	})
	_, _, addr := overWire(t, Options{Upstreams: []string{up}})
	c := call(t, addr)
	c.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
	seen := map[int]bool{}
	for {
		resp, err := http.ReadResponse(c.br, nil)
		if err != nil {
			t.Fatal(err)
		}
		seen[resp.StatusCode] = true
		if resp.StatusCode == 100 {
			c.send("abc")
		}
		if resp.StatusCode < 200 {
			continue
		}
		if b, err := io.ReadAll(resp.Body); string(b) != "abc" || err != nil {
			t.Errorf("%q %v", b, err)
		}
		break
	}
	if !seen[100] || !seen[103] || !seen[200] {
		t.Errorf("%v", seen)
	}
}

// A client that does not read holds the upstream back, and fills no memory.
func TestWire_SlowClientsHoldUpstreamsBack(t *testing.T) {
	const size = 256 << 20
	var sent atomic.Int64
	up := wireUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		b := make([]byte, 64<<10)
		for range size / len(b) {
			n, err := w.Write(b)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	_, _, addr := overWire(t, Options{Upstreams: []string{up}})
	slow, quick := call(t, addr), call(t, addr)
	slow.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	var last int64
	same := 0
	eventually(t, "the upstream waits", func() bool {
		if now := sent.Load(); now == last && now > 0 {
			same++
		} else {
			same, last = 0, now
		}
		return same > 200
	})
	if last > 64<<20 {
		t.Errorf("%d MiB are on their way to a client that reads nothing", last>>20)
	}
	quick.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n") // others on the same wire go on
	if resp, _ := quick.answer("HEAD"); resp.StatusCode != 200 {
		t.Error(resp.StatusCode)
	}
}
