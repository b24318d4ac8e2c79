//go:build unix

package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/tlstest"
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
	m := regexp.MustCompile(`proto=(memcache|memcache-tls) addr=(\S+)`).FindStringSubmatch(r.log.String())
	if m == nil {
		r.t.Fatalf("clients of memcached are not served:\n%s", r.log)
	}
	network := "tcp"
	if strings.HasPrefix(m[2], "/") {
		network = "unix"
	}
	nc, err := net.Dial(network, m[2])
	if err == nil && m[1] != "memcache" {
		nc = tls.Client(nc, &tls.Config{InsecureSkipVerify: true})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = nc.Close() })
	return &memcachePeer{r.t, nc, bufio.NewReader(nc)}
}

// do sends a command and returns what comes before the reply to mn.
func (p *memcachePeer) do(text string) string {
	p.t.Helper()
	_ = p.nc.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := p.nc.Write([]byte(text + "\r\nmn\r\n")); err != nil {
		p.t.Fatal(err)
	}
	all := ""
	for {
		line, err := p.r.ReadString('\n')
		if err != nil {
			p.t.Fatal(err)
		}
		if line == "MN\r\n" {
			return all
		}
		all += line
	}
}

// walkMemcache sends commands of every sort as everybody.
func walkMemcache(t *testing.T, page accessPage) {
	all := []string{"", "wrong", "reader", "editor", "operator"}
	for _, tt := range []struct {
		form, access string
		flags        []string
		read, write  []string // who may
	}{
		{formTCP, byRoles, nil, []string{"reader"}, []string{"editor"}},
		{formUnix, byRoles, nil, []string{"reader"}, []string{"editor"}},
		{formTLS, byRoles, nil, []string{"reader"}, []string{"editor"}},
		{formTCP, "{read: public, write: public}", []string{"--open"}, all, all[2:]},
		{formTCP, "{read: none, write: none}", nil, nil, nil},
	} {
		more := ""
		if tt.form == formTLS {
			more = "memcache: {tls: true}\nhttp: {tls: {cert: cert.pem, key: key.pem}}\n"
		}
		b := newAccessBed(t, tt.access, "", "  base_url: https://s.example\n  open: true\n"+more)
		tlstest.New(t, "access").Write(t, filepath.Dir(b.file))
		t.Run(tt.form+" "+tt.access, func(t *testing.T) {
			r := b.serve(t, tt.form, tt.flags...)
			roles := map[string]string{"": "", "wrong": "hr_wrong"}
			maps.Copy(roles, b.tokens)
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
					if may := slices.Contains(tt.read, role); may == (got == "CLIENT_ERROR forbidden\r\n") {
						t.Errorf("%s of %q = %q", text, role, got)
					}
				}
				for _, text := range []string{"set pay:7 0 0 2\r\n{}", "cas pay:7 0 0 2 1\r\n{}", "ms pay:7 2\r\n{}",
					"delete pay:7", "md pay:7", "md pay:7 I", "incr pay:7 1"} {
					got := p.do(text)
					no := got == "CLIENT_ERROR forbidden\r\n" || got == "SERVER_ERROR read only\r\n"
					if may := slices.Contains(tt.write, role); may == no {
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
			page.ask(t, accessTop, "`memcache.listen`", tt.form)
			for _, text := range []string{"`get`", "`set`, `add`", "`set` of a name", "`flush_all`", "all else"} {
				page.ask(t, "## memcached", text, tt.form)
			}
		})
	}
}
