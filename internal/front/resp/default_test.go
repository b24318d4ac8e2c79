package respfront

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front/kv"
)

// TestDefault_TheKeyWithoutANameIsTheMainOne: a row of the default resource is tracked, and
// told, by the key that was used; whoever has not said which is told of the one without a name.
func TestDefault_TheKeyWithoutANameIsTheMainOne(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form, func(o *Options, _ *kv.Listen) { o.Default = "codes" })
		s.execTold(2, "INSERT INTO codes VALUES (1, 1), (2, 2)")
		change := func() { s.Exec("UPDATE codes SET n = n + 1 WHERE id = 1") }
		warm := s.dial()
		r, _ := s.Set.Lookup("codes")
		eventually(t, "it is in memory", func() bool {
			warm.do("GET 1")
			kept, _ := r.Kept("1")
			return kept
		})
		c, every, prefix := s.tracking(""), s.tracking("BCAST"), s.tracking("BCAST PREFIX 1")
		named, other := s.tracking("BCAST PREFIX codes:"), s.dial()
		c.do("GET 1")
		c.tellsNothing() // it may keep the answer
		other.do("PSUBSCRIBE __keyspace@0__:* __keyspace@0__:codes:* __keyevent@0__:set")
		other.reply()
		other.reply()
		change()
		for name, got := range map[string]string{"tracked": c.reply(), "BCAST": every.reply(),
			"PREFIX": prefix.reply()} {
			if got != tells("1") {
				t.Errorf("%s: told %q", name, got)
			}
		}
		if got := named.reply(); got != tells("codes:1") {
			t.Errorf("PREFIX with the name: told %q", got)
		}
		for _, want := range []string{
			told(2, "pmessage", "__keyspace@0__:*", "__keyspace@0__:1", "set"),
			told(2, "pmessage", "__keyspace@0__:codes:*", "__keyspace@0__:codes:1", "set"),
			told(2, "pmessage", "__keyevent@0__:set", "__keyevent@0__:set", "1"),
		} {
			if got := other.reply(); got != want {
				t.Errorf("a subscriber: %q, want %q", got, want)
			}
		}
		// Who uses the name is told by it; who may have used either is told of both.
		c.do("GET codes:1")
		c.tellsNothing()
		change()
		if got := c.reply(); got != tells("codes:1") {
			t.Errorf("by the name: told %q", got)
		}
		if got := every.reply(); got != tells("1", "codes:1") {
			t.Errorf("BCAST when the name is used: told %q", got)
		}
		if got := prefix.reply(); got != tells("1") {
			t.Errorf("PREFIX when the name is used: told %q", got)
		}
		c.do("GET 1")
		c.do("GET codes:1")
		change()
		if a, b := c.reply(), c.reply(); a != tells("1") || b != tells("codes:1") {
			t.Errorf("by both: told %q and %q", a, b)
		}
	})
}

// TestDefault_Walks: SCAN gives the keys without a name, and those with it to who asks so.
func TestDefault_Walks(t *testing.T) {
	s := newSite(t, func(o *Options, _ *kv.Listen) { o.Default = "codes" })
	s.Exec("INSERT INTO codes VALUES (1, 1), (2, 2)")
	c := s.dial()
	walk := func(options string) (all string) {
		for cursor := "0"; ; {
			parts := strings.Split(c.do("SCAN "+cursor+options), "\r\n")
			for _, p := range parts[4:] {
				if !strings.HasPrefix(p, "$") {
					all += " " + p
				}
			}
			if cursor = parts[2]; cursor == "0" {
				return all
			}
		}
	}
	for options, want := range map[string]string{
		"": " 1", " MATCH 1": " 1", " MATCH codes:*": " codes:1 ", " MATCH *": " 2", " MATCH ?": " 2",
	} {
		if got := walk(options) + " "; !strings.Contains(got, want) ||
			!strings.Contains(options, "codes") && strings.Contains(got, "codes:") {
			t.Errorf("SCAN 0%s: %q", options, got)
		}
	}
	if got := c.do("HOTROW.GET codes:1"); !strings.Contains(got, "key\r\n$1\r\n1\r\n") {
		t.Errorf("HOTROW.GET = %q", got)
	}
}

// TestTracking_WithoutReplies: a client that wants no replies is told of changes all the same,
// also of what it reads meanwhile.
func TestTracking_WithoutReplies(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		s.hot("depts:10")
		for _, talk := range [][]string{
			{"CLIENT REPLY OFF", "GET depts:10"}, {"CLIENT REPLY OFF", "MGET depts:20 depts:10"},
			{"GET depts:10", "CLIENT REPLY OFF"}, {"CLIENT REPLY SKIP", "GET depts:10"},
			{"CLIENT REPLY OFF", "MULTI", "GET depts:10", "EXEC"},
			{"CLIENT REPLY OFF", "HGETALL depts:10"},
		} {
			c := s.tracking("")
			c.send(talk...)
			if talk[0] == "GET depts:10" {
				c.reply()
			}
			eventually(t, "it is tracked", func() bool { return s.f.Stats().Tracking.Keys > 0 })
			s.rename(10, talk[1])
			if got := c.reply(); got != tells("depts:10") {
				t.Errorf("%q: told %q", talk, got)
			}
			_ = c.nc.Close()
			eventually(t, "it has gone", func() bool { return s.f.Stats().Tracking.Clients == 0 })
		}
		// To whom another redirects, and who is asked to say nothing.
		to := s.tracking("BCAST PREFIX zz")
		c := s.dial()
		c.want("CLIENT TRACKING ON REDIRECT "+to.number(), "+OK\r\n")
		to.send("CLIENT REPLY OFF")
		c.send("CLIENT REPLY OFF", "GET depts:10")
		eventually(t, "it is tracked", func() bool { return s.f.Stats().Tracking.Keys > 0 })
		s.rename(10, "redirect")
		if got := to.reply(); got != tells("depts:10") {
			t.Errorf("REDIRECT: told %q", got)
		}
	})
}
