package proxy

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestHTTP2_MaxConnsWaitInLine: what an upstream may be asked at once is bounded
// whatever it speaks.
func TestHTTP2_MaxConnsWaitInLine(t *testing.T) {
	var now, most atomic.Int64
	ts, config := secure(t, true, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		select {
		case <-r.Context().Done():
		case <-time.After(20 * time.Millisecond): // in which others could come
		}
		now.Add(-1)
		_, _ = io.WriteString(w, "x")
	})
	_, addr := start(t, Options{Upstreams: []string{"https://" + ts.Listener.Addr().String()},
		TLS: config, HTTP2: true, MaxConns: 2})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c := call(t, addr)
			for range 3 {
				c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
				if resp, _ := c.answer("GET"); resp.StatusCode != 200 {
					t.Errorf("%d", resp.StatusCode)
				}
			}
		})
	}
	wg.Wait()
	if n := most.Load(); n > 2 {
		t.Errorf("%d requests at once, at most 2", n)
	}
}

// TestHTTP2_AnUpstreamThatIsDown is left alone for a while, as others are; of two
// addresses the other answers.
func TestHTTP2_AnUpstreamThatIsDown(t *testing.T) {
	ok := func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }
	ts, config := secure(t, true, ok)
	other, _ := secure(t, true, ok)
	at := []string{"https://" + ts.Listener.Addr().String(), "https://" + other.Listener.Addr().String()}
	_, both := start(t, Options{Upstreams: at, TLS: config, HTTP2: true})
	ask := func(addr string) int {
		c := call(t, addr)
		c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
		resp, _ := c.answer("GET")
		return resp.StatusCode
	}
	for range 8 {
		if got := ask(both); got != 200 {
			t.Fatalf("both are there: %d", got)
		}
	}
	ts.CloseClientConnections()
	ts.Close()
	for range 20 {
		if got := ask(both); got != 200 && got != 502 { // 502: a connection that was cut
			t.Errorf("one is there: %d", got)
		}
	}
	for range 20 {
		if got := ask(both); got != 200 {
			t.Errorf("one has been there for long: %d", got)
		}
	}
	_, addr := start(t, Options{Upstreams: []string{"https://" + other.Listener.Addr().String()},
		TLS: config, HTTP2: true})
	if got := ask(addr); got != 200 {
		t.Errorf("before: %d", got)
	}
	other.CloseClientConnections()
	other.Close()
	eventually(t, "it is left alone", func() bool { return ask(addr) == 503 })
}

// TestHTTP2_RelaysWhatIsBesideTheBody: interim answers, Expect, and trailers both
// ways, whatever the body's size.
func TestHTTP2_RelaysWhatIsBesideTheBody(t *testing.T) {
	ts, config := secure(t, true, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hints" { // after which net/http says no 100
			w.Header().Set("Link", "</a.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
		}
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, n, " ", r.Trailer.Get("X-Sum"), " ", r.Trailer.Get("X-None"))
	})
	_, addr := start(t, Options{Upstreams: []string{"https://" + ts.Listener.Addr().String()},
		TLS: config, HTTP2: true})
	for _, size := range []int{0, 1, 100, 16 << 10, 100 << 10, 1 << 20} {
		c := call(t, addr)
		chunk := ""
		if size > 0 {
			chunk = fmt.Sprintf("%x\r\n%s\r\n", size, strings.Repeat("a", size))
		}
		head := " HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-None\r\n"
		c.send("POST /expect" + head + "Expect: 100-continue\r\n\r\n")
		if line := c.line(); line != "HTTP/1.1 100 Continue\r\n" || c.line() != "\r\n" {
			t.Errorf("%d: %q", size, line)
		}
		c.send(chunk + "0\r\nX-Sum: 6\r\n\r\n")
		if _, body := c.answer("POST"); body != fmt.Sprint(size, " 6 ") {
			t.Errorf("%d: %q", size, body)
		}
		c = call(t, addr)
		c.send("POST /hints" + head + "\r\n")
		for _, want := range []string{"HTTP/1.1 103 Early Hints", "Link: </a.css>; rel=preload", ""} {
			if line := c.line(); line != want+"\r\n" {
				t.Errorf("%d: %q, want %q", size, line, want)
			}
		}
		c.send(chunk + "0\r\nX-Sum: 6\r\n\r\n")
		if _, body := c.answer("POST"); body != fmt.Sprint(size, " 6 ") {
			t.Errorf("%d: %q", size, body)
		}
	}
}

// TestHTTP2_SlowReadersTakeLittleMemory: what clients do not take waits at the
// upstream.
func TestHTTP2_SlowReadersTakeLittleMemory(t *testing.T) {
	const readers, size = 24, 24 << 20
	block := make([]byte, 64<<10)
	ts, config := secure(t, true, func(w http.ResponseWriter, _ *http.Request) {
		for range size / len(block) {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	_, addr := start(t, Options{Upstreams: []string{"https://" + ts.Listener.Addr().String()},
		TLS: config, HTTP2: true})
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, most := heap(), int64(0)
	for range readers {
		c := call(t, addr)
		c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
		_ = c.line()
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 10 {
		<-tick.C
		most = max(most, heap()-before)
	}
	t.Logf("%d KiB for each of %d", most/readers>>10, readers)
	if most > readers*(1<<20) {
		t.Errorf("%d MiB wait for %d readers, at most 1 for each", most>>20, readers)
	}
}
