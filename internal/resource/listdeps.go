package resource

import (
	"slices"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// maxFound is how many tags the rows of a list may tell; with more it depends on all
// rows of the tables that most are of.
const maxFound = 512

// A listRoot is the table whose rows the lists of a revision are, where changes of its rows
// say which of them, and the tables of the rows within its documents.
type listRoot struct {
	table    *listTable
	key      []string // the columns of the key, which name a row
	knows    bool     // the feed says what a row was, or that the whole table has changed
	children []listChild
}

// A listChild is a table whose rows are within documents.
type listChild struct {
	name     string
	table    *listTable
	columns  []string // that have the key of the document; none: nobody knows
	identity []string // that name a row; none: columns do
	knows    bool     // see listRoot
}

// rootOf returns the root of a revision with these dependencies; nil: its lists depend on all
// rows of their tables. It runs where complete does.
func (f *revision) rootOf(deps []source.Dep) *listRoot {
	r := observedRoot(f.table, &deps[0])
	if r == nil {
		return nil
	}
	r.table = f.src.table(deps[0].Table)
	for _, d := range deps[1:] {
		c := listChild{d.Table, f.src.table(d.Table), d.Columns, d.Identity, d.KnowsOld}
		if f.wide { // a child's text for the key may be another one than the parent's
			c.columns = nil
		}
		r.children = append(r.children, c)
	}
	return r
}

// observedRoot returns what a feed reports of the rows of t, where own is the first table that a
// plan depends on: of a view it is another one, and nothing is told.
func observedRoot(t *query.Table, own *source.Dep) *listRoot {
	if t == nil || own.Table != t.Name || len(own.Columns) == 0 {
		return nil
	}
	r := &listRoot{knows: own.KnowsOld}
	if own.KnowsOld || len(own.Identity) == 0 { // else the key does not name a row to the feed
		r.key = own.Columns
	}
	return r
}

// A listDeps is what a list depends on.
type listDeps struct {
	fresh.Question
	rows     named // the rows of the list itself
	children []foundChild
	embeds   []foundEmbed
}

// named are rows that are named once they are read.
type named struct {
	table *fresh.Table
	by    *fresh.TagColumns // nil: they need not be named
}

// A foundChild is what the rows that are read tell of a table within the documents: the
// tag of those that belong to a document, and each of them where a feed may not know
// to which document a row belonged.
type foundChild struct {
	name string
	of   named
	rows named
}

// depsOf returns what the answer to an ask depends on: tags of rows where they are
// known, else all rows of the tables.
//
// Where the feed may not know what a row was, the rows that are read are named, and the
// one behind the last. An answer that tells of rows it has not read, by an offset or a
// count, depends on them all.
func (f *revision) depsOf(ask *ListAsk) *listDeps {
	d := f.ownDeps(ask)
	f.embeds(d, ask.Query)
	return d
}

// ownDeps is depsOf without what a query embeds.
func (f *revision) ownDeps(ask *ListAsk) *listDeps {
	r := f.root
	if r == nil {
		return &listDeps{Question: *f.listDeps(ask)}
	}
	d := &listDeps{}
	if !r.tags(f.src, d, ask.Query) {
		d.Tags, d.rows = []fresh.Tag{{Table: r.table.versions}}, named{}
	}
	if d.rows.by != nil {
		d.Read = append(d.Read, d.rows.table)
	}
	if ask.Query != nil && ask.Query.Select != nil {
		return d // members that are other rows cannot be selected
	}
	for i := range r.children {
		r.children[i].add(f.src, d)
	}
	return d
}

// tags adds the tags of the list's own rows to d. It reports false when they are not
// known.
func (r *listRoot) tags(u *sourceState, d *listDeps, q *query.Query) bool {
	if q == nil || !r.knows && r.key == nil {
		return false
	}
	classes := q.Classes()
	if len(classes) == 0 {
		return false
	}
	if !r.knows && (q.Offset > 0 || q.Count != query.CountNone) {
		r.table.needsOld.Store(true)
		return false
	}
	if !r.knows {
		if d.rows = r.table.named(u, r.key); d.rows.by == nil {
			return false
		}
	}
	for i := range classes {
		c, ok := r.tag(u, &classes[i])
		if !ok {
			return false
		}
		d.Tags = append(d.Tags, c)
		if other := unfolded(c); len(c.TagColumns.Folded) > 0 && !slices.Contains(d.Tags, other) {
			d.Tags = append(d.Tags, other)
		}
	}
	return true
}

// unfolded returns the tag of the rows whose texts do not fold: they may be in c.
func unfolded(c fresh.Tag) fresh.Tag {
	c.Key = source.UnfoldedText
	return c
}

// named returns the template of what names rows of t, whose old values a feed may not know.
func (t *listTable) named(u *sourceState, key []string) named {
	tm := u.tagColumns(t, &fresh.TagColumns{Columns: key, Forgets: true, Identity: true})
	if tm == nil || !slices.Equal(tm.Columns, key) {
		return named{}
	}
	return named{t.versions, tm}
}

// tag returns a tag of a query as versions know it. It reports false when it cannot be
// told apart.
func (r *listRoot) tag(u *sourceState, c *query.Class) (fresh.Tag, bool) {
	identity := !r.knows && slices.Equal(c.Columns, r.key)
	tm := u.tagColumns(r.table, &fresh.TagColumns{Columns: c.Columns, Folded: c.Folded,
		Forgets: !r.knows, Identity: identity})
	if tm == nil {
		return fresh.Tag{}, false
	}
	key, ok := cellsOf(c.Columns, c.Values).Values(tm.Columns, tm.Folded)
	return fresh.Tag{Table: r.table.versions, TagColumns: tm, Key: key}, ok
}

// add adds to d what rows tell of a table within the documents, or the whole of it.
func (c *listChild) add(u *sourceState, d *listDeps) {
	found := foundChild{name: c.name}
	if len(c.columns) > 0 {
		identity := !c.knows && len(c.identity) == 0
		tm := u.tagColumns(c.table, &fresh.TagColumns{Columns: c.columns, Forgets: !c.knows,
			Identity: identity})
		if tm != nil && slices.Equal(tm.Columns, c.columns) {
			found.of = named{c.table.versions, tm}
		}
		if !c.knows && !identity {
			found.rows = c.table.named(u, c.identity)
		}
	}
	if found.of.by == nil || !c.knows && len(c.identity) > 0 && found.rows.by == nil {
		d.Tags = append(d.Tags, fresh.Tag{Table: c.table.versions})
		return
	}
	d.Read = append(d.Read, c.table.versions)
	d.children = append(d.children, found)
}

// tagColumns returns the templates that d needs.
func (d *listDeps) tagColumns() (list []*fresh.TagColumns) {
	add := func(tm *fresh.TagColumns) {
		if tm != nil && !slices.Contains(list, tm) {
			list = append(list, tm)
		}
	}
	for i := range d.Tags {
		add(d.Tags[i].TagColumns)
	}
	add(d.rows.by)
	for i := range d.children {
		add(d.children[i].of.by)
		add(d.children[i].rows.by)
	}
	for i := range d.embeds {
		e := &d.embeds[i]
		for _, n := range []named{e.link, e.of, e.rows} {
			add(n.by)
		}
	}
	return list
}

// found returns the tags that the rows which were read tell.
func (d *listDeps) found(s *source.Selected) []fresh.Tag {
	list, ok := d.reached(s)
	if !ok {
		return whole(d.Read)
	}
	add := func(n named, k row.Key) {
		if n.by != nil {
			list = append(list, fresh.Tag{Table: n.table, TagColumns: n.by, Key: string(k)})
		}
	}
	for i := range s.Rows {
		l := &s.Rows[i]
		add(d.rows, l.Key)
		for j := range d.children {
			c := &d.children[j]
			add(c.of, l.Key)
			for _, child := range l.Children {
				if child.Table == c.name {
					add(c.rows, child.ID)
				}
			}
		}
	}
	if s.More {
		add(d.rows, s.Beyond)
	}
	return fewer(list)
}

// fewer has all rows of a table in the place of its tags, of the one with the most, until
// there are no more than maxFound.
func fewer(list []fresh.Tag) []fresh.Tag {
	for len(list) > maxFound {
		counts := make(map[*fresh.Table]int)
		most := list[0].Table
		for i := range list {
			t := list[i].Table
			if counts[t]++; counts[t] > counts[most] {
				most = t
			}
		}
		list = slices.DeleteFunc(list, func(c fresh.Tag) bool { return c.Table == most })
		list = append(list, fresh.Tag{Table: most})
	}
	return list
}

// whole returns tables of which rows would tell tags, each as a whole.
func whole(read []*fresh.Table) []fresh.Tag {
	list := make([]fresh.Tag, len(read))
	for i, t := range read {
		list[i].Table = t
	}
	return list
}
