package tiertest

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

// bodySize is the size of the documents that fill a tier up: small enough for
// the smallest bound of Run to hold hundreds.
const bodySize = 1600

// fills returns how many documents of n bytes are three times the bound.
func fills(tr tier.Tier, n int) int { return 3 * int(tr.Stats().MaxBytes) / n }

// wantBound fails when the tier holds more than its bound and one document for
// each of the puts that may be under way.
func wantBound(t *testing.T, tr tier.Tier, underWay int) {
	t.Helper()
	s := tr.Stats()
	if s.Bytes > s.MaxBytes+uint64(underWay)*2*bodySize {
		t.Errorf("the tier holds %d bytes, bound %d", s.Bytes, s.MaxBytes)
	}
}

func testBound(t *testing.T, tr tier.Tier) {
	n := fills(tr, bodySize)
	for i := range n {
		put(tr, tier.Ref{Resource: 1, Key: row.Key(strconv.Itoa(i))}, bodySize, 1)
		if i%1000 == 0 {
			wantBound(t, tr, 0)
		}
	}
	wantBound(t, tr, 0)

	s := tr.Stats()
	if s.Evictions == 0 {
		t.Error("three times the bound was put, and nothing was evicted")
	}
	if s.Bytes < s.MaxBytes/2 {
		t.Errorf("the tier holds %d bytes, less than half of its bound %d", s.Bytes, s.MaxBytes)
	}
	if s.Bytes < s.Entries*bodySize {
		t.Errorf("%d documents of %d bytes are counted as %d bytes", s.Entries, bodySize, s.Bytes)
	}
}

// testPutReturnsWithinBound adds up what the tier hands out after each Put, and
// does not ask for Stats, which may tidy up first. One processor and no waiting:
// a tier that leaves eviction to another goroutine gets no time for it.
func testPutReturnsWithinBound(t *testing.T, tr tier.Tier) {
	maxBytes := int(tr.Stats().MaxBytes)
	size := maxBytes / 20
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for i := range 100 {
		put(tr, tier.Ref{Resource: 1, Key: row.Key(strconv.Itoa(i))}, size, 1)
		held := 0
		for j := range i + 1 {
			if d, ok := tr.Get(tier.Ref{Resource: 1, Key: row.Key(strconv.Itoa(j))}); ok {
				held += len(d.Body())
			}
		}
		if held > maxBytes {
			t.Fatalf("after put %d the tier holds %d bytes, bound %d", i, held, maxBytes)
		}
	}
}

// testAbsencesBound asks for keys that do not exist, and expects the rows that
// were held to be still there.
func testAbsencesBound(t *testing.T, tr tier.Tier) {
	rows := int(tr.Stats().MaxBytes) / bodySize / 4
	for i := range rows {
		put(tr, tier.Ref{Resource: 1, Key: row.Key(strconv.Itoa(i))}, bodySize, 1)
	}
	before := tr.Stats()
	for i := range fills(tr, 200) {
		tr.Put(tier.Ref{Resource: 2, Key: row.Key("none" + strconv.Itoa(i))}, Absence(1))
	}
	wantBound(t, tr, 0)

	s := tr.Stats()
	if held := s.Entries - s.Negative; held != before.Entries {
		t.Errorf("of %d rows %d are left after a flood of absences", before.Entries, held)
	}
	if s.Negative == 0 {
		t.Error("no absence is held")
	}
	if took := s.Bytes - before.Bytes; took > s.MaxBytes/10 {
		t.Errorf("absences take %d bytes of %d", took, s.MaxBytes)
	}
}

// testBoundWhileBusy looks at the bound while goroutines put, get and drop.
func testBoundWhileBusy(t *testing.T, tr tier.Tier) {
	const writers = 8
	each := fills(tr, bodySize) / writers
	var busy sync.WaitGroup
	var done atomic.Bool
	for w := range writers {
		busy.Go(func() {
			for i := range each {
				ref := tier.Ref{Resource: uint32(w), Key: row.Key(strconv.Itoa(i))}
				put(tr, ref, bodySize, 1)
				tr.Get(tier.Ref{Resource: uint32(w), Key: row.Key(strconv.Itoa(i / 2))})
				if i%16 == 0 {
					tr.Drop(ref)
				}
			}
		})
	}
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		for !done.Load() {
			wantBound(t, tr, writers)
		}
	}()
	busy.Wait()
	done.Store(true)
	<-looked
	wantBound(t, tr, 0)
}

func testTooLarge(t *testing.T, tr tier.Tier) {
	ref := tier.Ref{Resource: 1, Key: "10"}
	large := DocumentOf(ref, int(tr.Stats().MaxBytes)+1, 2)
	for _, earlier := range []*row.Document{DocumentOf(ref, 10, 1), Absence(1)} {
		tr.Put(ref, earlier)
		tr.Put(ref, large)
		wantGone(t, tr, ref)
		wantBound(t, tr, 0)
	}
	// The tier still works.
	wantHeld(t, tr, ref, put(tr, ref, 10, 3))
}

func testStats(t *testing.T, tr tier.Tier) {
	if s := tr.Stats(); s.Entries != 0 || s.Hits != 0 || s.Misses != 0 || s.MaxBytes == 0 {
		t.Errorf("Stats of an empty tier = %+v", s)
	}
	const n = 10
	for i := range n {
		key := row.Key(strconv.Itoa(i))
		put(tr, tier.Ref{Resource: 1, Key: key}, bodySize, 1)
		tr.Put(tier.Ref{Resource: 2, Key: key}, Absence(1))
	}
	s := tr.Stats()
	if s.Entries != 2*n || s.Negative != n {
		t.Errorf("%d entries, %d of them negative; want %d and %d", s.Entries, s.Negative, 2*n, n)
	}
	if low, high := uint64(n*bodySize), uint64(n*bodySize*3/2); s.Bytes < low || s.Bytes > high {
		t.Errorf("%d documents of %d bytes are counted as %d bytes", n, bodySize, s.Bytes)
	}
	for i := range n {
		key := row.Key(strconv.Itoa(i))
		tr.Get(tier.Ref{Resource: 1, Key: key})
		tr.Get(tier.Ref{Resource: 2, Key: key})
		tr.Get(tier.Ref{Resource: 3, Key: key})
		tr.Drop(tier.Ref{Resource: 1, Key: key})
		tr.Drop(tier.Ref{Resource: 2, Key: key})
	}
	s = tr.Stats()
	if s.Hits != 2*n || s.Misses != n {
		t.Errorf("%d hits, %d misses; want %d and %d", s.Hits, s.Misses, 2*n, n)
	}
	if s.Entries != 0 || s.Negative != 0 || s.Bytes != 0 || s.Evictions != 0 {
		t.Errorf("Stats after every key was dropped = %+v", s)
	}
}

func testClose(t *testing.T, tr tier.Tier) {
	ref := tier.Ref{Resource: 1, Key: "10"}
	put(tr, ref, 10, 1)
	if err := tr.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	wantGone(t, tr, ref)
	put(tr, ref, 10, 2)
	wantGone(t, tr, ref)
	tr.Drop(ref)
	if err := tr.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}
