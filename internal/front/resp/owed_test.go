package respfront

import (
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
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
		return n > fullQueue
	})
	_ = other.nc.Close()
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
		id := strings.TrimSpace(strings.TrimPrefix(to.do("CLIENT ID"), ":"))
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
			} else if told = told || got == tells("depts:10"); strings.Contains(got, invalidateChannel) {
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
