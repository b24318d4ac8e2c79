package tier

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hotrow/hotrow/internal/arena"
)

func grows(int64) bool { return true }

// words returns n words with tags by chance.
func words(n int) map[uint64]bool {
	r := rand.New(rand.NewPCG(1, 2))
	all := make(map[uint64]bool, n)
	for len(all) < n {
		all[wordOf(arena.Ref(len(all)+1), r.Uint32())] = true
	}
	return all
}

func (x *index) insertAt(word uint64, grow func(int64) bool) (gone uint64) {
	s := x.stripe(uint32(word))
	s.mu.Lock()
	defer s.mu.Unlock()
	return x.insert(s, word, grow)
}

func newIndexOf(bytes int64) *index { return newIndex(make([]atomic.Uint64, wordsOfIndex(bytes))) }

// TestIndex_IsNearlyFull fills an index: however many entries there are, about seven in eight of
// its places have one. A stripe that may not grow takes more.
func TestIndex_IsNearlyFull(t *testing.T) {
	x, n := newIndexOf(16<<20), 0
	for w := range words(300_000) {
		if gone := x.insertAt(w, grows); gone != 0 {
			t.Fatalf("of %d entries one went", n)
		}
		if n++; n >= 10_000 && n%1000 == 0 {
			if full := 8 * float64(n) / float64(x.bytes.Load()); full < .84 || full > .89 {
				t.Errorf("%d entries fill %.3f of the places", n, full)
			}
		}
	}
	for n := uint32(2); n < 3000; n += 11 {
		x := newIndexOf(int64(n) * indexStripes * bucketBytes)
		s, r, held := &x.stripes[7], rand.New(rand.NewPCG(uint64(n), 2)), 0
		s.n.Store(n)
		for s.add(wordOf(1, r.Uint32()<<indexStripeBits|7)) {
			held++
		}
		if full := float64(held) / float64(n*places); full < .87 {
			t.Errorf("of %d buckets %.2f are full where one more has no place", n, full)
		}
	}
}

// TestIndex_HasWhatWasInserted inserts while tables grow, and takes away.
func TestIndex_HasWhatWasInserted(t *testing.T) {
	x, all := newIndexOf(4<<20), words(100_000)
	for w := range all {
		if gone := x.insertAt(w, grows); gone != 0 {
			t.Fatalf("%x went for another", gone)
		}
	}
	buckets := 0
	for i := range x.stripes {
		buckets += int(x.stripes[i].n.Load())
	}
	if got := int64(buckets) * bucketBytes; x.bytes.Load() != got {
		t.Errorf("%d bytes are counted, tables have %d", x.bytes.Load(), got)
	}
	if each := float64(x.bytes.Load()) / float64(len(all)); each > 9.6 {
		t.Errorf("an entry takes %.1f bytes of the index", each)
	}
	n := 0
	for w := range all {
		if !x.has(w) {
			t.Fatalf("%x is not there", w)
		}
		if n++; n%2 == 0 {
			if !x.take(w) || x.take(w) || x.has(w) {
				t.Fatalf("%x is not taken once", w)
			}
		}
	}
	used := 0
	for i := range x.stripes {
		used += x.stripes[i].used
	}
	if used != len(all)/2 {
		t.Errorf("%d are counted, %d are there", used, len(all)/2)
	}
}

// TestIndex_WithoutRoomOneGoes: a table that may not grow has as many as it can, and says which
// went.
func TestIndex_WithoutRoomOneGoes(t *testing.T) {
	x, held := newIndexOf(1<<20), make(map[uint64]bool)
	for w := range words(5000) {
		held[w] = true
		if gone := x.insertAt(w, func(int64) bool { return false }); gone != 0 {
			if !held[gone] || gone == w {
				t.Fatalf("%x went, which was not there", gone)
			}
			delete(held, gone)
		}
	}
	for w := range held {
		if !x.has(w) {
			t.Fatalf("%x is not there", w)
		}
	}
	if room := 2 * indexStripes * places; len(held) < room*3/4 || len(held) > room {
		t.Errorf("%d entries in %d places", len(held), room)
	}
}

// TestIndex_ReadersFindWhatStays: entries that move, or whose table grows, are found all the
// same, but for a look while they move; never is one found that was taken.
func TestIndex_ReadersFindWhatStays(t *testing.T) {
	x, stays := newIndexOf(8<<20), words(2000)
	for w := range stays {
		x.insertAt(w, grows)
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	looks, missed := make([]int, 2), make([]int, 2)
	for i := range looks {
		readers.Go(func() {
			for {
				for w := range stays {
					looks[i]++
					if !x.has(w) {
						missed[i]++
					}
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 200_000 {
		w := wordOf(arena.Ref(1_000_000+i), r.Uint32())
		x.insertAt(w, grows)
		if i%2 == 0 {
			x.take(w)
		}
	}
	close(stop)
	readers.Wait()
	for i := range looks {
		if missed[i] > looks[i]/100 {
			t.Errorf("of %d looks %d found nothing", looks[i], missed[i])
		}
	}
	for w := range stays {
		if !x.has(w) {
			t.Fatalf("%x is lost", w)
		}
	}
}
