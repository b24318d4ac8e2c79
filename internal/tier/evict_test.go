package tier

import (
	"strconv"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// TestNewest_IsBounded: entries that come and go where there is room leave nothing behind, and
// the queue gives out what it has in its order.
func TestNewest_IsBounded(t *testing.T) {
	m := NewMemory(16 << 20)
	t.Cleanup(func() { _ = m.Close() })
	for i := range 10_000 {
		ref := Ref{Resource: 1, Key: row.Key(strconv.Itoa(i % 10))}
		m.Put(ref, row.NewDocument(ref.Key, row.FormatJSON, []byte("body"), 1, row.Stamp{Owner: 1}))
		m.Drop(ref)
	}
	if m.newest.n > fewestNew+1 || len(m.newest.words) > 4*fewestNew {
		t.Errorf("%d entries are remembered, in room for %d", m.newest.n, len(m.newest.words))
	}
	q, next := new(newest), uint64(1)
	for w := range uint64(1000) {
		if q.push(w+1, 300); w%3 == 0 {
			got := q.pop(10)
			if got != 0 && got < next {
				t.Fatalf("%d comes behind %d", got, next)
			}
			next = max(next, got)
		}
	}
	for q.n > 0 {
		if got := q.pop(0); got <= next && got != next {
			t.Fatalf("%d comes behind %d", got, next)
		} else {
			next = got
		}
	}
	if next != 1000 {
		t.Errorf("the last is %d", next)
	}
}

// TestMemory_KeepsWhatIsAskedFor: in a full memory, keys that are asked for stay beside a walk
// through many others, and memory changes over to documents of another size.
func TestMemory_KeepsWhatIsAskedFor(t *testing.T) {
	m := NewMemory(4 << 20)
	t.Cleanup(func() { _ = m.Close() })
	put := func(key string, n int) {
		ref := Ref{Resource: 1, Key: row.Key(key)}
		m.Put(ref, row.NewDocument(ref.Key, row.FormatJSON, make([]byte, n), 1, row.Stamp{Owner: 1}))
	}
	asked := func(i int) Ref { return Ref{Resource: 1, Key: row.Key("hot" + strconv.Itoa(i))} }
	const hot = 500
	for _, size := range []int{200, 2000} {
		for i := range 40_000 {
			put("walk"+strconv.Itoa(size)+"-"+strconv.Itoa(i), size)
			if k := asked(i % hot); !m.Has(k) {
				put(string(k.Key), size)
			} else {
				m.Get(k)
			}
		}
		held := 0
		for i := range hot {
			if m.Has(asked(i)) {
				held++
			}
		}
		if held < hot*2/3 {
			t.Errorf("of %d documents of %d bytes that are asked for %d are there", hot, size, held)
		}
		if s := m.Stats(); s.Bytes < s.MaxBytes/2 || s.HeldBytes > s.MaxBytes {
			t.Errorf("full of documents of %d bytes: %+v", size, s)
		}
	}
	if wrong := m.Check(); wrong != nil {
		t.Error(wrong)
	}
}
