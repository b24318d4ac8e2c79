package sqlfront

import (
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// A sampler chooses the statements for which memory is looked into: all of them, or a part where
// there are more than front.SQLLooks a second. So looking takes little of the processor. A
// statement with its values is chosen always or never while the part stays, as what is looked for
// has to have been looked for before. A smaller part is within a larger one.
type sampler struct {
	all bool // choose all: of a test

	halvings atomic.Uint32 // 1 of 2^n is chosen
	asked    atomic.Int64  // since from
	from     atomic.Int64  // in Unix nanoseconds
}

// takes reports whether a statement is chosen whose hash it is given, and for how many it stands.
func (s *sampler) takes(hash uint64, now time.Time) (chosen bool, of int) {
	if s.all {
		return true, 1
	}
	n := s.asked.Add(1)
	began := s.from.Load()
	if passed := now.UnixNano() - began; passed >= int64(time.Second) &&
		s.from.CompareAndSwap(began, now.UnixNano()) {
		s.asked.Add(-n)
		s.set(float64(n) * float64(time.Second) / float64(passed))
	}
	halvings := s.halvings.Load()
	return hash>>(64-halvings) == 0, 1 << halvings
}

// set sets the part for a number of statements a second. One that goes to and fro around a bound
// leaves it.
func (s *sampler) set(rate float64) {
	n := s.halvings.Load()
	for rate > front.SQLLooks*float64(uint64(1)<<n) {
		n++
	}
	for n > 0 && rate < front.SQLLooks/3.0*float64(uint64(1)<<n) {
		n--
	}
	s.halvings.Store(n)
}
