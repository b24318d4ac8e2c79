package eventloop

import (
	"strings"
	"testing"
)

// TestHandOver_ReadAheadTakesNothing: net/http asks for 4 KiB at a time. The
// requests behind the one that is handed over come with it, in one write, and are
// answered by the event loop.
func TestHandOver_ReadAheadTakesNothing(t *testing.T) {
	request, answer := put("abc")
	each(t, loopForms, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		for range 20 {
			c.send(request + strings.Repeat(get("/hit/1"), 40))
			c.want(200, answer)
			for range 40 {
				c.want(200, "hit 1")
			}
		}
		eventually(t, "one hand-over for each PUT", func() bool {
			n := s.server.Stats()
			return n.HandedOver == 20 && n.Returned == 20
		})
	})
}

// TestHandOver_BackgroundReadTakesNothing: while a handler runs net/http reads one
// byte, to notice a client that leaves. That byte is the next request's, and
// must stay so, whether the request comes while the handler runs or in parts.
func TestHandOver_BackgroundReadTakesNothing(t *testing.T) {
	next := get("/hit/1") + get("/miss/2")
	each(t, loopForms, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		for at := 0; at <= len(next); at += 7 {
			c.send(get("/slow"))
			<-s.full.entered // the handler runs, and net/http reads
			c.send(next[:at])
			s.full.release <- struct{}{}
			c.want(200, "slow")
			c.send(next[at:])
			c.want(200, "hit 1")
			c.want(200, "miss 2")
		}
		handOvers := int64(len(next)/7 + 1)
		eventually(t, "one hand-over for each slow one", func() bool {
			n := s.server.Stats()
			return n.HandedOver == handOvers && n.Returned == handOvers
		})
	})
}

// TestHandOver_GoesBackToItsLoop: one PUT does not make a connection slow.
func TestHandOver_GoesBackToItsLoop(t *testing.T) {
	request, answer := put("abc")
	each(t, loopForms, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		c.send(request)
		c.want(200, answer)
		for range 200 {
			c.send(get("/hit/1"))
			c.want(200, "hit 1")
		}
		want := Stats{Accepted: 1, Open: 1, HandedOver: 1, Returned: 1}
		if n := s.server.Stats(); n != want {
			t.Errorf("after one PUT and 200 hits: %+v, want %+v", n, want)
		}
	})
}
