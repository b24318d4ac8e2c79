package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A cutter is a way from a near to a far end that ends after a number of bytes.
type cutter struct {
	addr     string
	toFar    atomic.Int64 // that pass; less than 0: all
	toNear   atomic.Int64
	sentFar  atomic.Int64 // that have passed
	sentNear atomic.Int64
	wg       sync.WaitGroup
}

// newCutter listens in front of a far end.
func newCutter(t *testing.T, far string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &cutter{addr: l.Addr().String()}
	k.toFar.Store(-1)
	k.toNear.Store(-1)
	k.wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			k.wg.Go(func() { k.pass(near, far) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); k.wg.Wait() })
	return k
}

// pass moves bytes both ways until one has had enough.
func (k *cutter) pass(near net.Conn, at string) {
	far, err := net.Dial("tcp", at)
	if err != nil {
		_ = near.Close()
		return
	}
	var both sync.WaitGroup
	move := func(to, from net.Conn, most int64, count *atomic.Int64) {
		defer func() { _ = to.Close(); _ = from.Close() }()
		b := make([]byte, 4096)
		for most != 0 {
			part := b
			if most > 0 {
				part = b[:min(int64(len(b)), most)]
			}
			n, err := from.Read(part)
			if n > 0 {
				count.Add(int64(n))
				if _, err := to.Write(part[:n]); err != nil {
					return
				}
				if most > 0 {
					most -= int64(n)
				}
			}
			if err != nil {
				return
			}
		}
	}
	toFar, toNear := k.toFar.Load(), k.toNear.Load()
	both.Go(func() { move(far, near, toFar, &k.sentFar) })
	both.Go(func() { move(near, far, toNear, &k.sentNear) })
	both.Wait()
}

const digits = "0123456789"

// A wire that is cut at any byte gives whole answers, failures, or answers that
// are seen to be cut; and upstreams see no part of a request as all of it.
func TestWireCut_AtEveryByte(t *testing.T) {
	tests := map[string]struct{ request, answer string }{
		"small": {
			"POST / HTTP/1.1\r\nHost: up\r\nConnection: close\r\nContent-Length: 10\r\n\r\n" + digits,
			"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + digits,
		},
		"streams": {
			"POST / HTTP/1.1\r\nHost: up\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" +
				"4\r\n0123\r\n6\r\n456789\r\n0\r\nX-Sum: 1\r\n\r\n",
			"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
				"4\r\n0123\r\n6\r\n456789\r\n0\r\nX: y\r\n\r\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
				for {
					_, body, err := readRequest(br)
					if err != nil {
						return
					}
					if body != digits {
						t.Errorf("the upstream was asked %q", body)
					}
					if _, err := io.WriteString(nc, tt.answer); err != nil {
						return
					}
				}
			})
			_, at := startExit(t, Options{Upstreams: []string{"http://" + up.addr}}, Exit{})
			k := newCutter(t, at)
			if got := askThroughWire(t, k.addr, tt.request); got != digits {
				t.Fatalf("without a cut: %q", got)
			}
			toFar, toNear := k.sentFar.Load(), k.sentNear.Load()
			whole := 0
			for n := range toFar {
				k.toFar.Store(n)
				if askThroughWire(t, k.addr, tt.request) == digits {
					whole++
				}
			}
			k.toFar.Store(-1)
			for n := range toNear {
				k.toNear.Store(n)
				if askThroughWire(t, k.addr, tt.request) == digits {
					whole++
				}
			}
			t.Logf("%d and %d bytes; %d of the cuts came too late to matter", toFar, toNear, whole)
		})
	}
}

// askThroughWire asks through a proxy of its own, and returns what a whole answer
// has as its body.
func askThroughWire(t *testing.T, far, request string) string {
	t.Helper()
	s, err := New(Options{Upstreams: []string{"wire://" + far}, WireConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(l) }()
	c := call(t, l.Addr().String())
	defer func() { _ = c.nc.Close() }()
	c.send(request)
	resp, err := http.ReadResponse(c.br, nil)
	for err == nil && resp.StatusCode < 200 {
		resp, err = http.ReadResponse(c.br, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	switch {
	case resp.StatusCode >= 502 && resp.StatusCode <= 504 && err == nil && string(body) != digits:
		return ""
	case resp.StatusCode == 200 && err != nil && strings.HasPrefix(digits, string(body)):
		return ""
	case resp.StatusCode == 200 && err == nil && string(body) == digits:
		return digits
	}
	t.Errorf("%d %q %v", resp.StatusCode, body, err)
	return ""
}
