package resource

import (
	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// Invalidate forgets the row of key as if a change of it had been told: its document in every
// revision, the lists that it is in or may be in, and the documents that hold it, of other
// resources too. Whoever watches is told. With no key it is every row of the table. Nobody
// knows what else the row was: where the key does not say it, all that depends on the table
// is forgotten. Of a query, which names no row, it is its own documents and lists.
func (r *Resource) Invalidate(key *row.Key) error {
	f := r.revision.Load()
	if f.plan == nil {
		return nil // nothing was ever kept
	}
	var k row.Key
	if key != nil {
		var err error
		if k, err = f.canonical(*key); err != nil {
			return err
		}
	}
	r.counts.admin.Add(1)
	touched := f.src.invalidate(f, k, key == nil)
	if key == nil {
		f.src.redefined(f)
	}
	for _, g := range touched {
		if err := g.synced(); err != nil {
			return err
		}
	}
	return nil
}

// Forget forgets the document of key alone, of which the caller knows that a change is about
// to be told.
func (r *Resource) Forget(key row.Key) error {
	f := r.revision.Load()
	if f.plan == nil {
		return nil
	}
	k, err := f.canonical(key)
	if err != nil {
		return err
	}
	f.space.Drop(k)
	return f.synced()
}

// invalidate applies what an operator says of f's row k, or of all of them, and returns the
// revisions whose documents it touches.
func (u *sourceState) invalidate(f *revision, k row.Key, all bool) (touched []*revision) {
	u.apply.Lock()
	defer u.apply.Unlock()
	tx := f.changeOf(k, all)
	tx.Pos = source.Position(u.domain.Applied().Pos)
	a := &applied{tx: tx, invalidations: f.named(u.invalidations(tx), k, all)}
	u.domain.Apply(fresh.Position(tx.Pos), a.invalidations, nil, monotonic())
	announceTo(a, a.invalidations, u, u.bySpace)
	for i := range a.invalidations {
		if g := u.bySpace[a.invalidations[i].Space]; g != nil {
			touched = append(touched, g)
		}
	}
	return touched
}

// changeOf returns the transaction that changes f's row k, or all of them: of the row it tells
// the key, unless the database takes other texts for the same.
func (f *revision) changeOf(k row.Key, all bool) *source.Tx {
	deps := f.plan.Deps()
	if f.spec.Table.Table == "" || len(deps) == 0 {
		return &source.Tx{}
	}
	own := &deps[0]
	if all {
		return &source.Tx{Tables: []string{own.Table}}
	}
	var t source.Tuple
	if parts, ok := row.SplitKey(k, len(own.Columns)); ok && !f.wide {
		for i, c := range own.Columns {
			t = append(t, source.Cell{Column: c, Text: parts[i]})
		}
	}
	return &source.Tx{Changes: []source.Change{{Table: own.Table, Op: source.Update, Old: t,
		New: t}}}
}

// named has the touches name f's own documents, and its lists, as the operator has: k alone, or
// all. Where the row may be kept under another text than k, it is all.
func (f *revision) named(
	invalidations []fresh.Invalidation, k row.Key, all bool,
) []fresh.Invalidation {
	all = all || f.wide && !f.keepsKey(k, true)
	own := fresh.Invalidation{Space: f.space, Whole: all}
	if !all {
		own.Keys = []row.Key{k}
	}
	list := []fresh.Invalidation{own}
	for i := range invalidations {
		if t := &invalidations[i]; t.InvalidationSet != nil || t.Space != f.space {
			list = append(list, *t)
		}
	}
	if f.lists != nil && (all || f.spec.Table.Table == "") {
		list = append(list, fresh.Invalidation{Space: f.lists, Whole: true})
	}
	return list
}

// keepsKey reports whether memory or the disk has a good document of k in any revision; own
// asks for that of a row which has this very key.
func (f *revision) keepsKey(k row.Key, own bool) bool {
	if f.memory == nil {
		return false
	}
	for of := range row.Format(row.NumFormats) {
		ref := tier.Ref{Resource: f.number, Format: of, Key: k}
		doc, kept := f.memory.Get(ref)
		kept = kept && f.valid(doc) && (!own || !doc.Absent() && f.isOwn(doc))
		if !kept && f.disk != nil {
			_, kept = f.disk.Get(ref)
		}
		if kept {
			return true
		}
	}
	return false
}
