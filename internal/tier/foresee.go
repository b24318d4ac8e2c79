package tier

import (
	"math/bits"

	"github.com/hotrow/hotrow/internal/row"
)

// Foreseen is how many look-ups are foreseen together: more than processors
// wait for at once.
const Foreseen = 16

// A Foreseer is a Tier that can begin several look-ups before any is made.
type Foreseer interface {
	Tier

	// Foresee has the processor fetch what Get will read of up to Foreseen refs.
	// It is a hint, and changes nothing. refs may alias a buffer.
	Foresee(refs []Ref)
}

var _ Foreseer = (*Memory)(nil)

// Foresee implements Foreseer. A look-up among many documents is a chain of
// places that are in no cache: bucket, document, text. One look-up waits for
// each in turn; here each wait is that of all look-ups together, because the
// processor goes on to loads that do not depend on one that is still out.
// (The idea is known as group prefetching: Chen, Ailamaki, Gibbons, Mowry,
// "Improving hash join performance through prefetching", 2004.)
func (m *Memory) Foresee(refs []Ref) {
	refs = refs[:min(len(refs), Foreseen)]
	var hashes [Foreseen]uint64
	var tables [Foreseen]*indexTable
	var docs [Foreseen]*row.Document
	for i := range refs {
		hashes[i] = m.index.hash(&refs[i])
		tables[i] = m.index.stripe(hashes[i]).table.Load()
	}
	var fetched uint64 // makes the compiler keep the loads
	for i := range refs {
		fetched += tables[i].buckets[tables[i].bucket(hashes[i])].tags.Load()
	}
	for i := range refs {
		docs[i] = tables[i].first(hashes[i])
	}
	for i := range refs {
		if docs[i] != nil {
			fetched += uint64(docs[i].Owner())
		}
	}
	for i := range refs {
		if docs[i] != nil {
			fetched += uint64(docs[i].Fetch())
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
