package gofast

import "math"

// The opaques that a gofast peer may be sent.
const (
	FirstOpaque = 266
	LastOpaque  = 15309735

	// privateOpaques begin where no gofast peer is known to have its own.
	privateOpaques = 0xe00000
)

// A Range is the opaques that one end opens exchanges with: every Step-th from
// First up to Last.
type Range struct{ First, Last, Step uint64 }

// The ranges of our own. A server uses serverRange with every peer, a client
// begins with clientRange and uses shortRange, whose heads are two bytes
// shorter, with a peer that knows of it. None of the three overlaps another.
var (
	serverRange = Range{privateOpaques + 1, LastOpaque, 2}
	clientRange = Range{privateOpaques, LastOpaque - 1, 2}
	shortRange  = Range{FirstOpaque, math.MaxUint16, 1}
)

// Contains reports whether the opaque is one of the range.
func (r Range) Contains(opaque uint64) bool {
	return opaque >= r.First && opaque <= r.Last && (opaque-r.First)%max(r.Step, 1) == 0
}

// Overlaps reports whether the two ranges share an opaque.
func (r Range) Overlaps(o Range) bool {
	first, last := max(r.First, o.First), min(r.Last, o.Last)
	if first > last {
		return false
	}
	if r.Step != o.Step || r.Step <= 1 {
		return true // or nearly so: two ranges with different steps always meet
	}
	return r.First%r.Step == o.First%o.Step
}

// valid reports whether every opaque of the range may be sent to a gofast peer.
func (r Range) valid() bool {
	return r.First >= FirstOpaque && r.Last <= LastOpaque && r.First <= r.Last &&
		r.size() > 5 // the five that are left out may be all that there are
}

// size returns how many opaques the range has, or a few less.
func (r Range) size() uint64 { return (r.Last-r.First)/max(r.Step, 1) + 1 }

// forbidden reports whether gofast leaves an opaque out, since it is the number
// of a tag that means something.
func forbidden(opaque uint64) bool {
	switch opaque {
	case 1001, 1002, 1003, 22098, 55799:
		return true
	}
	return false
}

// after returns the opaque that follows, beginning anew at the end, and leaving
// out those that gofast does.
func (r Range) after(opaque uint64) uint64 {
	for {
		opaque += max(r.Step, 1)
		if opaque > r.Last {
			opaque = r.First
		}
		if !forbidden(opaque) {
			return opaque
		}
	}
}
