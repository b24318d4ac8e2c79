package tier

import (
	"math"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/arena"
	"github.com/hotrow/hotrow/internal/row"
)

// An alias is an entry by which an answer is found that is kept under another key, in the same
// format: its body is that key. With it stand the number that the answer has, where other
// entries have a generation, and its tag, where they have an epoch. Before the key, at a
// multiple of 8, is where the answer was when it was last found: its Ref above, the number of
// its put (item.born) below. A hit of an alias hashes one key, compares one, lends one document
// and counts once.

// PutAlias has Follow find by alias what is kept for to, which has the same format. Follow has to
// name what the alias is valid for; one that is valid for 0 always is.
func (m *Memory) PutAlias(alias, to Ref, validFor uint64) {
	begin := entryHead + len(alias.Key)
	body := append(make([]byte, foundAt(begin)+8-begin), to.Key...)
	m.Put(alias, row.NewDocument("", alias.Format, body, validFor,
		row.Stamp{Epoch: uint64(tagOf(m.index.hash(&to))), Generation: uint64(to.Resource),
			Owner: alias.Resource}))
}

// foundAt returns where an alias says where its answer was found, whose body begins at a place.
func foundAt(body int) int { return (body + 7) &^ 7 }

// leads returns what an alias leads to.
func (x *item) leads() (to Ref, tag uint32) {
	return Ref{Resource: x.Uint32(atGeneration), Format: x.format,
		Key: row.Key(x.Text(foundAt(x.body)+8, x.Len()))}, x.Uint32(atEpoch)
}

// Follow is Get of what alias leads to, if it is valid for now. What it has lent is the answer.
func (r *Reader) Follow(m *Memory, alias *Ref, now uint64) *row.Document {
	s, h := r.enter(m), m.index.hash(alias)
	x, at, _ := m.search(s, h, alias)
	if at == nil {
		m.lookups.miss()
		return nil
	}
	var d *row.Document
	if validFor := x.Uint64(atHash); validFor == 0 || validFor == now {
		if to, at, word := m.follow(s, &x); at != nil {
			d = r.lend(m, s, &to, at, word)
		}
	}
	if d == nil {
		m.lookups.miss()
		return nil
	}
	if every := m.noteEvery(); notes(m.lookups.hit(), every) {
		m.sketch.note(tagOf(h))
		m.noteHit(x.Uint32(atEpoch), d, every)
	}
	return d
}

// follow is search of what an alias leads to.
func (m *Memory) follow(s arena.Section, x *item) (to item, at *atomic.Uint64, word uint64) {
	found, tag := x.Load(foundAt(x.body)), x.Uint32(atEpoch)

	// Fast path: an entry with the answer's tag, number and put is there still. It is read only
	// if the index has it, so what it was before cannot be seen.
	word = wordOf(refOf(found), tag)
	if at = m.index.stripe(tag).find(word); at != nil && found != 0 {
		to = itemOf(s.View(refOf(found)))
		if to.born() == uint32(found) && to.Uint32(atResource) == x.Uint32(atGeneration) {
			return to, at, word
		}
	}

	// Slow path: it has been replaced, or has gone.
	ref, _ := x.leads()
	if to, at, word = m.search(s, hashOf(tag), &ref); at != nil {
		x.CompareAndSwap(foundAt(x.body), found, word&^math.MaxUint32|uint64(to.born()))
	}
	return to, at, word
}

// Leads returns what alias leads to, and what it is valid for. It counts for nothing.
func (r *Reader) Leads(m *Memory, alias *Ref) (to Ref, validFor uint64, ok bool) {
	x, at, _ := m.search(r.enter(m), m.index.hash(alias), alias)
	if at == nil {
		return Ref{}, 0, false
	}
	to, _ = x.leads()
	return to, x.Uint64(atHash), true
}

// PrefetchAliases is Prefetch of what Follow will read of aliases, and of what these lead to. It
// returns in attached what is most likely attached to the answers, nil where that is not known.
func (r *Reader) PrefetchAliases(m *Memory, aliases []Ref, attached *[MaxMultiGet]row.Attachment) {
	var tags [MaxMultiGet]uint32
	var found [MaxMultiGet]arena.Ref
	for i := range aliases {
		tags[i] = tagOf(m.index.hash(&aliases[i]))
	}
	r.fetchTags(m, tags[:len(aliases)], &found)
	n := 0
	for _, ref := range found[:len(aliases)] {
		if ref != 0 {
			tags[n] = r.section.View(ref).Uint32(atEpoch)
			n++
		}
	}
	r.fetchTags(m, tags[:n], &found)
	clear(attached[:])
	for i, ref := range found[:n] {
		if ref == 0 {
			continue
		}
		x := itemOf(r.section.View(ref))
		if number := x.attachment(); number != 0 {
			attached[i] = m.attached.get(number)
		}
	}
}
