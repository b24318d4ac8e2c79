package httpfront

import (
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// A batchTiming is how the answers of one wake-up of a loop get their duration.
//
// A loop reads the clock once per wake-up, not for each request. So every hit of
// a wake-up counts as long as the whole of it took: from the clock read before
// its first request was looked at to the one after its last answer was given to
// the socket. That is never less than what the hit itself took, and grows with
// the number of requests that were answered together. What a request has waited
// in the socket before the wake-up is not in it.
//
// The second clock read is that of the next wake-up where this follows at once,
// as under load; else the loop reads the clock once more before it sleeps or
// lets others run, so that their time is not counted.
type batchTiming struct {
	began   time.Time
	touched []*loopResource // with hits that have no duration yet
}

// timed are the hits of one resource on one loop by their duration.
type timed struct {
	untimed uint64 // hits of this wake-up; nobody else looks
	took    front.Durations
}

// touch notes a hit of r.
func (s *loop) touch(r *loopResource) {
	if r.untimed == 0 {
		s.touched = append(s.touched, r)
	}
	r.untimed++
}

// begin begins a wake-up at now, which ends the one before if it did not rest.
func (s *loop) begin(now time.Time) {
	s.settle(now.Sub(s.began))
	s.began = now
	s.access.Open(s.live.Access)
}

// Rest ends a wake-up after which the loop sleeps or lets others run. It is
// eventloop.Rester.
func (s *loop) Rest() {
	if len(s.touched) > 0 || s.access.Pending() {
		s.settle(time.Since(s.began))
	}
}

// settle gives what the wake-up has answered its duration.
func (s *loop) settle(took time.Duration) {
	for _, r := range s.touched {
		r.took.Add(took, r.untimed)
		r.untimed = 0
	}
	s.touched = s.touched[:0]
	s.access.Publish(took)
}
