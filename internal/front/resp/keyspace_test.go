package respfront

import (
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/waittest"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// told returns a message as a subscriber gets it.
func told(v int, parts ...string) string {
	return string(appendMessage(nil, resp.Version(v), parts...))
}

func TestKeyspace_TellsOfEveryChange(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		for v := 2; v <= 3; v++ {
			s := newSite(t, form)
			s.Allow(map[string]string{"ann": "reader"})
			c := s.dial()
			c.do("HELLO " + strconv.Itoa(v))
			const space, all, events = "__keyspace@7__:codes:1", "__key*__:*", "__keyevent@0__:set"
			s.execTold(3, "INSERT INTO codes VALUES (1,1), (2,2), (3,3)")
			c.do("SUBSCRIBE " + space + " " + events + " __keyspace@16__:codes:1 other")
			for range 3 {
				c.reply()
			}
			s.Exec("UPDATE codes SET n = 5 WHERE id = 1")
			for _, want := range []string{told(v, "message", space, "set"), told(v, "message", events, "codes:1")} {
				if got := c.reply(); got != want {
					t.Errorf("version %d: %q, want %q", v, got, want)
				}
			}
			s.Exec("DELETE FROM codes WHERE id = 3", "UPDATE pay SET sal = 3") // pay may not be read
			if got, want := c.reply(), told(v, "message", events, "codes:3"); got != want {
				t.Errorf("version %d: of a deleted row: %q, want %q", v, got, want)
			}
			c.send("UNSUBSCRIBE " + space + " " + events)
			c.reply()
			c.reply()
			c.do("PSUBSCRIBE " + all)
			s.Exec("UPDATE codes SET n = 5 WHERE id = 2")
			for _, want := range []string{told(v, "pmessage", all, "__keyspace@0__:codes:2", "set"),
				told(v, "pmessage", all, "__keyevent@0__:set", "codes:2")} {
				if got := c.reply(); got != want {
					t.Errorf("version %d: %q, want %q", v, got, want)
				}
			}
			// Anything may have changed: of every resource that may be read.
			s.f.store.Tracker().Flush()
			for _, name := range []string{"big", "brief", "cities", "codes", "counts", "depts", "docs", "log", "notes",
				"raws"} {
				want := told(v, "pmessage", all, "__keyspace@0__:"+name+":*", "reset")
				if got := c.reply(); got != want {
					t.Errorf("version %d: %q, want %q", v, got, want)
				}
				if got := c.reply(); got != told(v, "pmessage", all, "__keyevent@0__:reset", name+":*") {
					t.Errorf("version %d: %q", v, got)
				}
			}
			c.do("PUNSUBSCRIBE " + all)
			s.Exec("UPDATE codes SET n = 6 WHERE id = 2")
			c.send("PING x")
			if got := c.reply(); got != bulk("x") && got != "*2\r\n"+bulk("pong")+bulk("x") {
				t.Errorf("version %d: told although nothing is subscribed: %q", v, got)
			}
			c.do("RESET")
			if n := s.f.Stats().Tracking.Subscribers; n != 0 {
				t.Errorf("%d listen when nobody has subscribed", n)
			}
		}
	})
}

// TestKeyspace_EndsWithItsToken: a client whose subscriptions go with its token is cut, as by
// Redis: it would take the silence for peace.
func TestKeyspace_EndsWithItsToken(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		s.Allow(map[string]string{"ann": "reader"})
		c := s.dial()
		c.want("AUTH secret-ann", "+OK\r\n")
		c.do("SUBSCRIBE __keyevent@0__:set")
		s.Allow(map[string]string{"bob": "reader"})
		_ = c.nc.SetReadDeadline(waittest.Deadline(time.Minute))
		if left, err := io.ReadAll(c.r); err != nil {
			t.Errorf("it goes on, and said %q: %v", left, err)
		}
	})
}
