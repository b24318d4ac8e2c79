package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	httpfront "github.com/hotrow/hotrow/internal/front/http"
)

// greet prints what is served, with an address to try for each resource.
func (s *server) greet(ctx context.Context) {
	defer s.terminal.release()
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
	defer s.greetEnd(base)
	if s.cmd.demo != nil {
		s.greetDemo(base)
		return
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
}

// greetDemo says what the demo serves, and what to try: a change by another program, and the
// two ways to see it. What is not bound has no line.
func (s *server) greetDemo(base string) {
	out, file := s.p.stdout, s.cfg().Sources["main"].Path()
	if path, err := filepath.Abs(file); err == nil {
		file = path
	}
	fmt.Fprintf(out, "\nhotrow serves a shop at %s/: open it in a browser\n\n", base)
	fmt.Fprintf(out, "  rows     %s/products/1, %d tables of %s\n", base,
		len(s.set.All()), file)
	s.greetLinks()
	set, change := "UPDATE products SET price = price + 1 WHERE id = 1", ""
	if _, err := exec.LookPath("sqlite3"); err == nil {
		// It waits for the demo's own writes: without a time it fails beside one.
		change = fmt.Sprintf("sqlite3 -cmd '.timeout 5000' %s %s", shellQuote(file),
			shellQuote(set))
	} else { // by hotrow itself, then
		change = fmt.Sprintf("curl -X PATCH -H 'Content-Type: application/json' "+
			"-d '{\"price\": 1}' %s/products/1", base)
	}
	fmt.Fprintf(out, "\nAsk, change the row with any program, and ask again:\n"+
		"  curl -iw '\\n' %s/products/1\n  %s\n", base, change)
	for _, try := range [][2]string{{"resp", "redis-cli -p %s GET products:1"},
		{"memcache", "printf 'get products:1\\r\\nquit\\r\\n' | nc 127.0.0.1 %s"}} {
		if ln := s.listeners[try[0]]; ln != nil && ln.Addr().Network() == "tcp" {
			_, port, _ := net.SplitHostPort(ln.Addr().String())
			fmt.Fprintf(out, "  "+try[1]+"\n", port)
		}
	}
}

// shellQuote returns s as one word of a shell.
func shellQuote(s string) string {
	if !strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~") && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// greetEnd says where the console is, and how to stop. base is the address of HTTP: where the
// operator's port is left out, who has typed the command has the console there.
func (s *server) greetEnd(base string) {
	switch at := baseURL(s.listeners["ops"], false); {
	case strings.HasPrefix(at, "http"):
		fmt.Fprintf(s.p.stdout, "\nThe console is at %s/\n", at)
	case !s.cfg().Ops.Listen.Off():
		fmt.Fprintf(s.p.stdout, "\nThe console is at %s%s\n", base, httpfront.ConsolePath)
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
