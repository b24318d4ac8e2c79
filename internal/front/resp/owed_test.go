package respfront

import (
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front"
)

// takesNothing has a client ask for much in one pipeline, with tail behind it, and returns when
// all but tail is done: the client has not read any of it.
func (s *site) takesNothing(c *client, id string, reads int, tail string) {
	s.t.Helper()
	_ = c.nc.(*net.TCPConn).SetReadBuffer(64 << 10)
	var all []string
	for range reads {
		all = append(all, "GET big:1")
	}
	c.send(append(all, tail)...)
	omem := regexp.MustCompile(` omem=(\d+) `)
	other := s.dial()
	eventually(s.t, "the answers wait", func() bool {
		m := omem.FindStringSubmatch(other.do("CLIENT LIST ID " + id))
		n, _ := strconv.Atoi(m[1])
		return n > front.PushedBytes
	})
	_ = other.nc.Close()
}

// number returns what CLIENT ID says.
func (c *client) number() string {
	c.t.Helper()
	return strings.TrimSpace(strings.TrimPrefix(c.do("CLIENT ID"), ":"))
}

// TestRedirect_WhatIsOwedIsPaid: what the target of a REDIRECT is to be told while it takes
// nothing is told, whatever it says of its own tracking and of its protocol.
func TestRedirect_WhatIsOwedIsPaid(t *testing.T) {
	const reads = 100
	s := newSite(t)
	s.hot("depts:10")
	s.hot("big:1")
	for i, tail := range []string{"PING", "CLIENT TRACKING OFF", "CLIENT TRACKING ON BCAST PREFIX y",
		"CLIENT REPLY OFF", "HELLO 2", "RESET"} {
		to := s.tracking("BCAST PREFIX zz")
		id := to.number()
		c := s.dial()
		c.want("CLIENT TRACKING ON REDIRECT "+id, "+OK\r\n")
		c.do("GET depts:10")
		s.takesNothing(to, id, reads, tail)
		owed := s.f.Stats().Owed
		s.rename(10, strconv.Itoa(i))
		eventually(t, "it is owed", func() bool { return s.f.Stats().Owed > owed })
		told, n := false, 0
		read := func() {
			if got := to.reply(); strings.HasPrefix(got, "$") {
				n++
			} else if told = told || got == tells("depts:10") || got == flushed; // or all is told
			strings.Contains(got, invalidateChannel) {
				t.Errorf("%s: %q to who speaks RESP3", tail, got)
			}
		}
		for n < reads {
			read()
		}
		to.send("CLIENT REPLY ON", "ECHO end")
		for n <= reads {
			read()
		}
		eventually(t, "the key is told behind "+tail, func() bool {
			if to.send("ECHO again"); !told {
				read()
			}
			return told
		})
		_ = to.nc.Close()
		_ = c.nc.Close()
	}
}

// TestRedirect_IsToTheSameHolder: the connection of another token is as one that is not there,
// also when it has become that, or the own one has.
func TestRedirect_IsToTheSameHolder(t *testing.T) {
	s := newSite(t)
	s.Allow(map[string]string{"ann": "reader", "eve": "reader"})
	dial := func(name string) *client {
		c := s.dial()
		c.do("HELLO 3")
		if name != "" {
			c.want("AUTH secret-"+name, "+OK\r\n")
		}
		return c
	}
	ann, eve, nobody := dial("ann"), dial("eve"), dial("")
	const none = "-ERR The client ID you want redirect to does not exist\r\n"
	for _, k := range [][2]*client{{eve, ann}, {nobody, ann}, {ann, eve}, {ann, nobody}} {
		k[0].want("CLIENT TRACKING ON BCAST REDIRECT "+k[1].number(), none)
	}
	if t.Failed() {
		return
	}
	to := dial("ann")
	number := to.number()
	ann.want("CLIENT TRACKING ON REDIRECT "+number, "+OK\r\n")
	s.hot("depts:10")
	ann.do("GET depts:10")
	s.rename(10, "A")
	if got := to.reply(); got != tells("depts:10") {
		t.Errorf("of the same holder: %q", got)
	}
	ann.do("GET depts:10")
	to.want("AUTH secret-eve", "+OK\r\n")
	s.rename(10, "B")
	if got := ann.reply(); got != ">2\r\n"+bulk("tracking-redir-broken")+":"+number+"\r\n" {
		t.Errorf("of another holder now: %q", got)
	}
	to.tellsNothing()
	to.want("AUTH secret-ann", "+OK\r\n")
	ann.want("AUTH secret-eve", "+OK\r\n")
	ann.do("GET depts:10")
	s.rename(10, "C")
	to.tellsNothing()
}
