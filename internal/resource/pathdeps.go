package resource

import (
	"slices"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// Documents of a source.Pathed are kept as lists are: with the words that they depend on,
// which a hit looks at. Rows do not say which of them they are part of: that the database
// has said when each was read.

// A pathForm is what a form has whose documents depend on rows by paths.
type pathForm struct {
	f     *form
	paths []source.Path
}

// Paths returns the paths of a plan; nil: it has none.
func Paths(p source.Plan) []source.Path {
	if plan, ok := p.(source.Pathed); ok {
		return plan.Paths()
	}
	return nil
}

// keepByPaths has the documents of f kept in store if its plan has paths. It runs where
// complete does, before f has a space.
func (f *form) keepByPaths(store *listStore) {
	paths := Paths(f.plan)
	if paths == nil || f.memory == nil {
		return
	}
	if store.budget == 0 {
		f.memory = nil
		return
	}
	f.kept, f.paths = store, &pathForm{f, paths}
	f.memory = pathTier{f.paths}
}

// pathedBy adds the forms to list whose documents may depend by paths on rows that a
// transaction has changed: only a read says which do. u.apply is held.
func (u *upstream) pathedBy(list []*form, changes []source.Change, tables []string) []*form {
	if len(u.pathed) == 0 {
		return list
	}
	add := func(table string) {
		for _, f := range u.pathed[table] {
			if !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
	}
	for _, t := range tables {
		add(t)
	}
	last := ""
	for i := range changes {
		if t := changes[i].Table; t != last {
			add(t)
			last = t
		}
	}
	return list
}

// A pathAsk is what a document depends on, as far as its key says, and the templates of what
// reading it tells: by path and step, nil where that is all rows of the table.
type pathAsk struct {
	fresh.Question
	steps [][]named
}

// ask returns what the document of a key depends on.
func (p *pathForm) ask(key row.Key) *pathAsk {
	a := &pathAsk{steps: make([][]named, len(p.paths))}
	parts, ok := row.SplitKey(key, len(p.f.key))
	for i := range p.paths {
		x := &p.paths[i]
		a.steps[i] = make([]named, len(x.Steps))
		known := ok
		for j := range x.Steps {
			n := named{table: p.f.src.table(x.Steps[j].Table).words}
			if known = known && x.Steps[j].Named && len(x.Steps[j].On) > 0; known {
				n.by = p.template(&x.Steps[j])
			}
			if known = n.by != nil; !known {
				a.Classes = append(a.Classes, fresh.Class{Table: n.table})
				continue
			}
			if a.steps[i][j] = n; n.by.OldUnknown {
				a.Classes = append(a.Classes, n.class(fresh.Unseen))
			}
			if j > 0 {
				a.Read = append(a.Read, n.table)
				continue
			}
			ends := make([]string, len(x.Parts))
			for k, part := range x.Parts {
				ends[k] = parts[part]
			}
			a.Classes = append(a.Classes, n.class(string(row.JoinKey(ends...))))
		}
	}
	return a
}

func (n *named) class(key string) fresh.Class {
	return fresh.Class{Table: n.table, Template: n.by, Key: key}
}

// template returns the template of the rows of a step; nil: there is no room for it.
func (p *pathForm) template(s *source.Step) *fresh.Template {
	t := p.f.src.table(s.Table)
	tm := p.f.src.template(t, &fresh.Template{Columns: s.On, OldUnknown: !s.KnowsOld})
	if tm == nil || !slices.Equal(tm.Columns, s.On) {
		return nil
	}
	return tm
}

// found returns the classes that reading a document has told, and whether these are all that
// it depends on: else some are all rows of a table.
func (a *pathAsk) found(led []source.Led) (list []fresh.Class, precise bool) {
	precise = true
	for i := range led {
		l := &led[i]
		steps := a.steps[l.Path][l.Step:]
		switch {
		case l.Over:
			precise = false
			for j := range steps {
				if steps[j].by != nil {
					list = append(list, fresh.Class{Table: steps[j].table})
				}
			}
		case steps[0].by != nil:
			list = append(list, steps[0].class(string(l.By)))
		}
	}
	return list, precise
}

// get returns the document in memory whose words are good. It takes no lock.
func (p *pathForm) get(ref tier.Ref, now int64) *row.Document {
	if slot := p.f.kept.spelled(ref.Resource, ref.Format, string(ref.Key)); slot != nil {
		return slot.document(now)
	}
	return nil
}

// find is get of a key whose place may have been forgotten.
func (p *pathForm) find(ref tier.Ref, now int64) *row.Document {
	slot := p.f.kept.get(listKey{ref.Resource, ref.Format, string(ref.Key)})
	if slot == nil {
		return nil
	}
	doc := slot.document(now)
	if doc != nil {
		p.f.kept.spell(&ListAsk{Alone: true, Raw: slot.key.text}, slot)
	}
	return doc
}

// document returns the document in a slot if its words are good.
func (s *listSlot) document(now int64) *row.Document {
	l := s.list.Load()
	if l == nil || !l.copy.Valid() {
		return nil
	}
	if now = inSeconds(now); s.used.Load() != now {
		s.used.Store(now)
		l.use(now)
	}
	return l.Doc
}

// finish ends the lease of a document, which is kept if the lease and the store allow.
func (p *pathForm) finish(
	l *fresh.Lease, doc *row.Document, found *source.Loaded, elsewhere bool,
) {
	f, ask := p.f, l.With.(*pathAsk)
	classes, precise := ask.found(found.Led)
	var store func(*fresh.Copy)
	large := doc.Size() > maxKeptList || int64(doc.Size()) > f.kept.budget/8
	switch {
	case elsewhere, !f.keeps(l, found):
	case large:
		f.r.counts.lists.tooLarge.Add(1)
	default:
		key := listKey{f.number, l.Format, string(l.Key)}
		list := &List{Doc: doc, by: ask.templates()}
		store = func(c *fresh.Copy) {
			list.copy = c
			slot := f.kept.put(key, list, seconds())
			f.kept.spell(&ListAsk{Alone: true, Raw: key.text}, slot)
		}
	}
	f.space.FinishList(l, doc, nil, classes, store)
	if l.Stored() && !precise {
		f.r.counts.over.Add(1)
	}
}

// templates returns the templates by which what a document depends on is told apart.
func (a *pathAsk) templates() (list []*fresh.Template) {
	for _, steps := range a.steps {
		for _, n := range steps {
			if n.by != nil && !slices.Contains(list, n.by) {
				list = append(list, n.by)
			}
		}
	}
	return list
}

// A pathTier is the memory of a form with paths: the part of a listStore that its documents
// are in. It returns only what its words say is good.
type pathTier struct{ *pathForm }

// Get implements tier.Tier.
func (t pathTier) Get(ref tier.Ref) (*row.Document, bool) {
	doc := t.find(ref, monotonic())
	return doc, doc != nil
}

// Put implements tier.Tier. Nobody says on what d depends.
func (t pathTier) Put(ref tier.Ref, _ *row.Document) { t.Drop(ref) }

// Drop implements tier.Tier.
func (t pathTier) Drop(ref tier.Ref) {
	t.f.kept.forget(listKey{ref.Resource, ref.Format, string(ref.Key)})
}

// Stats implements tier.Tier.
func (t pathTier) Stats() tier.Stats {
	s := t.f.kept.stats()
	return tier.Stats{Entries: uint64(s.Entries), Bytes: uint64(s.Bytes),
		MaxBytes: uint64(s.MaxBytes), Evictions: s.Evicted}
}

// Close implements tier.Tier.
func (pathTier) Close() error { return nil }
