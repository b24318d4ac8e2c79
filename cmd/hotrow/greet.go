package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	httpfront "github.com/hotrow/hotrow/internal/front/http"
)

// greet prints what is served, with an address to try for each resource.
func (s *server) greet(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	base := baseURL(s.listeners["http"], s.cfg().HTTP.TLS.On())
	if base == "" || s.logsToStdout() { // whose lines alone are to stand there
		return
	}
	base += strings.TrimSuffix(s.cfg().HTTP.BasePath, "/")
	// What is asked for at once should be a hit the second time, and the log of
	// the start not stand in the middle of the greeting.
	for deadline := time.Now().Add(time.Second); s.set.Ready() != nil; {
		if ctx.Err() != nil || time.Now().After(deadline) {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	all := s.set.All()
	if len(all) == 0 {
		why := "the log says which tables it has left out, and why"
		if src := s.sources["main"]; src != nil { // a TARGET's
			if cat, err := src.Catalog(ctx); err == nil && len(cat.Tables) == 0 {
				why = "there are no tables in the database"
			}
		}
		fmt.Fprintf(s.p.stdout, "\nhotrow serves nothing at %s/: %s\n", base, why)
		s.greetEnd()
		return
	}
	fmt.Fprintf(s.p.stdout, "\nhotrow serves\n")
	for i, r := range all {
		if i == 10 {
			fmt.Fprintf(s.p.stdout, "  ... and %d more: see %s/\n", len(all)-i, base)
			break
		}
		path := "/" + url.PathEscape(r.Name())
		if key := r.Example(ctx); key != "" { // else there is no row yet
			path = httpfront.DocumentPath(r.Name(), key, len(r.KeyType()))
		}
		fmt.Fprintf(s.p.stdout, "  %s%s\n", base, path)
	}
	s.greetLinks()
	if s.demo {
		fmt.Fprintf(s.p.stdout, "\nTry\n  curl -iw '\\n' %s/depts/10\n"+
			"  curl -H 'Accept: application/vnd.msgpack' %s/depts/10 | xxd\n"+
			"  sqlite3 %s 'UPDATE emp SET sal = sal + 1 WHERE empno = 7839' && "+
			"curl -w '\\n' %s/depts/10\n",
			base, base, s.cfg().Sources["main"].Path(), base)
	}
	for _, try := range [][2]string{{"resp", "redis-cli -p %s GET depts:10"},
		{"memcache", "printf 'get depts:10\\r\\nquit\\r\\n' | nc 127.0.0.1 %s"}} {
		if ln := s.listeners[try[0]]; s.demo && ln != nil && ln.Addr().Network() == "tcp" {
			_, port, _ := net.SplitHostPort(ln.Addr().String())
			fmt.Fprintf(s.p.stdout, "  "+try[1]+"\n", port)
		}
	}
	s.greetEnd()
}

// greetEnd says where the console is, and how to stop.
func (s *server) greetEnd() {
	if at := baseURL(s.listeners["ops"], false); strings.HasPrefix(at, "http") {
		fmt.Fprintf(s.p.stdout, "\nThe console is at %s/\n", at)
	}
	fmt.Fprintf(s.p.stdout, "Stop with Ctrl-C.\n\n")
}

// baseURL returns the address of a listener as a URL.
func baseURL(ln net.Listener, secure bool) string {
	if ln == nil {
		return ""
	}
	if ln.Addr().Network() == "unix" {
		return "unix:" + ln.Addr().String()
	}
	if secure {
		return "https://" + ln.Addr().String()
	}
	return "http://" + ln.Addr().String()
}
