package tier

import (
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/arena"
	"github.com/hotrow/hotrow/internal/row"
)

// MaxMultiGet is how many look-ups are made together: more than processors wait for at
// once.
const MaxMultiGet = 16

// keptLent is how many documents a Reader lends without allocating them anew: more than an
// event loop answers with in a turn, but for long commands of many keys.
const keptLent = 1024

// A Reader lends what a Memory holds, without a copy. It belongs to one goroutine, an event
// loop most of all, which begins with it at each of its turns. What it has lent is good until
// Begin or End: whoever needs a document for longer takes row.Document.Keep of it. Between
// Begin and End the goroutine waits for nobody, because nothing that is freed meanwhile can be
// used again. The zero Reader is ready.
type Reader struct {
	section arena.Section
	in      *Memory // that section is of; nil: none
	number  uint32  // tells readers apart
	lent    []*row.Document
	n       int // of lent, in use
}

// Begin ends what was lent before.
func (r *Reader) Begin() { r.End() }

// End ends what was lent.
func (r *Reader) End() {
	if r.in != nil {
		r.section.Leave()
		r.in, r.section = nil, arena.Section{}
		if r.n = 0; len(r.lent) > keptLent {
			clear(r.lent[keptLent:])
			r.lent = r.lent[:keptLent]
		}
	}
}

// Reuse says that nothing that was lent before is used any more: the next documents take its
// place.
func (r *Reader) Reuse() { r.n = 0 }

// enter returns the present section of m.
func (r *Reader) enter(m *Memory) arena.Section {
	if r.in != m {
		if r.End(); r.number == 0 {
			r.number = uint32(stackHash()) | 1
		}
		r.section, r.in = m.arena.EnterAt(r.number), m
	}
	return r.section
}

// Get returns what m holds for ref, nil: nothing. It takes no lock of ours and, but for the
// first documents that r lends, allocates nothing (TestReader_AllocatesNothing). ref.Key may
// alias a buffer.
func (r *Reader) Get(m *Memory, ref *Ref) *row.Document {
	return r.get(m, m.index.hash(ref), ref)
}

// Peek is Get of who asks for no client: it counts for nothing.
func (r *Reader) Peek(m *Memory, ref *Ref) *row.Document {
	return r.look(m, m.index.hash(ref), ref)
}

func (r *Reader) get(m *Memory, h uint64, ref *Ref) *row.Document {
	d := r.look(m, h, ref)
	if d == nil {
		m.lookups.miss()
		return nil
	}
	if every := m.noteEvery(); notes(m.lookups.hit(), every) {
		m.noteHit(tagOf(h), d, every)
	}
	return d
}

// noteEvery returns of how many hits one is noted.
func (m *Memory) noteEvery() int {
	if m.evicted.Load() > 0 {
		return noteEvicting
	}
	return noteResting
}

// noteHit lets the eviction, and the models of other sizes, know of a hit, one in every.
func (m *Memory) noteHit(tag uint32, d *row.Document, every int) {
	m.sketch.note(tag)
	if m.ghosts.picks(tag) {
		m.ghosts.note(tag, m.arena.SlotBytes(entryBytes(len(d.Key()), d)), every)
	}
}

func (r *Reader) look(m *Memory, h uint64, ref *Ref) *row.Document {
	s := r.enter(m)
	x, at, word := m.search(s, h, ref)
	if at == nil {
		return nil
	}
	return r.lend(m, s, &x, at, word)
}

// lend lends what search has found.
func (r *Reader) lend(
	m *Memory, s arena.Section, x *item, at *atomic.Uint64, word uint64,
) *row.Document {
	d := r.next()
	x.lend(d)

	// Fast path: nothing more.
	if !x.hasAttachment() && x.copies() == 0 {
		return d
	}

	// Slow path. What is attached was taken away with the entry if that has left its place.
	if n := x.attachment(); n != 0 {
		a := m.attached.get(n)
		if at.Load() != word {
			return nil // dropped, replaced or moved: ask again
		}
		d.Attach(a)
	}
	last := d
	for k := x.copies(); k != 0; {
		c, lent := itemOf(s.View(k)), r.next()
		c.lend(lent)
		last.AddCopy(lent)
		last, k = lent, c.copies()
	}
	return d
}

// next returns a document to lend.
func (r *Reader) next() *row.Document {
	if r.n == len(r.lent) {
		r.lent = append(r.lent, new(row.Document))
	}
	r.n++
	return r.lent[r.n-1]
}

// notes reports whether the nth hit is noted, one in every: at distances that no pattern of
// requests keeps step with.
func notes(n uint64, every int) bool {
	return n*0x9e3779b97f4a7c15 < ^uint64(0)/uint64(every)
}

// MultiGet is Get of up to MaxMultiGet refs: docs[i] is what m holds for refs[i], nil for
// nothing. refs may alias buffers.
func (r *Reader) MultiGet(m *Memory, refs []Ref, docs []*row.Document) {
	var hashes [MaxMultiGet]uint64
	r.fetch(m, refs, &hashes)
	for i := range refs {
		docs[i] = r.get(m, hashes[i], &refs[i])
	}
}

// Prefetch has the processor fetch what Get will read of up to MaxMultiGet refs. It is a
// hint, and changes nothing. refs may alias buffers.
func (r *Reader) Prefetch(m *Memory, refs []Ref) {
	var hashes [MaxMultiGet]uint64
	r.fetch(m, refs[:min(len(refs), MaxMultiGet)], &hashes)
}

// fetchedLines is how many cache lines of an entry are fetched: from there on, the processor
// has seen that the rest is read in order.
const fetchedLines = 5

// fetch finds what the index most likely has for refs. A look-up among many documents is a
// chain of places that are in no cache: bucket, entry. One look-up waits for each in turn;
// here each wait is that of all look-ups together, because the processor goes on to loads that
// do not depend on one that is still out. (The idea is known as group prefetching: Chen,
// Ailamaki, Gibbons, Mowry, "Improving hash join performance through prefetching", 2004.)
func (r *Reader) fetch(m *Memory, refs []Ref, hashes *[MaxMultiGet]uint64) {
	var tags [MaxMultiGet]uint32
	var found [MaxMultiGet]arena.Ref
	for i := range refs {
		hashes[i] = m.index.hash(&refs[i])
		tags[i] = tagOf(hashes[i])
	}
	r.fetchTags(m, tags[:len(refs)], &found)
}

// fetchTags is fetch of what has these tags. It is found where the index most likely has it.
func (r *Reader) fetchTags(m *Memory, tags []uint32, found *[MaxMultiGet]arena.Ref) {
	s := r.enter(m)
	var homes [MaxMultiGet]*bucket
	for i, tag := range tags {
		homes[i], _ = m.index.stripe(tag).both(tag)
	}
	for i, tag := range tags {
		found[i] = homes[i].first(tag)
	}
	var fetched uint64 // makes the compiler keep the loads
	for i := range tags {
		if found[i] != 0 {
			v := s.View(found[i])
			for at := 0; at < min(v.Len()-8, fetchedLines*64); at += 64 {
				fetched += v.Uint64(at)
			}
		}
	}
	m.fetched(fetched)
}

//go:noinline
func (m *Memory) fetched(uint64) {}

// first returns the first entry with a tag, most likely the right one; 0: there is none.
func (b *bucket) first(tag uint32) arena.Ref {
	for i := range b {
		if w := b[i].Load(); uint32(w) == tag {
			return refOf(w)
		}
	}
	return 0
}
