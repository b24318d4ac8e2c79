package respfront

import "testing"

// TestTracking_OneKeyInAMessage: as with Redis, a message names one key unless BCAST was asked
// for. Some clients pass over what stands behind a key of which they keep nothing any more.
func TestTracking_OneKeyInAMessage(t *testing.T) {
	s := newSite(t)
	s.hot("depts:10")
	s.hot("depts:20")
	old := s.dial() // of RESP2, hears by a channel
	oldID := old.number()
	old.want("SUBSCRIBE __redis__:invalidate",
		"*3\r\n"+bulk("subscribe")+bulk("__redis__:invalidate")+":1\r\n")
	to := s.dial()
	to.do("HELLO 3")
	one, several := s.tracking(""), s.tracking("BCAST PREFIX depts:")
	for id, c := range map[string]*client{oldID: s.dial(), to.number(): s.dial()} {
		c.want("CLIENT TRACKING ON REDIRECT "+id, "+OK\r\n")
		c.do("MGET depts:10 depts:20")
	}
	one.do("MGET depts:10 depts:20")
	s.Exec("UPDATE dept SET loc = 'X' WHERE deptno IN (10, 20)")
	message := func(key string) string {
		return "*3\r\n" + bulk("message") + bulk("__redis__:invalidate") + "*1\r\n" + bulk(key)
	}
	for name, c := range map[string]*client{"its own": one, "redirected": to, "RESP2": old} {
		want := map[string]bool{tells("depts:10"): true, tells("depts:20"): true}
		if c == old {
			want = map[string]bool{message("depts:10"): true, message("depts:20"): true}
		}
		for range 2 {
			if got := c.reply(); !want[got] {
				t.Errorf("%s: %q", name, got)
			} else {
				delete(want, got)
			}
		}
	}
	// Changes that are noticed together are told together, and these two may not have been.
	got := several.reply()
	if got == tells("depts:10") || got == tells("depts:20") {
		got += several.reply()
	}
	switch got {
	case tells("depts:10", "depts:20"), tells("depts:20", "depts:10"),
		tells("depts:10") + tells("depts:20"), tells("depts:20") + tells("depts:10"):
	default:
		t.Errorf("BCAST: %q", got)
	}
}
