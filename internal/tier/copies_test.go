package tier_test

import (
	"bytes"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tier/tiertest"
)

// copyOf returns a copy of d of n bytes that is never decoded.
func copyOf(d *row.Document, c row.Coding, n int) *row.Document {
	return row.NewCopy(d, c, bytes.Repeat([]byte{'z'}, n))
}

// holdsCopy reports whether m holds a document for key with a copy like k.
func holdsCopy(m *tier.Memory, key string, k *row.Document) bool {
	d, ok := m.Get(ref(key))
	if !ok {
		return false
	}
	c := d.Copy(k.Coding())
	return c != nil && string(c.AppendWire(nil)) == string(k.AppendWire(nil)) && c.Stamp() == d.Stamp()
}

func TestMemory_KeepsCopiesWithTheirDocument(t *testing.T) {
	m := openMemory(t, 1<<20)
	d := tiertest.Document(4000, 1)
	m.Put(ref("1"), d)
	plain := m.Stats().Bytes
	k := copyOf(d, row.Gzip, 1000)
	if !m.KeepCopy(ref("1"), d, k) || !holdsCopy(m, "1", k) {
		t.Fatal("the copy of a document that is held is not kept")
	}
	s := m.Stats()
	if s.Entries != 1 || s.Bytes < plain+s.CopyBytes || s.CopyBytes < 1000 || s.CopyBytes > 1400 {
		t.Errorf("with a copy: %+v, without: %d bytes", s, plain)
	}
	if m.KeepCopy(ref("1"), d, copyOf(d, row.Gzip, 1000)) {
		t.Error("a second copy in one coding is kept")
	}
	if z := copyOf(d, row.Zstd, 1000); !m.KeepCopy(ref("1"), d, z) || !holdsCopy(m, "1", k) ||
		!holdsCopy(m, "1", z) {
		t.Error("a copy in another coding is not kept beside the first")
	}
	if got := m.Stats(); got.CopyBytes != 2*s.CopyBytes || got.Bytes < plain+got.CopyBytes {
		t.Errorf("with two copies: %+v", got)
	}
	m.Drop(ref("1"))
	if s := m.Stats(); s.Bytes != 0 || s.CopyBytes != 0 {
		t.Errorf("after Drop: %+v", s)
	}
}

// A document that has gone, or was replaced, gets no copy: a copy never makes a document
// appear.
func TestMemory_KeepsNoCopyOfWhatHasGone(t *testing.T) {
	m := openMemory(t, 1<<20)
	old, now := tiertest.Document(4000, 1), tiertest.Document(4000, 2)
	m.Put(ref("1"), old)
	m.Put(ref("1"), now)
	for _, key := range []string{"1", "2"} {
		if k := copyOf(old, row.Gzip, 100); m.KeepCopy(ref(key), old, k) || holdsCopy(m, key, k) {
			t.Errorf("%s: a copy of what has gone is kept", key)
		}
	}
	m.Drop(ref("1"))
	if m.KeepCopy(ref("1"), now, copyOf(now, row.Gzip, 100)) {
		t.Error("a copy of what was dropped is kept")
	}
	if _, ok := m.Get(ref("1")); ok {
		t.Error("a copy has brought a document back")
	}
	m.Put(ref("1"), tiertest.Absence(1))
	if m.KeepCopy(ref("1"), now, copyOf(now, row.Gzip, 100)) {
		t.Error("an absence has a copy")
	}
	if s := m.Stats(); s.CopyBytes != 0 {
		t.Errorf("bytes of copies: %d", s.CopyBytes)
	}
}

// A document with its copies is one entry, and no entry is too large.
func TestMemory_KeepsNoCopyThatMakesAnEntryTooLarge(t *testing.T) {
	m := openMemory(t, 1<<20)
	d := tiertest.Document(60_000, 1)
	m.Put(ref("1"), d)
	if k := copyOf(d, row.Gzip, 90_000); m.KeepCopy(ref("1"), d, k) || holdsCopy(m, "1", k) {
		t.Error("kept")
	}
	if _, ok := m.Get(ref("1")); !ok {
		t.Error("the document has gone")
	}
}

// The bound holds with copies: they push out what is asked for least.
func TestMemory_CopiesAreWithinTheBound(t *testing.T) {
	const bound = 1 << 20
	m := openMemory(t, bound)
	kept := 0
	for i := range 2000 {
		d := tiertest.Document(2000, uint64(i))
		key := ref(strconv.Itoa(i))
		m.Put(key, d)
		for c := row.Gzip; c < row.NumCodings; c++ {
			if m.KeepCopy(key, d, copyOf(d, c, 1500)) {
				kept++
			}
			if s := m.Stats(); s.Bytes > bound {
				t.Fatalf("%d bytes after %d documents, the bound is %d", s.Bytes, i+1, bound)
			}
		}
	}
	if kept < 100 {
		t.Errorf("only %d copies were kept", kept)
	}
	held := uint64(0)
	for i := range 2000 {
		if d, ok := m.Get(ref(strconv.Itoa(i))); ok {
			for k := d.NextCopy(); k != nil; k = k.NextCopy() {
				held += uint64(k.Size())
			}
		}
	}
	if s := m.Stats(); s.CopyBytes < held || s.CopyBytes > held*5/4 {
		t.Errorf("CopyBytes = %d, but copies of %d bytes are held", s.CopyBytes, held)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if s := m.Stats(); s.CopyBytes != 0 || s.Bytes != 0 {
		t.Errorf("after Close: %+v", s)
	}
}

// While documents come and go, copies are made: Drop stays final, and in the
// end nothing is counted that is not held.
func TestMemory_CopiesWhileDocumentsComeAndGo(t *testing.T) {
	m := openMemory(t, 256<<10)
	var locks [4]sync.Mutex // order Put and Drop of a key, as package fresh does
	var busy sync.WaitGroup
	for n := range 4 {
		busy.Go(func() {
			for i := range 3000 {
				k := (i*7 + n) % len(locks)
				key := ref(fmt.Sprint(k))
				if n%2 == 0 {
					locks[k].Lock()
					if i%3 == 0 {
						m.Drop(key)
						if d, ok := m.Get(key); ok {
							t.Errorf("%v after Drop", d)
						}
					} else {
						m.Put(key, tiertest.Document(2000, uint64(i)))
					}
					locks[k].Unlock()
				} else if d, ok := m.Get(key); ok {
					m.KeepCopy(key, d, copyOf(d, row.Coding(1+i%2), 500))
				}
			}
		})
	}
	busy.Wait()
	for k := range locks {
		m.Drop(ref(fmt.Sprint(k)))
	}
	if s := m.Stats(); s.Bytes != 0 || s.CopyBytes != 0 {
		t.Errorf("after all were dropped: %+v", s)
	}
}
