//go:build !arena_poison && !arena_protect

package tier_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tier/tiertest"
)

// TestMemory_SharesAddUp puts, replaces, copies, evicts and drops, and compares the sum of
// the shares with what the whole counts.
func TestMemory_SharesAddUp(t *testing.T) {
	m := openMemory(t, 1<<20)
	check := func(when string) (shares []tier.Share) {
		t.Helper()
		s, n, bytes := m.Stats(), uint64(0), uint64(0)
		shares = m.Shares()
		for _, sh := range shares {
			n += sh.Entries
			bytes += sh.Bytes
		}
		used := uint64(0)
		for _, size := range m.Sizes() {
			used += size.Bytes - size.Free
		}
		if over := used - s.Bytes - s.Limbo; over > 4<<10 { // but for the arena's first unit
			t.Errorf("%s: %d bytes are used by size, %+v", when, used, m.Sizes())
		}
		if n != s.Entries || bytes+s.CopyBytes != s.Bytes {
			t.Errorf("%s: shares of %d documents, %d bytes and %d of copies; all: %+v", when, n, bytes,
				s.CopyBytes, s)
		}
		return shares
	}
	of := func(resource uint32, f row.Format, i int) tier.Ref {
		return tier.Ref{Resource: resource, Format: f, Key: row.Key(strconv.Itoa(i))}
	}
	for i := range 50 {
		m.Put(of(1, row.FormatJSON, i), tiertest.Document(400, 1))
		m.Put(of(1, row.FormatCBOR, i), tiertest.Document(300, 1))
		m.Put(of(2, row.FormatJSON, i), row.NoRow(row.Stamp{}))
	}
	if got := check("put"); len(got) != 3 || got[0].Entries != 50 || got[1].Format != row.FormatCBOR ||
		got[2].Resource != 2 {
		t.Errorf("shares: %+v", got)
	}
	for i := range 50 { // replaced, by a row where there was none too
		m.Put(of(1, row.FormatJSON, i), tiertest.Document(900, 2))
		m.Put(of(2, row.FormatJSON, i), tiertest.Document(100, 2))
	}
	check("replaced")
	d := tiertest.Document(4000, 1)
	m.Put(of(3, row.FormatJSON, 1), d)
	m.KeepCopy(of(3, row.FormatJSON, 1), d, copyOf(d, row.Gzip, 1000))
	m.KeepCopy(of(3, row.FormatJSON, 1), d, copyOf(d, row.Zstd, 1000))
	check("with copies")
	var sizes []int
	for _, size := range m.Sizes() {
		sizes = append(sizes, size.Most)
	}
	if !slices.Contains(sizes, 1024) || !slices.Contains(sizes, 2048) || slices.Contains(sizes, 8192) {
		t.Errorf("sizes %v", sizes)
	}
	for i := range 5000 {
		m.Put(of(1, row.FormatJSON, i), tiertest.Document(900, 3))
	}
	check("evicted")
	if m.Stats().Evictions == 0 {
		t.Error("nothing was evicted")
	}
	for i := range 5000 {
		m.Drop(of(1, row.FormatJSON, i))
	}
	check("dropped")
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if got := check("closed"); got != nil {
		t.Errorf("closed: %+v", got)
	}
}
