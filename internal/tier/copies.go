package tier

import (
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/arena"
	"github.com/hotrow/hotrow/internal/row"
)

// KeepCopy keeps k, a compressed copy of d, with d if m holds d for ref, and reports whether
// it did. The copy's bytes are within m's bound, and it goes when d goes. Unlike Put this
// needs no order with Drop: it never makes anything appear, and a document that has been
// dropped meanwhile, or replaced, gets no copy.
func (m *Memory) KeepCopy(ref Ref, d, k *row.Document) bool {
	var e entry
	if entryHead+d.Size()+entryHead+len(ref.Key)+k.Size() > m.largest || !hasCopies(d) ||
		!e.set(&ref, k, m.put.Load(), 0) {
		return false
	}
	made := m.write(e.head[:e.size], row.BytesOf(string(ref.Key)), k.Body())
	if made == 0 {
		return false
	}
	s := m.arena.Enter()
	defer s.Leave()
	c := itemOf(s.View(made))
	if !m.linkCopy(s, &ref, d, made, &c) {
		m.arena.Free(made)
		return false
	}
	return true
}

// linkCopy makes c the first copy of the entry of d, if that is there and has none like it.
func (m *Memory) linkCopy(
	s arena.Section, ref *Ref, d *row.Document, made arena.Ref, c *item,
) bool {
	st := m.index.stripe(tagOf(m.index.hash(ref)))
	st.mu.Lock()
	defer st.mu.Unlock()
	x, at := m.present(s, ref)
	if at == nil || !x.same(d) {
		return false
	}
	for k := x.copies(); k != 0; {
		other := itemOf(s.View(k))
		if other.coding() == c.coding() {
			return false
		}
		k = other.copies()
	}
	c.setCopies(x.copies())
	x.setCopies(made)
	m.copyBytes.Add(m.takes(c))
	return true
}

// present is search where the stripe of ref is locked.
func (m *Memory) present(s arena.Section, ref *Ref) (item, *atomic.Uint64) {
	x, at, _ := m.search(s, m.index.hash(ref), ref)
	return x, at
}

// dropCopy takes a copy away from its document, and frees it, if it is there still.
func (m *Memory) dropCopy(s arena.Section, ref arena.Ref, c *item) {
	of := c.ref()
	st := m.index.stripe(tagOf(m.index.hash(&of)))
	st.mu.Lock()
	defer st.mu.Unlock()
	x, at := m.present(s, &of)
	if at == nil {
		return
	}
	before := &x
	for k := x.copies(); k != 0; {
		other := itemOf(s.View(k))
		if k == ref {
			before.setCopies(other.copies())
			m.copyBytes.Add(-m.takes(&other))
			m.arena.Free(ref)
			return
		}
		before, k = &other, other.copies()
	}
}

// Holds reports whether m holds d for ref.
func (m *Memory) Holds(ref Ref, d *row.Document) bool {
	s := m.arena.Enter()
	defer s.Leave()
	x, at := m.present(s, &ref)
	return at != nil && x.same(d)
}

// Ask notes that the copy of d in coding c is to be made, and reports whether nobody has asked
// before; see row.Document.Ask. Unask lets somebody else ask.
func (m *Memory) Ask(ref Ref, d *row.Document, c row.Coding) bool { return m.ask(&ref, d, c, true) }

// Unask lets somebody else ask for the copy.
func (m *Memory) Unask(ref Ref, d *row.Document, c row.Coding) { m.ask(&ref, d, c, false) }

func (m *Memory) ask(ref *Ref, d *row.Document, c row.Coding, asked bool) bool {
	s := m.arena.Enter()
	defer s.Leave()
	x, at := m.present(s, ref)
	return at != nil && x.same(d) && x.ask(c, asked)
}
