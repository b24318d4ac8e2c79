package resource

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

// hot reads a document until memory answers.
func (h *house) hot(r *Resource, key row.Key) *row.Document {
	h.t.Helper()
	var a Answer
	h.until(func() bool {
		var err error
		if a, err = r.Get(h.t.Context(), key, Options{}); err != nil {
			h.t.Fatal(err)
		}
		return a.Origin == HitMemory
	})
	return a.Doc
}

// copied reads a document and waits for its copy.
func (h *house) copied(r *Resource, key row.Key, c row.Coding) *row.Document {
	h.t.Helper()
	var k *row.Document
	h.until(func() bool {
		d := h.hot(r, key)
		r.AskCopy(key, d, c)
		k = d.Copy(c)
		return k != nil
	})
	return k
}

// gunzip is Go's own decoder.
func gunzip(t testing.TB, b []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

func (h *house) fatten(deptno int, letter string) {
	h.exec(fmt.Sprintf("UPDATE dept SET loc = '%s' WHERE deptno = %d",
		strings.Repeat(letter, 3000), deptno))
}

func TestResource_CopyIsMadeOnDemand(t *testing.T) {
	h := newHouse(t, nil)
	h.fatten(10, "x")
	r := h.resource("dept")
	d := h.hot(r, "10")
	if d.NextCopy() != nil || h.set.Stats().Copies.Made != 0 {
		t.Fatal("a copy was made that nobody has asked for")
	}
	k := h.copied(r, "10", row.Gzip)
	if got := gunzip(t, k.Body()); got != string(h.hot(r, "10").Body()) {
		t.Errorf("the copy holds %s", got)
	}
	h.copied(r, "10", row.Zstd)
	h.until(func() bool { return h.set.Stats().Copies.Made >= 2 }) // counted once it hangs there
	if s := h.set.Stats().Copies; s.Refused+s.Dropped != 0 || s.Bytes == 0 {
		t.Errorf("Stats = %+v, want none refused", s)
	}
}

// A change of the row takes the compressed copies away with the document: no
// answer that is given later has the old bytes.
func TestResource_ChangeDropsTheCopies(t *testing.T) {
	h := newHouse(t, nil)
	r := h.resource("dept")
	for i, letter := range []string{"a", "b", "c"} {
		h.fatten(10, letter)
		var d *row.Document
		h.until(func() bool {
			d = h.hot(r, "10")
			return strings.Contains(string(d.Body()), letter+letter)
		})
		if d.NextCopy() != nil {
			t.Fatalf("change %d: a new document has a copy", i)
		}
		k := h.copied(r, "10", row.Gzip)
		if got := gunzip(t, k.Body()); got != string(h.hot(r, "10").Body()) {
			t.Fatalf("change %d: the copy holds %s", i, got)
		}
	}
	if err := r.Invalidate(nil); err != nil {
		t.Fatal(err)
	}
	if d := h.hot(r, "10"); d.NextCopy() != nil {
		t.Error("a copy outlives the flush of its resource")
	}
}

// While rows change, a copy that is found with a document is always one of the
// same bytes.
func TestResource_CopiesUnderChanges(t *testing.T) {
	h := newHouse(t, nil)
	r := h.resource("dept")
	h.fatten(10, "a")
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for n := range 3 {
		readers.Go(func() {
			for i := n; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				a, err := r.Get(t.Context(), "10", Options{})
				if err != nil {
					t.Error(err)
					return
				}
				r.AskCopy("10", a.Doc, row.Coding(1+i%2))
				if k := a.Doc.Copy(row.Gzip); k != nil && gunzip(t, k.Body()) != string(a.Doc.Body()) {
					t.Error("a copy holds other bytes than its document")
					return
				}
			}
		})
	}
	for i := range 40 {
		h.fatten(10, string(rune('a'+i%26)))
	}
	h.until(func() bool { return h.set.Stats().Copies.Made > 0 })
	close(stop)
	readers.Wait()
}

// A full queue costs a demand, not a wait, and the demand can be made again.
func TestResource_AskCopyNeverWaits(t *testing.T) {
	k := newCopier() // nobody works
	f := &revision{memory: tier.NewMemory(1 << 20), copier: k}
	t.Cleanup(func() { _ = f.memory.Close() })
	r := new(Resource)
	r.revision.Store(f)
	body := make([]byte, row.MinCoded)
	ask := func(i int) {
		key := row.Key(strconv.Itoa(i))
		doc := row.NewDocument(key, row.FormatJSON, body, uint64(i), row.Stamp{})
		if ref := (tier.Ref{Key: key}); !f.memory.Holds(ref, doc) {
			f.memory.Put(ref, doc)
		}
		r.AskCopy(key, doc, row.Gzip)
	}
	for i := range maxCopyJobs + 2 {
		ask(i)
	}
	if s := k.stats(); s.Dropped != 2 || len(k.jobs) != maxCopyJobs {
		t.Errorf("%d wait, %+v", len(k.jobs), s)
	}
	<-k.jobs
	ask(maxCopyJobs + 1)
	ask(maxCopyJobs + 1)
	if s := k.stats(); s.Dropped != 2 || len(k.jobs) != maxCopyJobs {
		t.Errorf("%d wait, %+v", len(k.jobs), s)
	}
	body = body[1:] // too small
	<-k.jobs
	if ask(0); len(k.jobs) != maxCopyJobs-1 {
		t.Error("a copy of a small document was asked for")
	}
}

func TestCopier_KeepsWhatPaysOfWhatIsHeld(t *testing.T) {
	random := make([]byte, 4000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	m := tier.NewMemory(1 << 20)
	t.Cleanup(func() { _ = m.Close() })
	tests := []struct {
		name string
		body []byte
		put  bool
		want CopyStats
	}{
		{"compressible", make([]byte, 4000), true, CopyStats{Made: 1}},
		{"not compressible", random, true, CopyStats{Refused: 1}},
		{"gone", make([]byte, 4000), false, CopyStats{Late: 1}},
	}
	for _, tt := range tests {
		k := newCopier()
		d := row.NewDocument("", row.FormatMsgPack, tt.body, 1, row.Stamp{})
		ref := tier.Ref{Resource: 1, Format: row.FormatMsgPack, Key: row.Key(tt.name)}
		if tt.put {
			m.Put(ref, d)
		}
		k.make(&copyJob{m, ref, d, row.Zstd}, nil)
		got := k.stats()
		got.Bytes = 0
		held, ok := m.Get(ref)
		if got != tt.want || (ok && held.Copy(row.Zstd) != nil) != (tt.want.Made == 1) {
			t.Errorf("%s: %+v, held %v; want %+v", tt.name, got, held, tt.want)
		}
	}
}

// The work stops with the set, whatever waits.
func TestSet_CloseEndsTheCopies(t *testing.T) {
	h := newHouse(t, nil)
	h.fatten(10, "x")
	r := h.resource("dept")
	d := h.hot(r, "10")
	r.AskCopy("10", d, row.Gzip)
	if err := h.set.Close(); err != nil {
		t.Fatal(err)
	}
	r.AskCopy("10", d, row.Zstd) // goleak finds a worker that is left
}
