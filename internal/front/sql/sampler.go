package sqlfront

import (
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// A sampler chooses the statements for which memory is looked into: all of them, or a part where
// there are more than front.SQLLooks a second for longer. So looking takes little of the processor.
// A statement with its values is chosen always or never while the part stays, as what is looked for
// has to have been looked for before. A smaller part is within a larger one.
type sampler struct {
	all   bool   // choose all: of a test, or since they are answered
	every uint64 // of so many hits the server is asked for one
	hits  atomic.Uint64

	halvings atomic.Uint32 // 1 of 2^n is chosen
	asked    atomic.Int64  // since from
	from     atomic.Int64  // in Unix nanoseconds
	credit   int64         // looks that were saved up; who has set from last has it
}

func newSampler(all bool, every int) *sampler {
	return &sampler{all: all, every: uint64(max(every, 1)), credit: front.SQLLooksKept}
}

// audits reports whether the server is asked for a hit.
func (s *sampler) audits() bool { return s.hits.Add(1)%s.every == 0 }

// takes reports whether a statement is chosen whose hash it is given, and for how many it stands.
func (s *sampler) takes(hash uint64, now time.Time) (chosen bool, of int) {
	if s.all {
		return true, 1
	}
	n := s.asked.Add(1)
	began := s.from.Load()
	passed := now.UnixNano() - began
	if passed >= int64(time.Second) && s.from.CompareAndSwap(began, now.UnixNano()) {
		s.asked.Add(-n)
		s.set(n, time.Duration(min(passed, int64(time.Hour))).Seconds())
	}
	halvings := s.halvings.Load()
	return hash>>(64-halvings) == 0, 1 << halvings
}

// set sets the part, after so many statements in so many seconds. A rate that goes to and fro
// around a bound leaves it.
func (s *sampler) set(statements int64, seconds float64) {
	n := s.halvings.Load()
	saved := int64(front.SQLLooks*seconds) - statements>>n
	s.credit = min(max(s.credit+saved, 0), front.SQLLooksKept)
	if n == 0 && s.credit > 0 {
		return
	}
	rate := float64(statements) / seconds
	for rate > front.SQLLooks*float64(uint64(1)<<n) {
		n++
	}
	for n > 0 && rate < front.SQLLooks/3.0*float64(uint64(1)<<n) {
		n--
	}
	s.halvings.Store(n)
}
