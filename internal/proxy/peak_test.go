package proxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	peakBody  = 40 << 20 // bytes of each body
	peakBound = 12 << 20 // of memory, of the proxy and both its peers together
)

// A slow is the end of a way that takes less than comes. At two places it waits until the
// other end can send no more, and looks at the memory that is in use.
type slow struct {
	t    *testing.T
	sent atomic.Int64 // by the other end
	base uint64
}

// heap returns how much memory is in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// take reads all of r.
func (s *slow) take(r io.Reader) int64 {
	n := int64(0)
	for _, stop := range []int64{1 << 20, peakBody / 2} {
		more, err := io.CopyN(io.Discard, r, stop-n)
		if n += more; err != nil {
			s.t.Errorf("after %d bytes: %v", n, err)
			return n
		}
		s.look()
	}
	more, err := io.Copy(io.Discard, r)
	if err != nil {
		s.t.Errorf("after %d bytes: %v", n+more, err)
	}
	return n + more
}

// look waits until the other end stands still, and fails the test if what has come in the
// meantime is in memory. A machine that is too busy to send stands still, too: then less is
// seen.
func (s *slow) look() {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for still, last := 0, int64(-1); still < 10; still++ {
		<-tick.C
		if now := s.sent.Load(); now != last {
			still, last = 0, now
		}
	}
	if now := heap(); now > s.base+peakBound {
		s.t.Errorf("%d bytes sent: %d MiB are in use, %d before", s.sent.Load(), now>>20, s.base>>20)
	}
}

// give writes a body to w, chunked or not.
func (s *slow) give(w io.Writer, chunked bool) {
	piece := make([]byte, 64<<10)
	whole := piece
	if chunked {
		whole = []byte(strconv.FormatInt(int64(len(piece)), 16) + "\r\n" + string(piece) + "\r\n")
	}
	for sent := 0; sent < peakBody; sent += len(piece) {
		if _, err := w.Write(whole); err != nil {
			s.t.Error(err)
			return
		}
		s.sent.Add(int64(len(piece)))
	}
	if chunked {
		_, _ = io.WriteString(w, "0\r\n\r\n")
	}
}

// upstream is the upstream of a way: it takes what comes to /up, and sends what /down asks
// for, as an answer or through a tunnel.
func (s *slow) upstream(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/up":
		_, _ = fmt.Fprint(w, s.take(r.Body))
	case r.Header.Get("Upgrade") == "":
		if r.URL.RawQuery == "sized" {
			w.Header().Set("Content-Length", strconv.Itoa(peakBody))
		}
		s.give(w, false)
	default:
		nc, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			s.t.Error(err)
			return
		}
		defer nc.Close()
		_, _ = io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n"+
			"Connection: Upgrade\r\n\r\n")
		if r.URL.Path == "/tunnel/up" {
			_, _ = fmt.Fprint(nc, s.take(io.LimitReader(rw, peakBody)))
		} else {
			s.give(nc, false)
		}
	}
}

// ask sends a request through the proxy at addr. Its answer is taken slowly, or is the
// number of bytes that have arrived.
func (s *slow) ask(addr, method, path, fields string) {
	s.t.Helper()
	c := call(s.t, addr)
	s.sent.Store(0)
	s.base = heap()
	c.send(method + " " + path + " HTTP/1.1\r\nHost: up\r\n" + fields + "\r\n")
	if strings.HasPrefix(path, "/tunnel") || method == "CONNECT" {
		for c.line() != "\r\n" { // the head of the answer
		}
	}
	up := strings.HasSuffix(path, "/up")
	if up {
		go s.give(c.nc, strings.Contains(fields, "chunked"))
	}
	var n int64
	switch {
	case strings.HasPrefix(path, "/tunnel") && up:
		_, err := fmt.Fscan(c.br, &n)
		if err != nil {
			s.t.Error(err)
		}
	case strings.HasPrefix(path, "/tunnel"):
		n = s.take(c.br)
	default:
		resp, err := http.ReadResponse(c.br, &http.Request{Method: method})
		if err != nil {
			s.t.Fatal(err)
		}
		defer resp.Body.Close()
		if !up {
			n = s.take(resp.Body)
		} else if _, err := fmt.Fscan(resp.Body, &n); err != nil {
			s.t.Error(err)
		}
	}
	if n != peakBody {
		s.t.Errorf("%d bytes have arrived, want %d", n, peakBody)
	}
}

// roads are the ways from a proxy to an upstream that answers as h does.
var roads = map[string]func(t *testing.T, o Options, h http.HandlerFunc) string{
	"plain": func(t *testing.T, o Options, h http.HandlerFunc) string {
		o.Upstreams = []string{httpUpstream(t, h)}
		_, addr := start(t, o)
		return addr
	},
	"TLS": func(t *testing.T, o Options, h http.HandlerFunc) string {
		return secureRoad(t, o, h)
	},
	"HTTP/2": func(t *testing.T, o Options, h http.HandlerFunc) string {
		o.HTTP2 = true
		return secureRoad(t, o, h)
	},
}

// httpUpstream is an upstream of net/http.
func httpUpstream(t testing.TB, h http.HandlerFunc) string {
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

// secureRoad starts a proxy in front of an upstream of TLS.
func secureRoad(t *testing.T, o Options, h http.HandlerFunc) string {
	ts, config := secure(t, o.HTTP2, h)
	o.Upstreams, o.TLS = []string{"https://" + ts.Listener.Addr().String()}, config
	_, addr := start(t, o)
	return addr
}

// Whatever way a body takes through the proxy, what its receiver does not take waits at its
// sender.
func TestPeak_OfEveryWay(t *testing.T) {
	length := fmt.Sprintf("Content-Length: %d\r\n", peakBody)
	for name, road := range roads {
		for way, of := range map[string]struct{ method, path, fields string }{
			"sized upload":     {"PUT", "/up", length},
			"chunked upload":   {"POST", "/up", "Transfer-Encoding: chunked\r\n"},
			"sized download":   {"GET", "/down?sized", ""},
			"chunked download": {"GET", "/down", ""},
			"tunnel up":        {"GET", "/tunnel/up", "Connection: Upgrade\r\nUpgrade: x\r\n"},
			"tunnel down":      {"GET", "/tunnel/down", "Connection: Upgrade\r\nUpgrade: x\r\n"},
		} {
			if name == "HTTP/2" && strings.HasPrefix(way, "tunnel") {
				continue // which is asked over HTTP/1: see TestHTTP2_UpgradeIsAskedOverHTTP1
			}
			t.Run(name+", "+way, func(t *testing.T) {
				s := &slow{t: t}
				s.ask(road(t, Options{}, s.upstream), of.method, of.path, of.fields)
			})
		}
	}
}

// A tunnel that CONNECT has made holds back what its end does not take.
func TestPeak_OfConnect(t *testing.T) {
	for _, up := range []bool{true, false} {
		s := &slow{t: t}
		ended := make(chan int64, 1)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			defer nc.Close()
			if up {
				ended <- s.take(nc)
				return
			}
			s.give(nc, false)
		}()
		o := loopbackAllowed()
		o.Connect = true
		_, addr := start(t, o)
		c := call(t, addr)
		s.base = heap()
		c.send("CONNECT " + l.Addr().String() + " HTTP/1.1\r\nHost: " + l.Addr().String() + "\r\n\r\n")
		for c.line() != "\r\n" {
		}
		n := int64(0)
		if up {
			s.give(c.nc, false)
			_ = c.nc.Close()
			n = <-ended
		} else {
			n = s.take(c.br)
		}
		if n != peakBody {
			t.Errorf("%d bytes have arrived, want %d", n, peakBody)
		}
	}
}

// A body that keeps coming may take longer than an answer.
func TestStream_AnUploadMayOutlastTheWaitForAnAnswer(t *testing.T) {
	const wait = 600 * time.Millisecond
	for name, road := range roads {
		t.Run(name, func(t *testing.T) {
			addr := road(t, Options{ProxyRead: wait}, func(w http.ResponseWriter, r *http.Request) {
				n, _ := io.Copy(io.Discard, r.Body)
				_, _ = fmt.Fprint(w, n)
			})
			c := call(t, addr)
			c.send("POST / HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\n")
			n := 0
			for began := time.Now(); time.Since(began) < 3*wait; n++ {
				c.send("1\r\nx\r\n")
				time.Sleep(5 * time.Millisecond)
			}
			c.send("0\r\n\r\n")
			if resp, body := c.answer("POST"); resp.StatusCode != 200 || body != fmt.Sprint(n) {
				t.Errorf("%d %s, want %d bytes", resp.StatusCode, body, n)
			}
		})
	}
}
