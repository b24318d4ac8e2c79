// Package hotkeys finds the keys that are read and changed most, while somebody looks.
//
// A reader tells of about one read in 64, and of each read where there are few: see Sampler.
// It leaves a sample in a ring that all readers share, without a lock and without memory of
// its own; who looks takes the samples out and counts them in a sketch of fixed size (see
// sketch). While nobody looks there is no ring, and nothing is counted.
package hotkeys

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Every is of how many reads one is told of, on average.
	Every = 64

	// calm is after how long without a sample the next read is one: where there are few
	// reads each is told of, and a person who tries it sees his own.
	calm = 4 * time.Millisecond

	// halfLife is after how long what was counted weighs half: hot is what is hot now.
	halfLife = 10 * time.Second
)

// Keys counts reads and changes by key. At the zero Keys nobody looks yet.
type Keys struct {
	ring atomic.Pointer[ring] // nil: nobody looks

	mu     sync.Mutex // guards what follows; no reader takes it
	counts sketch
	before time.Time // when the samples were taken out last
	span   float64   // seconds that the counts are of, decayed as they are
}

// A Key is what is said of one.
type Key struct {
	Resource, Key  string
	Reads, Changes float64 // a second, lately
}

// A Report is what Look returns.
type Report struct {
	Read    []Key // those that are read most, the first most
	Changed []Key // those that change more often than they are read, the first most
}

// Look returns up to n keys of each kind, as of now. The first look begins to count, so
// that it has nothing to tell; looks should be a second apart. Call Rest in the end.
func (k *Keys) Look(n int, now time.Time) Report {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.ring.Load()
	if r == nil {
		k.counts, k.span, k.before = newSketch(), 0, now
		k.ring.Store(new(ring))
		return Report{}
	}
	passed := max(now.Sub(k.before), 0)
	k.before = now
	k.span = k.counts.decay(passed, halfLife, k.span) + passed.Seconds()
	r.take(func(s *sample, scale float64) {
		k.counts.add(id{s.resource, string(s.key[:s.length])}, s.kind, float64(s.weight)*scale)
	})
	return k.counts.report(n, k.span)
}

// Rest ends the counting until somebody looks again.
func (k *Keys) Rest() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ring.Store(nil)
	k.counts = sketch{}
}

// Read tells of one read that no Sampler counts. key may alias a buffer.
func (k *Keys) Read(resource, key string) { k.count(read, 1, resource, key) }

// Changed tells of a change of a key. key may alias a buffer.
func (k *Keys) Changed(resource, key string) { k.count(change, 1, resource, key) }

func (k *Keys) count(what kind, weight uint32, resource, key string) bool {
	r := k.ring.Load()
	if r != nil {
		r.put(what, weight, resource, key)
	}
	return r != nil
}

// A Sampler picks the reads of one goroutine that are told of. The zero Sampler is ready.
type Sampler struct {
	left, gap int32 // reads until the next that is picked; from the one before to it
	seed      uint32
	of        *Keys // that was told of last
	last      time.Time
}

// Due counts a read, and reports whether it is to be told of by Sample.
func (s *Sampler) Due() bool {
	s.left--
	return s.left <= 0
}

// Sample tells k of a read that was Due, which stands for all since the one before. It
// allocates nothing. key may alias a buffer.
func (s *Sampler) Sample(k *Keys, resource, key string, now time.Time) {
	weight := uint32(max(s.gap-s.left, 1))
	s.gap, s.of = Every, k
	if k.count(read, weight, resource, key) {
		// Between 1 and twice Every, so that no pattern of requests keeps step with it.
		s.seed = s.seed*1664525 + 1013904223
		s.gap, s.last = int32(1+s.seed>>16%(2*Every-1)), now
	}
	s.left = s.gap
}

// Wake has the next read told of if none was for some time. A loop calls it when it wakes
// up, at now.
func (s *Sampler) Wake(now time.Time) {
	if s.of == nil || s.left <= 1 || s.of.ring.Load() == nil || now.Sub(s.last) < calm {
		return
	}
	s.gap -= s.left - 1
	s.left = 1
}
