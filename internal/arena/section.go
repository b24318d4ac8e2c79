package arena

import (
	"math/rand/v2"
	"sync/atomic"
)

// readerStripes is how many places readers count themselves in, so that they do not share
// cache lines.
const readerStripes = 64

// A readerStripe counts readers on either side. It fills two cache lines, because processors
// fetch them in pairs.
type readerStripe struct {
	in [2]atomic.Int64
	_  [112]byte
}

// A Section is the time in which a reader uses what it finds. Its Views, and the Refs that
// were looked up within it, end with it: what has to live longer is copied before. Whoever
// has entered it leaves it, once. It should not last: what was freed waits for it.
//
// There are two sides. Readers count themselves on the present one, and what is freed goes
// to its limbo. Once nobody reads on the other side, its limbo is released and it becomes the
// present one. So an entry waits until each side has been seen without readers after it was
// unpublished, and who counts itself later cannot find it. (This is epoch based reclamation
// of which only the parity is kept, as in the kernel's SRCU. TestSection_Explored.)
type Section struct {
	a  *Arena
	in *atomic.Int64
}

// Enter begins a Section.
func (a *Arena) Enter() Section { return a.EnterAt(rand.Uint32()) }

// EnterAt is Enter for one who reads all the time, such as an event loop, with a number of
// its own: it counts where no other does. It enters anew at each of its turns.
func (a *Arena) EnterAt(number uint32) Section {
	in := &a.readers[number%readerStripes].in[a.side.Load()]
	in.Add(1)
	return Section{a, in}
}

// Leave ends the Section.
func (s Section) Leave() { s.in.Add(-1) }

// lookEvery is of how many entries freed it is tried to release some: it means looking at all
// stripes.
const lookEvery = 64

// A limbo is what was freed on one side.
type limbo struct {
	dead  []dead
	bytes uint64 // of their slots
}

// A dead entry is one that readers may still use.
type dead struct {
	ref Ref
	n   uint32 // bytes of the entry
}

// bury puts an entry of n bytes into limbo. It has been unpublished before.
func (a *Arena) bury(ref Ref, n int) {
	l := &a.limbo[a.side.Load()]
	l.dead = append(l.dead, dead{ref, uint32(n)})
	size := uint64(a.SlotBytes(n))
	l.bytes += size
	a.count.LimboBytes += size
	if a.unlooked++; a.unlooked >= lookEvery {
		a.reclaim()
	}
}

// reclaim changes sides, if the readers on the other have left, and releases what is in its
// limbo. It reports whether it did.
func (a *Arena) reclaim() bool {
	a.unlooked = 0
	other := 1 - a.side.Load()
	for i := range a.readers {
		if a.readers[i].in[other].Load() != 0 {
			return false
		}
	}
	a.side.Store(other)
	l := &a.limbo[other]
	for _, d := range l.dead {
		slot := a.mem[a.at(d.ref):][:a.SlotBytes(int(d.n))]
		head(slot).Store(0)
		a.guard.freed(slot)
	}
	for _, d := range a.guard.hold(a, l.dead) {
		a.release(d.ref, int(d.n))
	}
	a.count.LimboBytes -= l.bytes
	l.dead, l.bytes = l.dead[:0], 0
	return true
}
