package httpfront

import (
	"math"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
)

// durations returns how many requests of depts have one, and their sum.
func durations(h *Handler) (n uint64, s ResourceStats) {
	for _, st := range h.Stats() {
		if st.Resource == "depts" {
			s = st
		}
	}
	for _, b := range s.Buckets {
		n += b
	}
	return n, s
}

// The hits of a wake-up count as long as the whole of it took, once, and not
// the time in which the loop has slept.
func TestLoop_HitsHaveTheDurationOfTheirWakeUp(t *testing.T) {
	site := newServer(t)
	for range 2 {
		site.do("GET", "/depts/10", "")
	}
	h := New(Options{Resources: site.h.live.Load().Resources})
	s := newStepper(t, h)
	at := time.Now()
	hits := func(n int) {
		for range n {
			eventually(t, "a hit", func() bool {
				_, _, next := s.l.Step(s.conn, []byte(plainGet), nil)
				if next != eventloop.More {
					s.scope.BeginTurn(at) // on a busy machine the feed may be late
				}
				return next == eventloop.More
			})
		}
	}
	want := func(n uint64, bucket int, inIt uint64, seconds float64) {
		t.Helper()
		got, st := durations(h)
		if got != n || bucket >= 0 && st.Buckets[bucket] != inIt || math.Abs(st.Seconds-seconds) > 1e-9 {
			t.Fatalf("%d durations, want %d with %d in bucket %d and %v s: %+v", got, n, inIt, bucket,
				seconds, st)
		}
	}
	s.scope.BeginTurn(at)
	hits(3)
	want(0, -1, 0, 0) // the wake-up has not ended
	at = at.Add(7 * time.Millisecond)
	s.scope.BeginTurn(at)
	want(3, 9, 3, 0.021)               // up to 10 ms
	at = at.Add(50 * time.Millisecond) // nothing was answered: it is nobody's time
	s.scope.BeginTurn(at)
	want(3, -1, 0, 0.021)
	hits(2)
	at = at.Add(20 * time.Microsecond)
	s.scope.BeginTurn(at)
	want(5, 1, 2, 0.02104) // up to 25 us

	// A rest ends the wake-up by a clock read of its own.
	s.scope.BeginTurn(time.Now())
	hits(1)
	s.scope.(eventloop.TurnEnder).EndTurn()
	n, rested := durations(h)
	if took := rested.Seconds - 0.02104; n != 6 || took <= 0 || took > 10 {
		t.Fatalf("%d durations after a rest, which took %v s", n, took)
	}
	s.scope.(eventloop.TurnEnder).EndTurn()
	s.scope.BeginTurn(time.Now().Add(time.Hour))
	want(6, -1, 0, rested.Seconds)
}

// Over a connection, too, every hit gets its duration, and without another
// request after it.
func TestLoop_EveryHitHasADuration(t *testing.T) {
	s := newLoopSite(t)
	const n = 50
	for range n {
		s.answers(plainGet, "GET")
	}
	eventually(t, "every request has a duration", func() bool {
		got, st := durations(s.h)
		return got == n && st.Codes[200] == n && st.Seconds > 0
	})
}
