//go:build unix

package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// inherited returns what a process finds that is started with a listener.
func inherited(t *testing.T, l net.Listener, how string) net.Listener {
	t.Helper()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	all, err := Inherited([]string{"PATH=/", fmt.Sprintf(how, l.Addr(), fd)}, os.Getpid())
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	return all[0]
}

func TestInherited_ListenersOfServerStarter(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	heir := inherited(t, l, "SERVER_STARTER_PORT=%s=%d")
	if heir.Addr().String() != l.Addr().String() {
		t.Errorf("%v", heir.Addr())
	}
	_ = heir.Close()
	for _, env := range []string{"", "LISTEN_FDS=", "LISTEN_FDS=0", "LISTEN_FDS=x", "SERVER_STARTER_PORT="} {
		if all, err := Inherited([]string{env}, 1); err != nil || len(all) > 0 {
			t.Errorf("%q: %v, %v", env, all, err)
		}
	}
	if all, err := Inherited([]string{"LISTEN_FDS=1", "LISTEN_PID=1"}, 2); err != nil || len(all) > 0 {
		t.Errorf("another process's: %v, %v", all, err)
	}
	for _, env := range []string{"SERVER_STARTER_PORT=3000", "SERVER_STARTER_PORT=3000=x",
		"SERVER_STARTER_PORT=1=9999"} {
		if all, err := Inherited([]string{env}, 1); err == nil {
			t.Errorf("%q: %v", env, all)
		}
	}
}

// Two processes share the listening socket while one follows the other. Clients
// that go on asking notice nothing.
func TestInherited_RestartLosesNoRequest(t *testing.T) {
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
		heir := inherited(t, l, "SERVER_STARTER_PORT=%s=%d")
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
