package tier

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// A sketch estimates how often keys were asked for lately, those that are held and those that
// are not: a count-min sketch of four counters of four bits a key, all of them in one cache
// line, of which a part is halved now and then (TinyLFU: Einziger, Friedman, Manes 2017). A
// counter that is changed by two at once may lose one of them.
type sketch struct {
	words []atomic.Uint64 // of all blocks that there may be
	n     atomic.Uint32   // blocks in use, a power of two
	hand  atomic.Uint32   // the block that is halved next
	grow  sync.Mutex      // orders changes of n
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

const (
	fewestBlocks = 1 << 6
	blockBytes   = 64
)

// newSketch returns an empty sketch in words, which are zero: as many as it may have.
func newSketch(words []atomic.Uint64) *sketch {
	s := &sketch{words: words}
	s.n.Store(fewestBlocks)
	return s
}

// wordsOfSketch returns how many words a sketch of so many bytes at most is made of.
func wordsOfSketch(bytes int64) int {
	n := fewestBlocks
	for int64(2*n)*blockBytes <= bytes {
		n *= 2
	}
	return n * len(sketchBlock{})
}

// bytes returns what the sketch takes.
func (s *sketch) bytes() int64 { return int64(s.n.Load()) * blockBytes }

func (s *sketch) block(i uint32) *sketchBlock {
	return (*sketchBlock)(s.words[int(i)*len(sketchBlock{}):])
}

// spread returns the block of a tag, and bits that pick its counters.
func (s *sketch) spread(tag uint32) (*sketchBlock, uint64) {
	h := (uint64(tag) + 1) * 0x9e3779b97f4a7c15
	return s.block(uint32(h>>40) & (s.n.Load() - 1)), h
}

// counter returns the word and the shift of the ith of four counters: each has two words of
// the block to itself.
func counter(b *sketchBlock, h uint64, i int) (*atomic.Uint64, uint) {
	h >>= 5 * uint(i)
	return &b[2*i+int(h&1)], uint(h>>1&15) * 4
}

// note notes that a key was asked for.
func (s *sketch) note(tag uint32) {
	b, h := s.spread(tag)
	if least := b.least(h); least < 15 {
		for i := range 4 {
			w, shift := counter(b, h, i)
			if v := w.Load(); v>>shift&15 == least { // the others count other keys
				w.Store(v + 1<<shift)
			}
		}
	}
	if rand.Uint32N(notesOfHalving) == 0 {
		s.block(s.hand.Add(1) & (s.n.Load() - 1)).halve()
	}
}

func (b *sketchBlock) halve() {
	for i := range b {
		b[i].Store(b[i].Load() >> 1 & (7 * fifteens))
	}
}

// estimate returns how often a key was asked for, 15 at most.
func (s *sketch) estimate(tag uint32) int {
	b, h := s.spread(tag)
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

// fit makes the sketch large enough for so many keys, where it may be. What it knows it keeps: a
// key's block becomes two blocks, of which each begins with all of it.
func (s *sketch) fit(keys int) {
	if int(s.n.Load())*mostKeysOfBlock >= keys {
		return
	}
	s.grow.Lock()
	defer s.grow.Unlock()
	room := uint32(len(s.words) / len(sketchBlock{}))
	for n := s.n.Load(); int(n)*mostKeysOfBlock < keys && 2*n <= room; n *= 2 {
		for i := range n {
			from, to := s.block(i), s.block(n+i)
			for j := range from {
				to[j].Store(from[j].Load())
			}
		}
		s.n.Store(2 * n)
	}
}
