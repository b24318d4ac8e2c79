package httpfront

import (
	"sync/atomic"
	"time"
)

// A lap is how the answers of one wake-up of a loop get their duration.
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
type lap struct {
	began   time.Time
	touched []*laneResource // with hits that have no duration yet
}

// timed are the hits of one resource on one loop by their duration. The loop is
// the one writer of all.
type timed struct {
	untimed uint64 // hits of this wake-up; nobody else looks
	buckets [len(Buckets) + 1]atomic.Uint64
	nanos   atomic.Uint64
}

// touch notes a hit of r.
func (s *scope) touch(r *laneResource) {
	if r.untimed == 0 {
		s.touched = append(s.touched, r)
	}
	r.untimed++
}

// begin begins a wake-up at now, which ends the one before if it did not rest.
func (s *scope) begin(now time.Time) {
	s.settle(now.Sub(s.began))
	s.began = now
	s.openLog(s.live.Access)
}

// Rest ends a wake-up after which the loop sleeps or lets others run. It is
// lane.Rester.
func (s *scope) Rest() {
	if len(s.touched) > 0 || s.pendingLog() {
		s.settle(time.Since(s.began))
	}
}

// pendingLog reports whether there are lines that wait for their duration.
func (s *scope) pendingLog() bool { return s.ring != nil && s.ring.Pending() }

// settle gives what the wake-up has answered its duration.
func (s *scope) settle(took time.Duration) {
	for _, r := range s.touched {
		r.observe(took)
	}
	s.touched = s.touched[:0]
	if s.ring != nil {
		s.ring.Publish(took)
	}
}

// observe gives the hits of a wake-up their duration. A store is enough where
// there is one writer.
func (t *timed) observe(took time.Duration) {
	took = max(took, 0)
	b := &t.buckets[bucketOf(took)]
	b.Store(b.Load() + t.untimed)
	t.nanos.Store(t.nanos.Load() + t.untimed*uint64(took))
	t.untimed = 0
}

// addTo adds the durations to what Stats returns.
func (t *timed) addTo(s *ResourceStats) {
	for i := range t.buckets {
		s.Buckets[i] += t.buckets[i].Load()
	}
	s.Seconds += float64(t.nanos.Load()) / 1e9
}
