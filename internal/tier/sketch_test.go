package tier

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
)

func newSketchOf(bytes int64) *sketch {
	return newSketch(make([]atomic.Uint64, wordsOfSketch(bytes)))
}

// TestSketch_TellsOftenFromSeldom: among many keys that are asked for once, those that are
// asked for often stand out, and no estimate is too low while nothing is halved.
func TestSketch_TellsOftenFromSeldom(t *testing.T) {
	s := newSketchOf(1 << 20)
	s.fit(10_000)
	r := rand.New(rand.NewPCG(1, 2))
	often := make([]uint32, 100)
	for i := range often {
		often[i] = r.Uint32()
	}
	for i := range 20_000 {
		s.note(r.Uint32())
		if i%20 == 0 {
			s.note(often[i/20%len(often)])
		}
	}
	least, most := 15.0, 0.0
	for _, tag := range often {
		least = min(least, float64(s.estimate(tag)))
	}
	for range 1000 {
		most += float64(s.estimate(r.Uint32())) / 1000
	}
	if least < 4 || most > 3 {
		t.Errorf("keys that are noted ten times are estimated as %v at least, others as %.1f", least, most)
	}
}

// TestSketch_GrowsWithWhatItKnows: a larger sketch begins with the estimates of the smaller.
func TestSketch_GrowsWithWhatItKnows(t *testing.T) {
	s := newSketchOf(1 << 20)
	before := make(map[uint32]int)
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		tag := r.Uint32()
		s.note(tag)
		s.note(tag)
		before[tag] = 0
	}
	for tag := range before {
		before[tag] = s.estimate(tag)
	}
	bytes := s.bytes()
	s.fit(100_000)
	if s.bytes() <= bytes {
		t.Error("it has not grown")
	}
	for tag, n := range before {
		if got := s.estimate(tag); got != n {
			t.Fatalf("%x was estimated as %d, and is as %d", tag, n, got)
		}
	}
}

// TestSketch_Forgets: what is not asked for any more is less wanted after many other reads.
func TestSketch_Forgets(t *testing.T) {
	s := newSketchOf(1 << 20)
	for range 15 {
		s.note(7)
	}
	if s.estimate(7) < 10 {
		t.Fatalf("%d", s.estimate(7))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; s.estimate(7) > 4; i++ {
		if i > 1_000_000 {
			t.Fatal("it never forgets")
		}
		s.note(r.Uint32N(100) + 100)
	}
}
