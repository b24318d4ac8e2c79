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
	credit   atomic.Int64  // looks until the part is halved
	looks    atomic.Int64  // since from
	from     atomic.Int64  // in Unix nanoseconds
}

func newSampler(all bool, every int) *sampler {
	s := &sampler{all: all, every: uint64(max(every, 1))}
	s.credit.Store(front.SQLLooksKept)
	return s
}

// audits reports whether the server is asked for a hit.
func (s *sampler) audits() bool { return s.hits.Add(1)%s.every == 0 }

// takes reports whether a statement is chosen whose hash it is given, and for how many it stands.
func (s *sampler) takes(hash uint64, now time.Time) (chosen bool, of int) {
	if s.all {
		return true, 1
	}
	began := s.from.Load()
	passed := now.UnixNano() - began
	if passed >= int64(time.Second) && s.from.CompareAndSwap(began, now.UnixNano()) {
		s.widen(min(passed/int64(time.Second), 3600))
	}
	n := s.halvings.Load()
	if hash>>(64-n) != 0 {
		return false, 1 << n
	}
	s.looks.Add(1)
	if s.credit.Add(-1) <= 0 && n < 63 && s.halvings.CompareAndSwap(n, n+1) {
		s.credit.Store(front.SQLLooks)
	}
	return true, 1 << n
}

// widen doubles the part for each second in which few were chosen. It leaves as many looks over as
// a while has, or for a part two seconds: a rate that goes to and fro around a bound leaves it.
func (s *sampler) widen(seconds int64) {
	few := s.looks.Swap(0) < front.SQLLooks/3*seconds
	n := s.halvings.Load()
	if few {
		n -= uint32(min(seconds, int64(n)))
		s.halvings.Store(n)
	}
	kept := int64(2 * front.SQLLooks)
	if n == 0 {
		kept = front.SQLLooksKept
	}
	s.credit.Store(min(s.credit.Load()+front.SQLLooks*seconds, kept))
}
