package tier

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

func indexedDocument(ref Ref, generation uint64) *row.Document {
	return row.NewDocument(ref.Key, ref.Format, []byte("{}"), generation,
		row.Stamp{Generation: generation, Owner: ref.Resource})
}

// TestIndex_HoldsWhatWasPutLast compares the index with a map, over several
// sizes of its tables. It may leave something out; it may not give another
// document than the last.
func TestIndex_HoldsWhatWasPutLast(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x := newIndex()
	want := make(map[Ref]*row.Document)
	const keys = 30_000
	for step := range 400_000 {
		ref := Ref{
			Resource: 1 + r.Uint32N(2), Format: row.Format(r.IntN(2)),
			Key: row.Key(strconv.Itoa(r.IntN(1 + min(step/4, keys)))),
		}
		switch r.IntN(8) {
		case 0:
			x.drop(&ref, nil)
			delete(want, ref)
		case 1: // of another document: nothing happens
			x.drop(&ref, indexedDocument(ref, 1))
		case 2:
			d := want[ref]
			if d != nil {
				x.drop(&ref, d)
			}
			delete(want, ref)
		case 3, 4, 5:
			d := indexedDocument(ref, uint64(step))
			x.put(&ref, d)
			want[ref] = d
		default:
			if got := x.get(x.hash(&ref), &ref); got != nil && got != want[ref] {
				t.Fatalf("step %d: %+v gives generation %d", step, ref, got.Stamp().Generation)
			}
		}
	}
	found := 0
	for ref, d := range want {
		if x.get(x.hash(&ref), &ref) == d {
			found++
		}
	}
	if found < len(want)*97/100 {
		t.Errorf("%d of %d documents are found", found, len(want))
	}
	used, held := 0, 0
	for i := range x.stripes {
		used += x.stripes[i].used
		for j := range x.stripes[i].table.Load().buckets {
			b := &x.stripes[i].table.Load().buckets[j]
			for k := range b.docs {
				if b.docs[k].Load() != nil {
					held++
				}
			}
		}
	}
	if held < found || used != held {
		t.Errorf("%d documents are counted, %d held, %d found", used, held, found)
	}
	x.clear()
	for ref := range want {
		if x.get(x.hash(&ref), &ref) != nil {
			t.Fatalf("%+v is found after clear", ref)
		}
	}
}

// TestMemory_IndexHoldsNoMoreThanTheCache lets eviction and Put run together:
// what the index holds, the cache holds too.
func TestMemory_IndexHoldsNoMoreThanTheCache(t *testing.T) {
	m := NewMemory(1 << 20)
	defer func() { _ = m.Close() }()
	done := make(chan struct{})
	for w := range 4 {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range 20_000 {
				ref := Ref{Resource: 1, Key: row.Key(strconv.Itoa(4*(i*7919%9973) + w))}
				m.Put(ref, indexedDocument(ref, uint64(i)))
			}
		}()
	}
	for range 4 {
		<-done
	}
	m.rows.cache.CleanUp()
	held, strays := 0, 0
	for key := range 4 * 9973 {
		ref := Ref{Resource: 1, Key: row.Key(strconv.Itoa(key))}
		d := m.index.get(m.index.hash(&ref), &ref)
		e, ok := m.rows.cache.GetEntryQuietly(ref)
		switch {
		case d == nil:
		case !ok || e.Value != d:
			strays++
		default:
			held++
		}
	}
	if strays > 0 || held < 100 {
		t.Errorf("the index holds %d documents of the cache and %d others", held, strays)
	}
}

func TestMemory_PrefetchIsAHint(t *testing.T) {
	m := NewMemory(1 << 20)
	defer func() { _ = m.Close() }()
	var refs []Ref
	for i := range 2 * MaxMultiGet {
		ref := Ref{Resource: 1, Key: row.Key(fmt.Sprint(i))}
		if refs = append(refs, ref); i%3 > 0 {
			m.Put(ref, indexedDocument(ref, 1))
		}
	}
	before := m.Stats()
	for n := range len(refs) {
		if got := testing.AllocsPerRun(10, func() { m.Prefetch(refs[:n]) }); got != 0 {
			t.Errorf("prefetching %d allocates %v times", n, got)
		}
	}
	if after := m.Stats(); after != before {
		t.Errorf("Stats = %+v, before %+v", after, before)
	}
}

// TestMemory_MultiGetIsGet: of what the index has, of what it has left out, of absences and
// of what is not there; and each is counted.
func TestMemory_MultiGetIsGet(t *testing.T) {
	m := NewMemory(1 << 20)
	defer func() { _ = m.Close() }()
	var refs []Ref
	for i := range 3 * MaxMultiGet {
		ref := Ref{Resource: uint32(i % 2), Key: row.Key(fmt.Sprint(i / 2))}
		refs = append(refs, ref)
		switch d := indexedDocument(ref, 1); i % 5 {
		case 1:
			m.Put(ref, row.NoRow(row.Stamp{Owner: ref.Resource}))
		case 2, 3, 4:
			if m.Put(ref, d); i%5 == 4 {
				m.index.drop(&ref, nil)
			}
		}
	}
	docs := make([]*row.Document, MaxMultiGet)
	for n := range MaxMultiGet + 1 {
		for from := 0; from+n <= len(refs); from += 7 {
			before := m.Stats()
			m.MultiGet(refs[from:from+n], docs[:n])
			between := m.Stats()
			for i, ref := range refs[from : from+n] {
				if d, _ := m.Get(ref); d != docs[i] {
					t.Errorf("%d of %d: %v, want %v", i, n, docs[i], d)
				}
			}
			after := m.Stats()
			if between.Hits-before.Hits != after.Hits-between.Hits ||
				between.Misses-before.Misses != after.Misses-between.Misses {
				t.Errorf("MultiGet of %d: %+v, then %+v; Get: %+v", n, before, between, after)
			}
		}
	}
	if n := testing.AllocsPerRun(10, func() { m.MultiGet(refs[:MaxMultiGet], docs) }); n != 0 {
		t.Errorf("MultiGet allocates %v times", n)
	}
}
