package tier_test

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tier/tiertest"
)

// TestReader_LentStaysGood: what a reader was lent is what it was, until Begin, whatever is
// dropped, replaced and evicted meanwhile.
func TestReader_LentStaysGood(t *testing.T) {
	m := openMemory(t, 1<<20)
	var r tier.Reader
	for round := range 20 {
		r.Begin()
		key := strconv.Itoa(round)
		put(m, key, 1000, uint64(round+1))
		of := ref(key)
		d := r.Get(m, &of)
		if d == nil {
			t.Fatal("what was put is not there")
		}
		want, kept := bytes.Clone(d.AppendWire(nil)), d.Keep()
		m.Drop(of)
		for i := range 2000 {
			put(m, "other"+strconv.Itoa(i), 900+i%200, 7)
		}
		if got := d.AppendWire(nil); !bytes.Equal(got, want) {
			t.Fatalf("round %d: what was lent has become %.40q, it was %.40q", round, got, want)
		}
		if r.Get(m, &of) != nil {
			t.Fatal("what was dropped is found")
		}
		r.End()
		for i := range 500 {
			put(m, "more"+strconv.Itoa(i), 1000, 8)
		}
		if !bytes.Equal(kept.AppendWire(nil), want) {
			t.Fatal("what was kept has changed")
		}
	}
	if wrong := m.Check(); wrong != nil {
		t.Error(wrong)
	}
}

// TestReader_MultiGetIsGet compares the two, with keys that are not there and absences.
func TestReader_MultiGetIsGet(t *testing.T) {
	m := openMemory(t, 4<<20)
	for i := range 500 {
		put(m, strconv.Itoa(2*i), 100+i, uint64(i+1))
	}
	m.Put(ref("none"), tiertest.Absence(1))
	var r tier.Reader
	defer r.End()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		r.Begin()
		refs, docs := make([]tier.Ref, 1+rng.IntN(tier.MaxMultiGet)), make([]*row.Document, tier.MaxMultiGet)
		for i := range refs {
			if refs[i] = ref(strconv.Itoa(rng.IntN(1000))); rng.IntN(10) == 0 {
				refs[i] = ref("none")
			}
		}
		r.Prefetch(m, refs)
		r.MultiGet(m, refs, docs)
		for i := range refs {
			want := r.Get(m, &refs[i])
			if (want == nil) != (docs[i] == nil) {
				t.Fatalf("%+v: %v, want %v", refs[i], docs[i], want)
			}
			if want != nil && (want.Stamp() != docs[i].Stamp() || want.Absent() != docs[i].Absent() ||
				!bytes.Equal(want.Body(), docs[i].Body())) {
				t.Fatalf("%+v: another document", refs[i])
			}
		}
	}
}

// label is an attachment that says of which version of a document it is.
type label uint64

func (label) Size() int { return 8 }

// TestMemory_TortureOfReaders: loops that are lent documents, and goroutines that copy them,
// find whole documents, each with what is attached to it, while writers replace and drop them
// and memory is full.
func TestMemory_TortureOfReaders(t *testing.T) {
	m := openMemory(t, 1<<20)
	const keys, writes = 400, 30_000
	var locks [keys]sync.Mutex // order Put and Drop of a key, as package fresh does
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	check := func(d *row.Document) bool {
		if d == nil {
			return true
		}
		s := d.Stamp()
		return bytes.Count(d.Body(), []byte{byte(s.Generation%255) + 1}) == len(d.Body()) &&
			d.Attached() == label(s.Generation)
	}
	for n := range 4 {
		readers.Go(func() {
			var r tier.Reader
			defer r.End()
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			for turn := 0; ; turn++ {
				r.Begin()
				var lent []*row.Document
				for range 20 {
					of := ref(strconv.Itoa(rng.IntN(keys)))
					if n%2 == 0 {
						lent = append(lent, r.Get(m, &of))
					} else if d, ok := m.Get(of); ok {
						lent = append(lent, d)
					}
				}
				for _, d := range lent {
					if !check(d) {
						t.Errorf("a document of version %d is not whole", d.Stamp().Generation)
						return
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
	for n := range 2 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(2, uint64(n)))
			for i := range writes {
				k := rng.IntN(keys)
				of := ref(strconv.Itoa(k))
				locks[k].Lock()
				if i%5 == 0 {
					m.Drop(of)
				} else {
					version := uint64(2*i + n + 1)
					d := tiertest.DocumentOf(of, 500+rng.IntN(8000), version)
					d.Attach(label(version))
					m.Put(of, d)
				}
				locks[k].Unlock()
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	if wrong := m.Check(); wrong != nil {
		t.Error(wrong)
	}
}
