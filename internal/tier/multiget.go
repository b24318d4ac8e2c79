package tier

import (
	"math/bits"

	"github.com/hotrow/hotrow/internal/row"
)

// MaxMultiGet is how many look-ups are made together: more than processors wait for at
// once.
const MaxMultiGet = 16

// A group is look-ups that are made together, as far as the index knows.
type group struct {
	hashes [MaxMultiGet]uint64
	docs   [MaxMultiGet]*row.Document // with the right tag, most likely the right ones
}

// MultiGet is Get of up to MaxMultiGet refs: docs[i] is what m holds for refs[i], nil for
// nothing. refs may alias buffers.
func (m *Memory) MultiGet(refs []Ref, docs []*row.Document) {
	var g group
	m.fetch(refs, &g)
	for i := range refs {
		ref, d := &refs[i], g.docs[i]
		if d == nil || !indexed(ref, d) {
			d = m.index.get(g.hashes[i], ref)
		}
		switch {
		case d == nil:
			d, _ = m.ask(*ref)
		case refreshes(m.lookups.hit(), m.evicted.Load() > 0):
			m.rows.cache.GetIfPresent(*ref)
		}
		docs[i] = d
	}
}

// Prefetch has the processor fetch what Get will read of up to MaxMultiGet refs. It is a
// hint, and changes nothing. refs may alias buffers.
func (m *Memory) Prefetch(refs []Ref) {
	var g group
	m.fetch(refs[:min(len(refs), MaxMultiGet)], &g)
}

// fetch finds what the index has for refs. A look-up among many documents is a chain
// of places that are in no cache: bucket, document, text. One look-up waits for
// each in turn; here each wait is that of all look-ups together, because the
// processor goes on to loads that do not depend on one that is still out.
// (The idea is known as group prefetching: Chen, Ailamaki, Gibbons, Mowry,
// "Improving hash join performance through prefetching", 2004.)
func (m *Memory) fetch(refs []Ref, g *group) {
	var tables [MaxMultiGet]*indexTable
	for i := range refs {
		g.hashes[i] = m.index.hash(&refs[i])
		tables[i] = m.index.stripe(g.hashes[i]).table.Load()
	}
	var fetched uint64 // makes the compiler keep the loads
	for i := range refs {
		fetched += tables[i].buckets[tables[i].bucket(g.hashes[i])].tags.Load()
	}
	for i := range refs {
		g.docs[i] = tables[i].first(g.hashes[i])
	}
	for i := range refs {
		if d := g.docs[i]; d != nil {
			fetched += uint64(d.Owner())
		}
	}
	for i := range refs {
		if d := g.docs[i]; d != nil {
			fetched += uint64(d.Fetch())
		}
	}
	m.fetched(fetched)
}

//go:noinline
func (m *Memory) fetched(uint64) {}

// first returns a document that has this tag, most likely the one with this
// hash, or nil.
func (t *indexTable) first(h uint64) *row.Document {
	b := &t.buckets[t.bucket(h)]
	found := match(b.tags.Load(), tagOf(h))
	if found == 0 {
		return nil
	}
	return b.docs[bits.TrailingZeros64(found)/8].Load()
}
