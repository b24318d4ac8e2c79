package linksfront

import (
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/front"
)

// Stats are counts since the start, of all roads.
type Stats struct {
	Redirected uint64 // answers with a link's target
	Gone       uint64 // expired, or no redirects left
	Missed     uint64 // no link
	Limited    uint64 // no link, and too many such questions of one client
	Other      uint64 // methods that a link does not take
	Failed     uint64 // neither memory nor the database could say

	Recorded uint64 // hits and orphans in the log
	Dropped  uint64 // not recorded, for the log was full
	Refused  uint64 // answered with 503, for the log was full

	front.Histogram // answers by their duration
}

// Stats returns a snapshot.
func (f *Front) Stats() Stats {
	var s Stats
	s.add(&f.shared, &f.took)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, loop := range f.scopes {
		s.add(&loop.counts, &loop.answered.Durations)
	}
	return s
}

// add adds what one road has counted.
func (s *Stats) add(c *counts, took *front.Durations) {
	for _, one := range []struct {
		to   *uint64
		from *atomic.Uint64
	}{
		{&s.Redirected, &c.redirected}, {&s.Gone, &c.gone}, {&s.Missed, &c.missed},
		{&s.Limited, &c.limited}, {&s.Other, &c.other}, {&s.Failed, &c.failed},
		{&s.Recorded, &c.recorded}, {&s.Dropped, &c.dropped}, {&s.Refused, &c.refused},
	} {
		*one.to += one.from.Load()
	}
	took.AddTo(&s.Histogram)
}
