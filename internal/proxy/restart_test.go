//go:build unix

package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// shared returns another listener of the same socket, as a process has it that its
// supervisor has given the socket to.
func shared(t *testing.T, l net.Listener) net.Listener {
	t.Helper()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	heir, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	return heir
}

// Two processes share the listening socket while one follows the other. Clients
// that go on asking notice nothing.
func TestRestart_LosesNoRequest(t *testing.T) {
	up := echo(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	serve := func() (*Server, chan error) {
		s, err := New(Options{Upstreams: []string{"http://" + up.addr}})
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		heir := shared(t, l)
		go func() { served <- s.Serve(heir) }()
		return s, served
	}
	var done atomic.Int64
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for i := range 12 {
		wg.Go(func() {
			var c *caller
			for {
				select {
				case <-stop:
					return
				default:
				}
				if c == nil {
					c = call(t, l.Addr().String())
				}
				_, werr := io.WriteString(c.nc, "POST / HTTP/1.1\r\nHost: up\r\nContent-Length: 1\r\n\r\nx")
				resp, err := http.ReadResponse(c.br, nil)
				if werr != nil || err != nil || resp.StatusCode != 200 {
					t.Errorf("client %d: %v %v %v", i, werr, err, resp)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				done.Add(1)
				if resp.Close || i%3 == 0 { // some keep no connection at all
					_ = c.nc.Close()
					c = nil
				}
			}
		})
	}
	old, served := serve()
	for range 3 {
		from := done.Load()
		eventually(t, "requests", func() bool { return done.Load() > from+200 || t.Failed() })
		next, nextServed := serve()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if err := old.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		old, served = next, nextServed
	}
	close(stop)
	wg.Wait()
	old.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
