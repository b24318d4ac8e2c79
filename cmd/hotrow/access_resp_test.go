//go:build unix

package main

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// A respPeer is a client of Redis, one command at a time.
type respPeer struct {
	t  *testing.T
	nc net.Conn
	r  *bufio.Reader
}

// dialRESP connects to a running hotrow.
func (r *running) dialRESP() *respPeer {
	r.t.Helper()
	nc := r.dial("resp")
	return &respPeer{r.t, nc, bufio.NewReader(nc)}
}

// do sends a command and returns its reply as it came.
func (p *respPeer) do(text string) string {
	p.t.Helper()
	args := strings.Fields(text)
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	_ = p.nc.SetDeadline(waittest.Deadline(time.Minute))
	if _, err := p.nc.Write([]byte(b.String())); err != nil {
		p.t.Fatal(err)
	}
	return p.reply()
}

func (p *respPeer) reply() string {
	p.t.Helper()
	line, err := p.r.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch line[0] {
	case '$':
		if n >= 0 {
			rest := make([]byte, n+2)
			for at := 0; at < len(rest); {
				k, err := p.r.Read(rest[at:])
				if err != nil {
					p.t.Fatal(err)
				}
				at += k
			}
			line += string(rest)
		}
	case '*':
		for range max(n, 0) {
			line += p.reply()
		}
	}
	return line
}

// walkRESP sends commands of every sort as everybody.
func walkRESP(t *testing.T, page accessPage) {
	w := roleWalk{section: "resp", heading: "## Redis",
		lines: []string{"`GET`", "`SET`", "`AUTH`", "`CLIENT LIST`", "all else"}, roles: askRESP}
	w.run(t, page)
}

// askRESP sends them by each role.
func askRESP(t *testing.T, r *running, roles map[string]string, read, write []string) {
	for role, token := range roles {
		p := r.dialRESP()
		if got := p.do("HELLO 2"); !strings.HasPrefix(got, "*14") {
			t.Errorf("HELLO of %q = %q", role, got)
		}
		if token != "" {
			if got := p.do("AUTH " + token); (got == "+OK\r\n") != (role != "wrong") {
				t.Errorf("AUTH of %q = %q", role, got)
			}
		}
		for _, text := range []string{"GET pay:1", "HGETALL pay:1", "EXISTS pay:1"} {
			got := p.do(text)
			if may := slices.Contains(read, role); may == strings.HasPrefix(got, "-NOPERM") {
				t.Errorf("%s of %q = %q", text, role, got)
			}
		}
		for _, text := range []string{`SET pay:1 {"sal":7}`, "HSET pay:1 sal 8", "HDEL pay:1 sal",
			"DEL pay:77", "UNLINK pay:77"} {
			got := p.do(text)
			if may := slices.Contains(write, role); may == (got[0] == '-') ||
				!may && !strings.HasPrefix(got, "-NOPERM") {
				t.Errorf("%s of %q = %q", text, role, got)
			}
		}
		got := p.do("SCAN 0 MATCH pay:*")
		if may := slices.Contains(read, role); may != strings.Contains(got, "pay:1") {
			t.Errorf("SCAN of %q = %q", role, got)
		}
		for _, text := range []string{"PING", "CLIENT LIST", "INFO", "RESET"} {
			if got := p.do(text); got[0] == '-' {
				t.Errorf("%s of %q = %q", text, role, got)
			}
		}
	}
}
