package respfront

import (
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/front/fronttest"
	"github.com/hotrow/hotrow/internal/front/kv"
)

// lagging has a change made while the feed lags that memory has the row of before it, and
// returns when the gate is closed.
func (s *site) lagging() {
	s.t.Helper()
	s.fault.Lag(true)
	r, _ := s.Set.Lookup("depts")
	eventually(s.t, "the gate is closed", func() bool { return !r.Fresh() })
}

// newFaultySite starts a site whose feed can lag, with a row in memory.
func newFaultySite(t *testing.T, change ...func(*Options, *kv.Listen)) *site {
	s := newSiteOver(t, fronttest.More{StaleAfter: time.Second, Faults: new(fronttest.Faults)},
		change...)
	s.hot("depts:10")
	s.hot("cities:Tulsa,OK")
	return s
}

// staleReads are the commands that show something of a row, all of 10 of depts.
var staleReads = []string{
	"GET depts:10", "MGET depts:10 depts:20", "HGETALL depts:10", "HGET depts:10 loc",
	"HMGET depts:10 loc dname", "HVALS depts:10", "HSCAN depts:10 0", "GETRANGE depts:10 0 -1",
	"GETEX depts:10", "STRLEN depts:10", "HSTRLEN depts:10 loc", "EXISTS depts:10", "TYPE depts:10",
	"HLEN depts:10", "TTL depts:10",
}

// TestStale_IsNotServedWithoutASign: no reply of Redis' protocol can say that it is stale. So
// while the feed lags the database is read, and when that is away, too, it is an error.
func TestStale_IsNotServedWithoutASign(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newFaultySite(t, form)
		before := make(map[string]string)
		c := s.dial()
		for _, text := range staleReads {
			before[text] = c.do(text)
		}
		s.lagging()
		s.rename(10, "SOMEWHERE ELSE")
		for _, text := range append(staleReads, "get depts:010") {
			got := c.do(text)
			if strings.HasPrefix(got, "-") || strings.Contains(got, "NEW") {
				t.Errorf("while the feed lags: %s = %q", text, got)
			}
			if strings.HasPrefix(text, "STRLEN") && got == before[text] {
				t.Errorf("while the feed lags: %s = %q as before", text, got)
			}
		}
		c.send("MULTI", "GET depts:10", "EXEC", "GET depts:10")
		c.reply()
		c.reply()
		for _, got := range []string{c.reply(), c.reply()} {
			if !strings.Contains(got, "SOMEWHERE ELSE") {
				t.Errorf("in a pipeline: %q", got)
			}
		}
		if got := c.do("HOTROW.GET depts:10"); !strings.Contains(got, "stale") {
			t.Errorf("what can say that it is stale: %q", got)
		}
		s.Exec("DELETE FROM dept WHERE deptno = 10")
		c.want("EXISTS depts:10", ":0\r\n")
		c.want("GET depts:10", "$-1\r\n")
		s.fault.Down.Store(true)
		for _, text := range staleReads {
			if got := c.do(text); !strings.HasPrefix(got, "-UNAVAILABLE ") {
				t.Errorf("database away: %s = %q", text, got)
			}
		}
		s.fault.Down.Store(false)
		s.fault.Lag(false)
		eventually(t, "it is fresh again", func() bool { return s.Set.Ready() == nil })
		c.want("GET depts:10", "$-1\r\n")
	})
}

// TestStale_IsServedByName: who has asked for it gets copies as HTTP does.
func TestStale_IsServedByName(t *testing.T) {
	s := newFaultySite(t, func(o *Options, _ *kv.Listen) { o.StaleAllowed = true })
	s.lagging()
	s.rename(10, "SOMEWHERE ELSE")
	s.dial().want("GET depts:10", bulk(dept10))
	s.fault.Down.Store(true)
	s.dial().want("MGET depts:10", "*1\r\n"+bulk(dept10))
}

// TestRead_TheDatabaseForbids: that hotrow may not read a table is no matter of the client's
// rights.
func TestRead_TheDatabaseForbids(t *testing.T) {
	s := newFaultySite(t)
	s.fault.Denied.Store(true)
	c := s.dial()
	for _, text := range []string{"GET depts:30", "HGETALL depts:30", "MGET depts:10 depts:30"} {
		c.want(text, "-"+internalError+"\r\n")
	}
	c.want("GET pay:1", "-"+noPermission(s.f.get)+"\r\n")
}
