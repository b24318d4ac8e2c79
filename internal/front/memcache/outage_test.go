package memcachefront

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/front/fronttest"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/waittest"
)

// newFaultySite starts a site whose feed can lag and whose database can be away, with a row
// in memory, and the knowledge that another one is not there.
func newFaultySite(t *testing.T, change ...func(*Options, *kv.Listen)) *site {
	s := newSiteOver(t, fronttest.More{StaleAfter: time.Second, Faults: new(fronttest.Faults)},
		change...)
	c := s.dial()
	r, _ := s.Set.Lookup("depts")
	eventually(t, "they are in memory", func() bool {
		c.do("get depts:10 depts:98 depts:99")
		row, _ := r.Kept("10")
		none, _ := r.Kept("98")
		return row && none
	})
	return s
}

// lagging has the feed lag.
func (s *site) lagging() {
	s.t.Helper()
	s.fault.Lag(true)
	r, _ := s.Set.Lookup("depts")
	eventually(s.t, "the gate is closed", func() bool { return !r.Fresh() })
}

// TestStale_OnlyWithASign: classic commands cannot say that a value is stale, so that the
// database is read while the feed lags; mg says it by X of a value, and cannot of a miss.
func TestStale_OnlyWithASign(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newFaultySite(t, form)
		s.lagging()
		s.Exec("UPDATE dept SET loc = 'SOMEWHERE ELSE' WHERE deptno = 10",
			"INSERT INTO dept VALUES (99, 'NEW', NULL, NULL)")
		c := s.dial()
		for _, command := range []string{"get depts:10", "gets depts:10", "gat 60 depts:10",
			"gats 60 depts:10", "get depts:20 depts:10"} {
			if got := c.do(command); !strings.Contains(got, "SOMEWHERE ELSE") {
				t.Errorf("%s = %q", command, got)
			}
		}
		if got := c.do("get depts:99"); !strings.Contains(got, "NEW") {
			t.Errorf("a row that has come: %q", got)
		}
		for command, want := range map[string]string{"mg depts:10 v s": " X\r\n", "mg depts:99 v": "NEW",
			"mg depts:10 v\r\nget depts:10": "SOMEWHERE ELSE"} {
			if got := c.do(command); !strings.Contains(got, want) {
				t.Errorf("%s = %q, want %q in it", command, got, want)
			}
		}
		s.fault.Down.Store(true)
		if got := c.do("mg depts:10 v"); !strings.Contains(got, " X\r\n") {
			t.Errorf("database away: mg = %q", got)
		}
		c.want("mg depts:98 v", unavailable+"\r\n")
		c.want("touch depts:10 60", unavailable+"\r\n")
		allowed := s.opts
		allowed.StaleAllowed = true
		s.f.Configure(allowed)
		if got := s.dial().do("get depts:10 depts:98"); !strings.Contains(got, "SOMEWHERE ELSE") {
			t.Errorf("allowed by name: %q", got)
		}
	})
}

// TestSet_OfTwoGigabytes is refused at once, and nothing is waited for.
func TestSet_OfTwoGigabytes(t *testing.T) {
	s := newSite(t, items)
	for _, command := range []string{"set a 0 0 2000000000", "set depts:10 0 0 2000000000",
		"ms a 2000000000", "add a 0 0 2000000000"} {
		c := s.dial()
		c.raw("set a 0 0 1\r\n1\r\n" + command + "\r\n")
		_ = c.nc.SetReadDeadline(waittest.Deadline(30 * time.Second))
		const want = "STORED\r\nSERVER_ERROR object too large for cache\r\n"
		if got, err := io.ReadAll(c.r); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", command, got, err)
		}
	}
}

// TestOutage_ClosesTheConnectionOfClassicReads: an error of the server is a miss to
// libmemcached. What was answered before it is sent.
func TestOutage_ClosesTheConnectionOfClassicReads(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newFaultySite(t, form, func(o *Options, _ *kv.Listen) { o.Default = kv.StoreName })
		s.fault.Down.Store(true)
		hit := value("depts:10", dept10) + "END\r\n"
		for command, before := range map[string]string{
			"get depts:30": "", "gets depts:30": "", "gat 60 depts:30": "", "gats 60 depts:30": "",
			"get depts:10 depts:30": "", "get item": "", "gat 60 item": "", "gats 60 item depts:10": "",
			"get depts:10\r\nmg depts:10 s\r\nget depts:30\r\nget depts:10": hit + "HD s69\r\n",
			"mg depts:30 v\r\nget depts:30":                                 unavailable + "\r\n",
		} {
			c := s.dial()
			c.raw(command + "\r\n")
			_ = c.nc.SetReadDeadline(waittest.Deadline(time.Minute))
			if got, err := io.ReadAll(c.r); string(got) != before || err != nil {
				t.Errorf("%q: %q, %v, want %q and the end", command, got, err, before)
			}
		}
		// All other commands have an error, and the connection lives.
		c := s.dial()
		for _, command := range []string{"mg depts:30 v", "mg item v", "me depts:30", "touch depts:30 60",
			"set depts:30 0 0 2\r\n{}", "incr item 1", "mg depts:30 v q"} {
			if got := c.do(command); !strings.HasPrefix(got, "SERVER_ERROR ") &&
				!strings.HasPrefix(command, "set") {
				t.Errorf("%q = %q", command, got)
			}
		}
		c.want("get depts:10", hit)
	})
}
