package respfront

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/waittest"
)

// patterns returns a command that subscribes to n patterns like format.
func patterns(n int, format string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return "PSUBSCRIBE " + strings.Join(list, " ")
}

// subscribers makes n connections hear the patterns of a command, and read nothing.
func (s *site) subscribers(n int, command string) (list []*client) {
	s.t.Helper()
	for range n {
		c := s.dial()
		c.do("HELLO 3")
		c.send(command)
		list = append(list, c)
	}
	eventually(s.t, "they have subscribed", func() bool {
		return s.f.Stats().Tracking.Subscribers == n
	})
	return list
}

// TestTracking_DoesNotWaitForSubscribers: a client that keeps copies is told of a change at
// once, whatever others have subscribed to and whether they read what they are sent.
func TestTracking_DoesNotWaitForSubscribers(t *testing.T) {
	for _, format := range []string{"*:co*:*[0-9]*x%d", "__keyspace@?__:codes:*%d"} {
		bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
			s := newSite(t, form)
			s.Exec(`INSERT INTO codes WITH RECURSIVE c(i) AS
				(SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < 300) SELECT i, i FROM c`)
			s.hot("depts:10")
			s.subscribers(8, patterns(1000, format))
			c := s.tracking("")
			c.do("GET depts:10")
			for i := range 300 {
				s.Exec(fmt.Sprintf("UPDATE codes SET n = -n WHERE id = %d", i+1))
			}
			s.rename(10, "A")
			began := time.Now()
			if got := c.reply(); got != tells("depts:10") {
				t.Errorf("%s: told %q", format, got)
			}
			// On a quiet machine it is some ms; it was five seconds.
			if d := time.Since(began); d > 4*front.TellWithin {
				t.Errorf("%s: told of a change after %v", format, d)
			}
		})
	}
}

// TestKeyspace_SlowSubscriberIsClosed: one that does not take what it hears is not left in
// the belief that nothing has changed. Others are told all.
func TestKeyspace_SlowSubscriberIsClosed(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		s.execTold(1, "INSERT INTO codes VALUES (1, 1)")
		long := "__keyspace@0__:codes:[1" + strings.Repeat("a", 200) + "%d]"
		c := s.subscribers(1, patterns(1000, long))[0]
		other := s.dial()
		other.do("SUBSCRIBE __keyspace@0__:codes:1")
		n := 0
		eventually(t, "it is cut", func() bool {
			s.Exec("UPDATE codes SET n = n + 1")
			n++
			return s.f.Stats().Tracking.Late == 1
		})
		for range n {
			if got := other.reply(); !strings.Contains(got, "codes:1") {
				t.Errorf("another subscriber is told %q", got)
			}
		}
		_ = c.nc.SetReadDeadline(waittest.Deadline(time.Minute))
		if _, err := io.Copy(io.Discard, c.nc); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Error("the connection goes on")
		}
	})
}

// TestKeyspace_Patterns: every sort of pattern hears what it stands for, once and of the
// smallest database.
func TestKeyspace_Patterns(t *testing.T) {
	s := newSite(t)
	s.execTold(1, "INSERT INTO codes VALUES (7, 1)")
	hears := map[string]string{ // pattern: the channel that it is told of
		"__keyspace@3__:codes:7": "__keyspace@3__:codes:7", "__keyspace@3__:codes:*": "__keyspace@3__:codes:7",
		"*:7": "__keyspace@0__:codes:7", "*@1[2-4]__:*7": "__keyspace@12__:codes:7",
		"*es:7": "__keyspace@0__:codes:7", "__key????e@5__:c*": "__keyspace@5__:codes:7",
		"__keyevent@9__:*": "__keyevent@9__:set", "*_:s?t": "__keyevent@0__:set",
		`__keyspace@0__:codes:\7`: "__keyspace@0__:codes:7",
	}
	for pattern, channel := range hears {
		c := s.dial()
		c.do("PSUBSCRIBE __keyspace@0__:codes:8 " + pattern + " nothing*")
		c.reply()
		c.reply()
		s.Exec("UPDATE codes SET n = n + 1")
		message := "set"
		if strings.Contains(channel, "event") {
			message = "codes:7"
		}
		if got, want := c.reply(), told(2, "pmessage", pattern, channel, message); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
		c.send("PING x")
		if got := c.reply(); !strings.Contains(got, "pong") {
			t.Errorf("%s: told again: %q", pattern, got)
		}
		_ = c.nc.Close()
	}
}
