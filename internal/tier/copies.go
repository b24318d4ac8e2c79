package tier

import (
	"github.com/maypok86/otter/v2"

	"github.com/hotrow/hotrow/internal/row"
)

// KeepCopy adds k, a compressed copy of d, to d if m holds d for ref, and reports whether
// it did. The copy's bytes are within m's bound, and it goes when d goes. Unlike Put this
// needs no order with Drop: it never makes anything appear, and a document that has been
// dropped meanwhile, or replaced, gets no copy. The entry is weighed again, under the same
// lock of the cache that a Drop takes.
func (m *Memory) KeepCopy(ref Ref, d, k *row.Document) bool {
	if m.sizes.entry(ref, d)+m.sizes.copies(k) > m.rows.largest {
		return false
	}
	kept := false
	m.rows.cache.ComputeIfPresent(ref, func(held *row.Document) (*row.Document, otter.ComputeOp) {
		if held != d || d.Copy(k.Coding()) != nil {
			return held, otter.CancelOp
		}
		before := m.sizes.copies(d.NextCopy())
		d.AddCopy(k)
		after := m.sizes.copies(d.NextCopy())
		// The cache tells of d as of a value that has gone (see left), copies and
		// all, because it is put in its own place.
		m.copyBytes.Add(int64(2*after - before))
		m.shares.of(ref).add(1, int64(m.sizes.plain(ref, d)))
		kept = true
		return d, otter.WriteOp
	})
	if kept {
		m.rows.cache.CleanUp() // evicts now, as in put
	}
	return kept
}

// left counts the copies of a document that has left the tier.
func (m *Memory) left(d *row.Document) {
	if k := d.NextCopy(); k != nil {
		m.copyBytes.Add(-int64(m.sizes.copies(k)))
	}
}

// copies returns the size of a copy and of those that follow it.
func (s *sizer) copies(k *row.Document) uint64 {
	n := uint64(0)
	for ; k != nil; k = k.NextCopy() {
		n += s.document + s.block(uint64(k.Size()))
	}
	return n
}
