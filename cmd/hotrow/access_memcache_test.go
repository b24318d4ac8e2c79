//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// A memcachePeer is a client of memcached, one command at a time.
type memcachePeer struct {
	t  *testing.T
	nc net.Conn
	r  *bufio.Reader
}

// dialMemcache connects to a running hotrow.
func (r *running) dialMemcache() *memcachePeer {
	r.t.Helper()
	nc := r.dial("memcache")
	return &memcachePeer{r.t, nc, bufio.NewReader(nc)}
}

// hungUp stands for the end of a connection among replies.
const hungUp = "(the end)"

// do sends a command and returns what comes before the reply to mn, or with hungUp behind it
// before the end of the connection.
func (p *memcachePeer) do(text string) string {
	p.t.Helper()
	_ = p.nc.SetDeadline(waittest.Deadline(time.Minute))
	if _, err := p.nc.Write([]byte(text + "\r\nmn\r\n")); err != nil {
		p.t.Fatal(err)
	}
	all := ""
	for {
		line, err := p.r.ReadString('\n')
		switch {
		case err == io.EOF:
			return all + line + hungUp
		case err != nil:
			p.t.Fatal(err)
		case line == "MN\r\n":
			return all
		}
		all += line
	}
}

// walkMemcache sends commands of every sort as everybody.
func walkMemcache(t *testing.T, page accessPage) {
	w := roleWalk{section: "memcache", heading: "## memcached",
		lines: []string{"`get`", "`set`, `add`", "`set` of a name", "`flush_all`", "all else"},
		roles: askMemcache}
	w.run(t, page)
}

// askMemcache sends them by each role.
func askMemcache(t *testing.T, r *running, roles map[string]string, read, write []string) {
	for role, token := range roles {
		p := r.dialMemcache()
		if token != "" {
			value := "default " + token
			got := p.do(fmt.Sprintf("set auth 0 0 %d\r\n%s", len(value), value))
			if (got == "STORED\r\n") != (role != "wrong") {
				t.Errorf("the token of %q = %q", role, got)
			}
		}
		for _, text := range []string{"get pay:1", "gets pay:1", "gat 0 pay:1", "touch pay:1 0", "mg pay:1 v",
			"me pay:1"} {
			got := p.do(text)
			if may := slices.Contains(read, role); may == (got == "CLIENT_ERROR forbidden\r\n") {
				t.Errorf("%s of %q = %q", text, role, got)
			}
		}
		for _, text := range []string{"set pay:7 0 0 2\r\n{}", "cas pay:7 0 0 2 1\r\n{}", "ms pay:7 2\r\n{}",
			"delete pay:7", "md pay:7", "md pay:7 I", "incr pay:7 1"} {
			got := p.do(text)
			no := got == "CLIENT_ERROR forbidden\r\n" || got == "SERVER_ERROR read only\r\n"
			if may := slices.Contains(write, role); may == no {
				t.Errorf("%q of %q = %q", text, role, got)
			}
		}
		for _, text := range []string{"flush_all", "cache_memlimit 1"} {
			if got := p.do(text); got != "CLIENT_ERROR forbidden\r\n" {
				t.Errorf("%s of %q = %q", text, role, got)
			}
		}
		for _, text := range []string{"version", "stats", "verbosity 1"} {
			if got := p.do(text); strings.Contains(got, "ERROR") {
				t.Errorf("%s of %q = %q", text, role, got)
			}
		}
	}
}
