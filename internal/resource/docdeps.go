package resource

import (
	"math"
	"slices"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// Documents of which a change does not always name the keys are kept as lists of one row
// are: with the versions that they depend on, which a hit looks at. That a row was part of a
// document is not known where the feed does not tell the row's old values, nor where rows
// lead to documents by paths. The database has said it when each document was read.
//
// Of the keys that a change does name, documents are dropped at once, as all are: it frees
// memory, and those who watch are told.

// A docDeps is what a revision has of whose documents some depend on versions.
type docDeps struct {
	f     *revision
	paths []source.Path // by which rows lead to documents; nil: deps say how
	deps  []source.Dep  // of tables whose rows are within documents

	// named says that changes name each row's own document, so that versions are for keys that
	// have other texts: see askEqual.
	named bool
	root  *listRoot // the table whose rows the documents are; nil: changes tell no tags of it
}

// Paths returns the paths of a plan; nil: it has none.
func Paths(p source.Plan) []source.Path {
	if plan, ok := p.(source.Pathed); ok {
		return plan.Paths()
	}
	return nil
}

// trackDeps has the documents of f depend on versions if changes do not always name their
// keys. It runs where complete does, before f has a space.
func (f *revision) trackDeps() {
	if paths := Paths(f.plan); paths != nil {
		f.docDeps = &docDeps{f: f, paths: paths}
	} else if len(Tracked(f.plan)) > 0 {
		f.docDeps = &docDeps{f: f, deps: f.deps()}
	} else if f.wide {
		f.docDeps = &docDeps{f: f, deps: f.deps(), named: true}
	}
	if f.docDeps != nil && f.wide && f.plan.Table() != nil {
		f.docDeps.root = f.rootOf(f.plan.Deps())
	}
}

// deps returns the dependencies of f as far as changes of rows can name its documents.
func (f *revision) deps() []source.Dep {
	list := slices.Clone(f.plan.Deps())
	if f.wide { // a child's text for the key may be another one than the parent's
		for i := range list[1:] {
			list[1+i].Columns, list[1+i].Identity = nil, nil
		}
	}
	return list
}

// A docQuestion is what a document depends on, as far as its key says, and the templates of what
// reading it tells.
type docQuestion struct {
	fresh.Question

	// steps are those of the paths, by path and step; the template is nil where a document
	// depends on all rows of the table.
	steps [][]named

	rows []namedRows

	// own are the rows of the root. unnamed is the root where the answer depends on all of its
	// rows unless the row that is found has the very key that is asked for.
	own     named
	unnamed *fresh.Table
}

// namedRows are rows of a table within a document of which the feed may not know what they
// were: each is named once it is read.
type namedRows struct {
	name string // of the table
	named
}

// ask returns what the document of a key depends on.
func (w *docDeps) ask(key row.Key) *docQuestion {
	if w.paths != nil {
		return w.askPaths(key)
	}
	a, deps := &docQuestion{}, w.deps
	if w.f.wide && w.askEqual(a, key) {
		deps = deps[1:]
	}
	for i := range deps {
		w.askDep(a, &deps[i], key)
	}
	return a
}

// askDep adds what the document of a key depends on of one table: the tag of the rows that
// are within it by their values, and each row that is read where a feed may not know in
// which document it was.
func (w *docDeps) askDep(a *docQuestion, d *source.Dep, key row.Key) {
	t := w.f.src.table(d.Table)
	of, rows := named{table: t.versions}, named{table: t.versions}
	names := !d.KnowsOld && len(d.Identity) > 0
	if len(d.Columns) > 0 {
		of.by = w.tagColumns(t, &fresh.TagColumns{Columns: d.Columns, Forgets: !d.KnowsOld,
			Identity: !d.KnowsOld && !names})
	}
	if names {
		rows.by = w.tagColumns(t, &fresh.TagColumns{Columns: d.Identity, Forgets: true,
			Identity: true})
	}
	if of.by == nil || names && rows.by == nil {
		a.Tags = append(a.Tags, fresh.Tag{Table: t.versions})
		return
	}
	a.Tags = append(a.Tags, of.tag(string(key)))
	if names {
		a.Read = append(a.Read, t.versions)
		a.rows = append(a.rows, namedRows{d.Table, rows})
	}
}

// askPaths returns what the document of a key depends on by paths.
func (w *docDeps) askPaths(key row.Key) *docQuestion {
	a := &docQuestion{steps: make([][]named, len(w.paths))}
	parts, ok := row.SplitKey(key, len(w.f.key))
	for i := range w.paths {
		x := &w.paths[i]
		a.steps[i] = make([]named, len(x.Steps))
		known := ok
		for j := range x.Steps {
			n := named{table: w.f.src.table(x.Steps[j].Table).versions}
			if known = known && x.Steps[j].Named && len(x.Steps[j].On) > 0; known {
				n.by = w.stepTagColumns(&x.Steps[j])
			}
			if known = n.by != nil; !known {
				a.Tags = append(a.Tags, fresh.Tag{Table: n.table})
				continue
			}
			if a.steps[i][j] = n; n.by.OldUnknown {
				a.Tags = append(a.Tags, n.tag(fresh.Unseen))
			}
			if j > 0 {
				a.Read = append(a.Read, n.table)
				continue
			}
			ends := make([]string, len(x.Parts))
			for k, part := range x.Parts {
				ends[k] = parts[part]
			}
			a.Tags = append(a.Tags, n.tag(string(row.JoinKey(ends...))))
		}
	}
	return a
}

func (n *named) tag(key string) fresh.Tag {
	return fresh.Tag{Table: n.table, TagColumns: n.by, Key: key}
}

// stepTagColumns returns the template of the rows of a step; nil: there is no room for it.
func (w *docDeps) stepTagColumns(s *source.Step) *fresh.TagColumns {
	return w.tagColumns(w.f.src.table(s.Table),
		&fresh.TagColumns{Columns: s.On, OldUnknown: !s.KnowsOld})
}

// pinned is when a template was of use last that documents depend on: they do not say each
// time that it is.
const pinned = math.MaxInt64

// tagColumns returns the template that is like another, which stays; nil: there is no room.
func (w *docDeps) tagColumns(t *listTable, like *fresh.TagColumns) *fresh.TagColumns {
	tm := w.f.src.tagColumns(t, like)
	if tm == nil || !slices.Equal(tm.Columns, like.Columns) {
		return nil
	}
	pin(tm)
	return tm
}

func pin(tm *fresh.TagColumns) {
	if tm != nil && tm.Used.Load() != pinned {
		tm.Used.Store(pinned)
	}
}

// unpin lets go of the templates: other revisions that use them pin them again.
func (w *docDeps) unpin() {
	now := seconds()
	w.f.src.tables.Range(func(_, t any) bool {
		for _, tm := range *t.(*listTable).tagColumns.Load() {
			tm.Used.CompareAndSwap(pinned, now)
		}
		return true
	})
}

// maxRows is how many rows within a document are named; with more it depends on all rows of
// their tables.
const maxRows = 1024

// found returns the tags that reading a document has told, and whether these are all that
// it depends on: else some are all rows of a table.
func (a *docQuestion) found(l *source.Loaded) (list []fresh.Tag, precise bool) {
	precise = true
	for i := range l.Led {
		led := &l.Led[i]
		steps := a.steps[led.Path][led.Step:]
		switch {
		case led.Over:
			precise = false
			for j := range steps {
				if steps[j].by != nil {
					list = append(list, fresh.Tag{Table: steps[j].table})
				}
			}
		case steps[0].by != nil:
			list = append(list, steps[0].tag(string(led.By)))
		}
	}
	if len(l.Children) > maxRows {
		return whole(a.Read), false
	}
	if a.own.by != nil && l.Found() {
		list = append(list, a.own.tag(string(l.Key)))
	}
	if a.unnamed != nil && l.Key != l.Asked {
		list = append(list, fresh.Tag{Table: a.unnamed})
	}
	for i := range l.Children {
		for j := range a.rows {
			if a.rows[j].name == l.Children[i].Table {
				list = append(list, a.rows[j].tag(string(l.Children[i].ID)))
			}
		}
	}
	return list, precise
}

// copyOf returns what is known of the versions that a document depends on; nil: it depends on
// none.
func copyOf(doc *row.Document) *fresh.ReadSet {
	c, _ := doc.Attached().(*fresh.ReadSet)
	return c
}

// finish ends the lease of a document, which is kept if the lease allows.
func (w *docDeps) finish(
	l *fresh.Lease, doc *row.Document, found *source.Loaded, elsewhere bool,
) {
	if w.named && found.Found() && found.Key == l.Key {
		w.f.finishDocument(l, doc, found, elsewhere)
		return
	}
	classes, precise := l.With.(*docQuestion).found(found)
	var store func(*fresh.ReadSet)
	if !elsewhere && w.f.keeps(l, found) {
		put := w.f.store(l, doc)
		store = func(c *fresh.ReadSet) {
			if found.Key != l.Key {
				c.Row = found.Key
			}
			doc.Attach(c)
			put()
		}
	}
	w.f.space.FinishList(l, doc, nil, classes, store)
	if l.Stored() && !precise {
		w.f.r.counts.over.Add(1)
	}
}
