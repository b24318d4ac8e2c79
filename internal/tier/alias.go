package tier

import (
	"github.com/hotrow/hotrow/internal/arena"
	"github.com/hotrow/hotrow/internal/row"
)

// An alias is an entry by which an answer is found that is kept under another key, in the same
// format: its body is that key. With it stand the number that the answer has, where other
// entries have a generation, and its tag, where they have an epoch. A hit of an alias hashes
// one key, lends one document and counts once.

// PutAlias has Follow find by alias what is kept for to, which has the same format. Follow has to
// name what the alias is valid for; one that is valid for 0 always is.
func (m *Memory) PutAlias(alias, to Ref, validFor uint64) {
	m.Put(alias, row.NewDocument("", alias.Format, row.BytesOf(string(to.Key)), validFor,
		row.Stamp{Epoch: uint64(tagOf(m.index.hash(&to))), Generation: uint64(to.Resource),
			Owner: alias.Resource}))
}

// leads returns what an alias leads to.
func (x *item) leads() (to Ref, tag uint32) {
	return Ref{Resource: x.Uint32(atGeneration), Format: x.format,
		Key: row.Key(x.Text(x.body, x.Len()))}, x.Uint32(atEpoch)
}

// Follow is Get of what alias leads to, if it is valid for now. What it has lent is the answer.
func (r *Reader) Follow(m *Memory, alias *Ref, now uint64) *row.Document {
	h := m.index.hash(alias)
	x, at, _ := m.search(r.enter(m), h, alias)
	if at == nil {
		m.lookups.miss()
		return nil
	}
	validFor := x.Uint64(atHash)
	to, tag := x.leads()
	var d *row.Document
	if validFor == 0 || validFor == now {
		d = r.look(m, hashOf(tag), &to)
	}
	if d == nil {
		m.lookups.miss()
		return nil
	}
	if notes(m.lookups.hit(), m.evicted.Load() > 0) {
		m.sketch.note(tagOf(h))
		m.noteHit(tag, d)
	}
	return d
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
