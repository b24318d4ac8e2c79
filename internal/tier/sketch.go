package tier

import (
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// A sketch estimates how often keys were asked for lately, those that are held and those that
// are not: a count-min sketch of four counters of four bits a key, all of them in one cache
// line, of which a part is halved now and then (TinyLFU: Einziger, Friedman, Manes 2017). A
// counter that is changed by two at once may lose one of them.
type sketch struct {
	table atomic.Pointer[sketchTable]
	grow  sync.Mutex // guards the making of a larger table
}

type sketchTable struct {
	blocks []sketchBlock // a power of two
	mask   uint32
	hand   atomic.Uint32 // the block that is halved next
}

type sketchBlock [8]atomic.Uint64

const (
	keysOfBlock = 16 // so that each key has eight counters

	// mostKeysOfBlock is when the sketch grows: not when tables of the index do, which are as
	// many words as a power of two, too, so that both are never half empty at one time.
	mostKeysOfBlock = 20

	// Of so many notes one halves a block: after ten notes for each key all are halved once.
	notesOfHalving = 10 * keysOfBlock

	fifteens = 0x1111111111111111 // times a nibble: that in each
)

func newSketch() *sketch {
	s := new(sketch)
	s.table.Store(newSketchTable(1 << 6))
	return s
}

func newSketchTable(n int) *sketchTable {
	return &sketchTable{blocks: make([]sketchBlock, n), mask: uint32(n - 1)}
}

// bytes returns what the sketch takes.
func (s *sketch) bytes() int64 { return int64(len(s.table.Load().blocks)) * 64 }

// spread returns the block of a tag, and bits that pick its counters.
func (t *sketchTable) spread(tag uint32) (*sketchBlock, uint64) {
	h := (uint64(tag) + 1) * 0x9e3779b97f4a7c15
	return &t.blocks[uint32(h>>40)&t.mask], h
}

// counter returns the word and the shift of the ith of four counters: each has two words of
// the block to itself.
func counter(b *sketchBlock, h uint64, i int) (*atomic.Uint64, uint) {
	h >>= 5 * uint(i)
	return &b[2*i+int(h&1)], uint(h>>1&15) * 4
}

// note notes that a key was asked for.
func (s *sketch) note(tag uint32) {
	t := s.table.Load()
	b, h := t.spread(tag)
	if least := b.least(h); least < 15 {
		for i := range 4 {
			w, shift := counter(b, h, i)
			if v := w.Load(); v>>shift&15 == least { // the others count other keys
				w.Store(v + 1<<shift)
			}
		}
	}
	if rand.Uint32N(notesOfHalving) == 0 {
		t.halve(t.hand.Add(1) & t.mask)
	}
}

func (t *sketchTable) halve(block uint32) {
	b := &t.blocks[block]
	for i := range b {
		b[i].Store(b[i].Load() >> 1 & (7 * fifteens))
	}
}

// estimate returns how often a key was asked for, 15 at most.
func (s *sketch) estimate(tag uint32) int {
	b, h := s.table.Load().spread(tag)
	return int(b.least(h))
}

// least returns the least of the counters that h picks.
func (b *sketchBlock) least(h uint64) uint64 {
	n := uint64(15)
	for i := range 4 {
		w, shift := counter(b, h, i)
		n = min(n, w.Load()>>shift&15)
	}
	return n
}

// fit makes the sketch large enough for so many keys. What it knows it keeps: a key's block
// becomes two blocks, of which each begins with all of it.
func (s *sketch) fit(keys int) {
	if len(s.table.Load().blocks)*mostKeysOfBlock >= keys {
		return
	}
	s.grow.Lock()
	defer s.grow.Unlock()
	t := s.table.Load()
	n := 1 << bits.Len(uint((keys-1)/mostKeysOfBlock))
	if n <= len(t.blocks) {
		return
	}
	next := newSketchTable(n)
	for i := range next.blocks {
		for j := range next.blocks[i] {
			next.blocks[i][j].Store(t.blocks[uint32(i)&t.mask][j].Load())
		}
	}
	s.table.Store(next)
}
