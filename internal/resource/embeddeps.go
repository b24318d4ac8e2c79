package resource

import (
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A foundEmbed is what the rows that are read tell of an embedded table, by what source.Reached
// has: the tag of those that belong to a row, and each of them where a feed may not know to
// which it belonged; and of the link that leads to it. No template: the list depends on all rows.
type foundEmbed struct {
	query  *query.Query // of the embedded rows
	linked bool
	link   named
	of     named
	rows   named
}

// An embedTag is the tag that the rows embedded in another are, or the tag of those of a
// link and that of each row that they lead to.
type embedTag struct {
	own, link rowsTag
}

// A rowsTag is rows of a revision by the values of some columns.
type rowsTag struct {
	form    *revision // nil: there are none
	columns []string
}

// embeds adds to d what a list depends on because of what it embeds: what the tables are,
// and the rows of each that have the values of the rows which they are embedded in. Where
// such a tag is not known, it is all rows of the table.
func (f *revision) embeds(d *listDeps, q *query.Query) {
	revisions := embedded(q)
	if len(revisions) == 0 {
		return
	}
	d.Tags = slices.Clone(d.Tags)
	for _, g := range revisions {
		d.Tags = append(d.Tags, fresh.Tag{Table: g.definition})
	}
	f.embedsIn(d, q)
}

// embedsIn is embeds for what q embeds, and so on.
func (f *revision) embedsIn(d *listDeps, q *query.Query) {
	for i := range q.Select {
		e := q.Select[i].Embed
		if e == nil {
			continue
		}
		c := embedTagOf(q, e)
		c.add(f.src, d, e)
		f.embedsIn(d, e.Query)
	}
}

// all has d depend on all rows of g.
func (d *listDeps) all(u *sourceState, g *revision) {
	d.Tags = append(d.Tags, fresh.Tag{Table: u.table(g.table.Name).versions})
}

// embedTagOf returns the tags of rows embedded in those of a table; none where there are
// none: rows that must be there, or that others are ordered by, decide which others are read,
// so that a change of any may matter; and equal values must have one text, on both sides.
func embedTagOf(q *query.Query, e *query.Embed) (c embedTag) {
	in := q.Table
	if e.Inner || q.OrderedBy(e) {
		return c
	}
	if e.Link == nil {
		return embedTag{own: tagBy(in, e.From, e.Table, e.To, e.Owner)}
	}
	if e.Link.Observed {
		c.link = tagBy(in, e.From, e.Link.Table, e.Link.From, e.Link.Owner)
		c.own = tagBy(e.Link.Table, e.Link.To, e.Table, e.To, e.Owner)
	}
	return c
}

// tagBy returns the tag of the rows of a revision, owner, by columns that are equal to others,
// in another table.
func tagBy(in *query.Table, from []string, of *query.Table, to []string, owner any) rowsTag {
	if len(from) != len(to) {
		return rowsTag{}
	}
	c := rowsTag{form: owner.(*revision)}
	for i, name := range to {
		a, b := columnNamed(in, from[i]), columnNamed(of, name)
		if a == nil || b == nil || !a.Classed || !b.Classed ||
			a.Part.Kind != b.Part.Kind || !oneText(b.Part.Kind) {
			return rowsTag{}
		}
		c.columns = append(c.columns, b.Name)
	}
	return c
}

// columnNamed returns the column that a foreign key calls name: SQLite's may have another
// case.
func columnNamed(t *query.Table, name string) *query.Column {
	var found *query.Column
	for i := range t.Columns {
		switch c := &t.Columns[i]; {
		case c.Name == name:
			return c
		case found == nil && strings.EqualFold(c.Name, name):
			found = c
		}
	}
	return found
}

// oneText reports whether values of a kind have the same text in every column that is of
// this kind and Classed: a time may have more digits in one than in another.
func oneText(k row.Kind) bool {
	return k == row.Int || k == row.Uint || k == row.Text || k == row.UUID
}

// precise reports whether what rows have reached says which rows of c they depend on.
func (c *rowsTag) precise() bool {
	if c.form == nil || c.form.root == nil {
		return false
	}
	r := c.form.root
	return r.knows || r.key != nil
}

// observed reports whether the feed reports the tag of what a row of c was, if it names the row.
func (c *rowsTag) observed() bool {
	r := c.form.root
	return r.knows || !slices.ContainsFunc(c.columns, func(name string) bool {
		return !slices.Contains(r.key, name)
	})
}

// add adds to d what rows tell of what is embedded. Where that is nothing, it is all rows.
func (c *embedTag) add(u *sourceState, d *listDeps, e *query.Embed) {
	found := foundEmbed{query: e.Query, linked: e.Link != nil}
	var ok bool
	if found.of, found.rows, ok = c.own.add(u, d); !ok {
		d.all(u, e.Owner.(*revision))
	}
	if found.linked {
		// Its key holds the columns of its tag, so that no row of it needs to be named.
		if found.link, _, ok = c.link.add(u, d); !ok {
			d.all(u, e.Link.Owner.(*revision))
		}
	}
	d.embeds = append(d.embeds, found)
}

// add returns what names the tag c, and, where that is needed, each of its rows. It reports
// false when changes do not say which rows those are.
func (c *rowsTag) add(u *sourceState, d *listDeps) (of, rows named, ok bool) {
	if !c.precise() {
		return of, rows, false
	}
	r := c.form.root
	identity := !r.knows && slices.Equal(c.columns, r.key)
	forgets := identity || !c.observed()
	tm := u.tagColumns(r.table, &fresh.TagColumns{Columns: c.columns, Forgets: forgets,
		Identity: identity})
	if tm == nil || !slices.Equal(tm.Columns, c.columns) {
		return of, rows, false
	}
	if !c.observed() {
		if rows = r.table.named(u, r.key); rows.by == nil {
			return of, rows, false
		}
	}
	d.Read = append(d.Read, r.table.versions)
	return named{r.table.versions, tm}, rows, true
}

// reached returns the tags that the ways to embedded rows tell. It reports false when one
// of them cannot be told.
func (d *listDeps) reached(s *source.Selected) (list []fresh.Tag, ok bool) {
	if len(d.embeds) > 0 && len(s.Rows) > 0 && s.Reached == nil {
		return nil, false
	}
	for _, at := range s.Reached {
		i := slices.IndexFunc(d.embeds, func(e foundEmbed) bool { return e.query == at.Of })
		if i < 0 {
			return nil, false
		}
		e := &d.embeds[i]
		n := e.named(at.As)
		switch {
		case n.by == nil:
		case at.As == source.ReachedTo && at.By == "": // some are not told
			list = append(list, fresh.Tag{Table: n.table})
		case at.By == "":
			return nil, false
		default:
			list = append(list, fresh.Tag{Table: n.table, TagColumns: n.by, Key: string(at.By)})
		}
	}
	return list, true
}

// named returns what names what was reached.
func (e *foundEmbed) named(as source.ReachedAs) named {
	switch {
	case as == source.ReachedRow:
		return e.rows
	case as == source.ReachedBy && e.linked:
		return e.link
	}
	return e.of
}
