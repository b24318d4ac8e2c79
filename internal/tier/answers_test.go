package tier_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tier/tiertest"
)

// A said is what is attached to an answer.
type said struct {
	bytes   int
	evicted *atomic.Int64
}

func (s said) Size() int { return s.bytes }

func (s said) Evicted() { s.evicted.Add(1) }

func answer(number uint32, i int) tier.Ref {
	return tier.Ref{Resource: number, Key: row.Key(fmt.Sprintf("%016d", i))}
}

// Whoever keeps answers that are no rows has them under numbers of its own, beside the rest and
// within the same bound. What is attached to them counts, and is told when they are evicted.
func TestMemory_KeepsAnswersOfAnyKind(t *testing.T) {
	const bound, n = 1 << 20, 5000
	m := openMemory(t, bound)
	var evicted atomic.Int64
	for i := range n {
		ref := answer(7, i)
		d := tiertest.DocumentOf(ref, 300, 1)
		d.Attach(said{150, &evicted})
		m.Put(ref, d)
		put(m, fmt.Sprint(i), 300, 1)
	}
	st := m.Stats()
	if st.HeldBytes > bound || uint64(evicted.Load()) > st.Evictions || evicted.Load() == 0 {
		t.Errorf("%+v, %d attachments know that they are evicted", st, evicted.Load())
	}
	of := make(map[uint32]tier.Share)
	for _, s := range m.Shares() {
		of[s.Resource] = s
	}
	kept := of[7]
	if kept.Entries+uint64(evicted.Load()) > n || kept.Entries == 0 ||
		kept.Bytes < kept.Entries*450 {
		t.Errorf("%d evicted, %+v are left", evicted.Load(), kept)
	}
	before := evicted.Load()
	m.DropAll(6, 7)
	if held := m.Shares(); len(held) != 1 || held[0] != of[1] {
		t.Errorf("left are %+v, before %+v", held, of)
	}
	if got := evicted.Load(); got != before {
		t.Errorf("%d were told of an eviction when all were dropped", got-before)
	}
	for _, wrong := range m.Check() {
		t.Error(wrong)
	}
}

// What is attached takes a part of the bound at most: it is on Go's heap.
func TestMemory_BoundsWhatIsAttached(t *testing.T) {
	const bound = 1 << 20
	m := openMemory(t, bound)
	var evicted atomic.Int64
	for i := range 2000 {
		d := tiertest.DocumentOf(answer(7, i), 20, 1)
		d.Attach(said{1000, &evicted})
		m.Put(answer(7, i), d)
	}
	if n := m.Shares()[0].Entries; n > bound/4/1000+1 || n < bound/8/1000 {
		t.Errorf("%d are kept", n)
	}
}

// Who keeps only what is asked for again is told whether it was.
func TestMemory_KnowsWhatWasAskedFor(t *testing.T) {
	m := openMemory(t, 1<<20)
	if m.Asked(answer(7, 1)) {
		t.Error("it was asked for before anybody did")
	}
	if !m.Asked(answer(7, 1)) {
		t.Error("it was asked for, and that is forgotten")
	}
}

// A Peek finds what Get does, and counts for nothing.
func TestReader_Peeks(t *testing.T) {
	m := openMemory(t, 1<<20)
	put(m, "7", 100, 1)
	var r tier.Reader
	seven, eight := ref("7"), ref("8")
	if d := r.Peek(m, &seven); d == nil || r.Peek(m, &eight) != nil {
		t.Errorf("found %v", d)
	}
	r.End()
	if st := m.Stats(); st.Hits+st.Misses != 0 {
		t.Errorf("%+v", st)
	}
}
