package hotkeys

import "sync/atomic"

const (
	slots = 2048 // of a ring
	// maxKey is the longest key that is counted, in bytes. Nearly all are much shorter.
	maxKey = 96
)

// kind is what a sample is of.
type kind uint8

const (
	read kind = iota
	change
)

// A ring is where readers leave samples for who looks. Any goroutine puts; one at a time
// takes. A put never waits: where the slot of its turn has not been taken out yet the sample
// is lost, and the others count for it.
type ring struct {
	next  atomic.Uint64 // whose turn it is
	lost  atomic.Uint64 // samples since some were taken out last
	slots [slots]sample
}

// The states of a slot. Who moves one from empty to writing owns it until it is full.
const (
	empty uint32 = iota
	writing
	full
)

type sample struct {
	state    atomic.Uint32
	weight   uint32
	kind     kind
	length   uint8
	resource string
	key      [maxKey]byte
}

func (r *ring) put(what kind, weight uint32, resource, key string) {
	if len(key) > maxKey {
		return
	}
	s := &r.slots[r.next.Add(1)%slots]
	if !s.state.CompareAndSwap(empty, writing) {
		r.lost.Add(1)
		return
	}
	s.weight, s.kind, s.resource, s.length = weight, what, resource, uint8(len(key))
	copy(s.key[:], key)
	s.state.Store(full)
}

// take gives each sample that has been put to f, with how many it stands for because others
// were lost. The sample is good until f returns.
func (r *ring) take(f func(s *sample, scale float64)) {
	there := make([]*sample, 0, slots) // what comes from now on is for the next time
	for i := range r.slots {
		if s := &r.slots[i]; s.state.Load() == full {
			there = append(there, s)
		}
	}
	if len(there) == 0 {
		return
	}
	scale := 1 + float64(r.lost.Swap(0))/float64(len(there))
	for _, s := range there {
		f(s, scale)
		s.state.Store(empty)
	}
}
