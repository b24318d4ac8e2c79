package tiertest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

// A versioned key is written by those who hold its lock, as package fresh
// orders Put and Drop of one key; readers take no lock.
type versioned struct {
	ref tier.Ref

	mu      sync.Mutex // orders Put and Drop of the key
	version uint64     // put last

	// dropped is the newest version that a Drop which has returned has removed.
	dropped atomic.Uint64
}

// put puts the next version: mostly a row, at times an absence.
func (k *versioned) put(tr tier.Tier, bytes int, absent bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.version++
	if absent {
		tr.Put(k.ref, Absence(k.version))
		return
	}
	if k.version%4 == 0 { // one that does not say what it is
		tr.Put(k.ref, Document(bytes, k.version))
		return
	}
	put(tr, k.ref, bytes, k.version)
}

func (k *versioned) drop(tr tier.Tier) {
	k.mu.Lock()
	defer k.mu.Unlock()
	tr.Drop(k.ref)
	k.dropped.Store(k.version)
}

// get reads the key and reports a copy that was dropped before the read began,
// or one older than the reader has seen.
func (k *versioned) get(tr tier.Tier, seen *uint64) error {
	floor := k.dropped.Load()
	d, ok := tr.Get(k.ref)
	if !ok {
		return nil
	}
	got := d.Stamp().Generation
	if got <= floor {
		return fmt.Errorf("key %s: version %d, dropped up to %d", k.ref.Key, got, floor)
	}
	if got < *seen {
		return fmt.Errorf("key %s: version %d after version %d", k.ref.Key, got, *seen)
	}
	*seen = got
	return nil
}

func testDropIsFinal(t *testing.T, tr tier.Tier) { stress(t, tr, 16, 100) }

// testDropIsFinalUnderEviction does the same with twice as many bytes as the
// tier may hold.
func testDropIsFinalUnderEviction(t *testing.T, tr tier.Tier) {
	keys := min(2*int(tr.Stats().MaxBytes)/(4*bodySize), 4096)
	stress(t, tr, keys, 4*bodySize)
}

// stress runs writers and readers over keys whose documents have up to bytes
// bytes.
func stress(t *testing.T, tr tier.Tier, keys, bytes int) {
	const writers, readers, steps = 4, 4, 10_000
	all := make([]*versioned, keys)
	for i := range all {
		all[i] = &versioned{ref: tier.Ref{Resource: 1, Key: row.Key(strconv.Itoa(i))}}
	}
	var work sync.WaitGroup
	for w := range writers {
		work.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(w)))
			for range steps {
				k := all[r.IntN(keys)]
				if r.IntN(3) == 0 {
					k.drop(tr)
				} else {
					k.put(tr, r.IntN(bytes), r.IntN(4) == 0)
				}
			}
		})
	}
	for w := range readers {
		work.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(w)))
			seen := make([]uint64, keys)
			for range 2 * steps {
				i := r.IntN(keys)
				if err := all[i].get(tr, &seen[i]); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	work.Wait()

	for _, k := range all {
		k.drop(tr)
		wantGone(t, tr, k.ref)
	}
	if s := tr.Stats(); s.Entries != 0 || s.Bytes != 0 {
		t.Errorf("Stats after every key was dropped = %+v", s)
	}
}
