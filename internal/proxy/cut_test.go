package proxy

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// An answer that is cut short must never look whole, and what follows on the
// client's connection must never be mixed with it.
func TestCut_UpstreamAtEveryByte(t *testing.T) {
	answers := map[string]string{
		"length": "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789",
		"chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n6\r\n456789\r\n0\r\nX: y\r\n\r\n",
		"hints":  "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789",
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			var cut atomic.Int64
			up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
				if _, _, err := readRequest(br); err == nil {
					_, _ = io.WriteString(nc, answer[:cut.Load()])
				}
			})
			_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}, NoInterim: true})
			for n := range answer {
				cut.Store(int64(n))
				c := call(t, addr)
				c.send("POST / HTTP/1.1\r\nHost: up\r\nContent-Length: 1\r\n\r\nx")
				resp, err := http.ReadResponse(c.br, nil)
				if err != nil {
					t.Fatalf("cut at %d: %v", n, err)
				}
				body, err := io.ReadAll(resp.Body)
				switch {
				case resp.StatusCode == 502 && err == nil:
					if n > len(answer)-len("0123456789")+2 && name == "length" {
						t.Errorf("cut at %d, in the body: 502", n)
					}
				case resp.StatusCode == 200 && err != nil:
					if !strings.HasPrefix("0123456789", string(body)) {
						t.Errorf("cut at %d: %q", n, body)
					}
				default:
					t.Errorf("cut at %d: %d %q %v", n, resp.StatusCode, body, err)
				}
			}
		})
	}
}

// A request that is cut short must never look whole to the upstream.
func TestCut_ClientAtEveryByte(t *testing.T) {
	requests := map[string]string{
		"length": "POST / HTTP/1.1\r\nHost: up\r\nContent-Length: 10\r\n\r\n0123456789",
		"chunks": "POST / HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n",
	}
	for name, request := range requests {
		t.Run(name, func(t *testing.T) {
			var whole atomic.Int64
			up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
				for {
					if _, _, err := readRequest(br); err != nil {
						return
					}
					whole.Add(1)
					_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				}
			})
			s, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
			for n := range request {
				c := call(t, addr)
				c.send(request[:n])
				_ = c.nc.Close()
			}
			eventually(t, "all clients gone", func() bool { return s.Stats().Clients == 0 })
			if whole.Load() != 0 {
				t.Errorf("%d requests looked whole", whole.Load())
			}
			c := call(t, addr)
			c.send(request)
			if resp, _ := c.answer("POST"); resp.StatusCode != 200 {
				t.Errorf("the whole one: %d", resp.StatusCode)
			}
		})
	}
}

// A client that ends its body early is told so, whatever the way to the upstream, which is not
// blamed.
func TestCut_ClientThatEndsItsBodyIsTold(t *testing.T) {
	var lines lockedBuffer
	log := slog.New(slog.NewTextHandler(&lines, nil))
	up := upstreamScript(t, func(_ net.Conn, br *bufio.Reader) { _, _ = io.Copy(io.Discard, br) })
	one, two := "http://"+up.addr, "http://localhost:"+up.addr[len("127.0.0.1:"):]
	plain, plainAt := start(t, Options{Upstreams: []string{one, two}, Log: log})
	ts, config := secure(t, true, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	})
	http2, http2At := start(t, Options{Upstreams: []string{ts.URL}, TLS: config, HTTP2: true, Log: log})
	for way, to := range map[string]struct {
		s    *Server
		addr string
	}{"plain": {plain, plainAt}, "http2": {http2, http2At}} {
		for kind, text := range map[string]string{
			"length": "POST / HTTP/1.1\r\nHost: up\r\nContent-Length: 10\r\n\r\nab",
			"chunks": "PUT / HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nab",
		} {
			c := call(t, to.addr)
			c.send(text)
			_ = c.nc.(*net.TCPConn).CloseWrite()
			resp, body := c.answer("POST")
			if resp.StatusCode != 400 || body != errBodyEnded.text+"\n" || !resp.Close {
				t.Errorf("%s, %s: %d %q", way, kind, resp.StatusCode, body)
			}
		}
		eventually(t, way+": counted", func() bool { return to.s.Stats().Statuses[400] == 2 })
		to.s.mu.Lock()
		for _, target := range to.s.targets {
			for _, b := range target.backends() {
				if n := b.failures.Load(); n > 0 {
					t.Errorf("%s: %d failures of %s", way, n, b.name)
				}
			}
		}
		to.s.mu.Unlock()
	}
	if strings.Contains(lines.String(), "status=5") {
		t.Error(lines.String())
	}
}

// What a client that is gone had begun to send is no failure of the upstream.
func TestCut_ClientThatResetsIsGone(t *testing.T) {
	up := upstreamScript(t, func(_ net.Conn, br *bufio.Reader) { _, _ = io.Copy(io.Discard, br) })
	s, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	c.send("POST / HTTP/1.1\r\nHost: up\r\nContent-Length: 10\r\n\r\nab")
	eventually(t, "asked", func() bool { return up.opened() > 0 })
	_ = c.nc.(*net.TCPConn).SetLinger(0)
	_ = c.nc.Close()
	eventually(t, "499 counted", func() bool { return s.Stats().Statuses[499] == 1 })
}

func TestCut_OneByteAtATime(t *testing.T) {
	answer := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n6\r\n456789\r\n0\r\nX: y\r\n\r\n"
	up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		for {
			if _, body, err := readRequest(br); err != nil || body != "abc" {
				return
			}
			for i := range answer {
				if _, err := io.WriteString(nc, answer[i:i+1]); err != nil {
					return
				}
			}
		}
	})
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	request := "POST / HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
	for range 3 {
		for i := range request {
			c.send(request[i : i+1])
		}
		resp, body := c.answer("POST")
		if body != "0123456789" || resp.Trailer.Get("X") != "y" && resp.StatusCode != 200 {
			t.Fatalf("%d %q %v", resp.StatusCode, body, resp.Trailer)
		}
	}
}

func TestCut_UpstreamLiesAboutItsLength(t *testing.T) {
	up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		if _, _, err := readRequest(br); err == nil {
			_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdefghi")
		}
	})
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	for range 3 {
		c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
		if _, body := c.answer("GET"); body != "abc" {
			t.Fatalf("%q", body)
		}
	}
}

// A body whose end is the end of the connection ends for a client of HTTP/1.0
// with a reset when the upstream was cut off.
func TestCut_UnframedBodyIsReset(t *testing.T) {
	up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		if _, _, err := readRequest(br); err == nil {
			_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")
		}
	})
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	c.send("GET / HTTP/1.0\r\n\r\n")
	if b, err := io.ReadAll(c.br); err == nil {
		t.Errorf("%q looks whole", b)
	}
}
