package robust

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// How the program ends, and how it does not begin.

// terminated: requests under way get their answers.
func terminated(t *testing.T) string {
	x := newServed(t, pg(nil)(t), setup{disk: diskFile(t), slot: "hotrow_t"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var answered atomic.Int64
	var cut error
	done := make(chan struct{})
	go func() {
		defer close(done)
		c := &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{}}
		for ctx.Err() == nil {
			underWay, err := sent(ctx, c, "http://"+x.p.http+"/kv/1?format=json")
			switch {
			case err == nil:
				answered.Add(1)
			case !underWay:
				return
			default:
				cut = err
				return
			}
		}
	}()
	x.more(t, "requests", &answered)
	begin := time.Now()
	x.p.signal(syscall.SIGTERM)
	<-x.p.dead
	took := time.Since(begin)
	cancel()
	<-done
	x.w.stop()
	if code := x.p.cmd.ProcessState.ExitCode(); code != 0 || waittest.Late(took, 11*time.Second) {
		t.Errorf("exit %d after %v", code, took)
	}
	if cut != nil {
		t.Errorf("a request under way was cut: %v", cut)
	}
	x.o.check()
	return fmt.Sprintf("exit 0 after %v, %d answered; %s", ms(took), answered.Load(), x.o.figures())
}

// sent asks for a URL, and reports whether a failed one was under way: not if it
// was the first of its connection, which the kernel takes before the program has,
// and resets when nobody listens any more.
func sent(ctx context.Context, c *http.Client, url string) (underWay bool, err error) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { underWay = false },
		GotConn: func(info httptrace.GotConnInfo) { underWay = info.Reused },
		// From the first byte of an answer on there is no doubt.
		GotFirstResponseByte: func() { underWay = true },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return true, err
	}
	res, err := c.Do(req)
	if err != nil {
		return underWay, err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return true, err
	}
	if res.StatusCode != http.StatusOK {
		return true, errors.New(res.Status)
	}
	return true, nil
}

// portTaken: the reason is told before any database is touched. So it is for an
// address that this machine does not have, and for a certificate that is none.
func portTaken(t *testing.T) string {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var touched atomic.Int64
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			touched.Add(1)
			_ = c.Close()
		}
	}()
	pem := filepath.Join(t.TempDir(), "no.pem")
	if err := os.WriteFile(pem, []byte("no certificate\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &database{t: t, url: "postgres://nobody@" + server.Addr().String() + "/none"}
	for _, c := range []struct{ what, env, said, cert string }{
		{"a port that is taken", "HOTROW_HTTP_LISTEN=" + taken.Addr().String(), "HOTROW_HTTP_LISTEN", ""},
		{"an address of others", "HOTROW_HTTP_LISTEN=192.0.2.1:1", "192.0.2.1:1", ""},
		{"no certificate", "HOTROW_OPS_LISTEN=127.0.0.1:0", pem, pem},
	} {
		p := launch(t, d.config(setup{cert: c.cert}), c.env)
		select {
		case <-p.dead:
		case <-time.After(patience):
			t.Fatalf("%s: hotrow does not end", c.what)
		}
		if code := p.cmd.ProcessState.ExitCode(); code == 0 || !strings.Contains(p.text(), c.said) {
			t.Errorf("%s: exit %d: %s", c.what, code, p.text())
		}
	}
	if n := touched.Load(); n > 0 {
		t.Errorf("the database was asked %d times", n)
	}
	return "exit with the reason and the remedy, before the database is asked"
}
