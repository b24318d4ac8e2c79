package resource

import (
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A foundEmbed is what the rows that are read tell of an embedded table: the class of those
// that belong to a row, and each of them where a feed may not know to which it belonged; or
// nothing, where the list depends on all of its rows.
type foundEmbed struct {
	query *query.Query // of the embedded rows
	of    named        // by what source.Reached has
	rows  named
}

// An embedClass is the class that the rows embedded in another are.
type embedClass struct {
	form    *form
	columns []string // that hold the other row's values

	// far is another form, behind a link, of which it is not known which rows they are.
	far *form
}

// embeds adds to d what a list depends on because of what it embeds: what the tables are,
// and the rows of each that have the values of the rows which they are embedded in. Where
// such a class is not known, it is all rows of the table.
func (f *form) embeds(d *listDeps, q *query.Query) {
	forms := embedded(q)
	if len(forms) == 0 {
		return
	}
	d.Classes = slices.Clone(d.Classes)
	for _, g := range forms {
		d.Classes = append(d.Classes, fresh.Class{Table: g.definition})
	}
	f.embedsIn(d, q)
}

// embedsIn is embeds for what q embeds, and so on.
func (f *form) embedsIn(d *listDeps, q *query.Query) {
	for i := range q.Select {
		e := q.Select[i].Embed
		if e == nil {
			continue
		}
		c, ok := embedClassOf(q.Table, e)
		if ok {
			ok = c.add(f.src, d, e.Query)
		}
		if !ok {
			d.all(f.src, e.Owner.(*form))
			if e.Link != nil {
				d.all(f.src, e.Link.Owner.(*form))
			}
			d.embeds = append(d.embeds, foundEmbed{query: e.Query})
		}
		f.embedsIn(d, e.Query)
	}
}

// all has d depend on all rows of g.
func (d *listDeps) all(u *upstream, g *form) {
	d.Classes = append(d.Classes, fresh.Class{Table: u.table(g.table.Name).words})
}

// embedClassOf returns the class of rows embedded in those of a table. It reports false when
// there is none: rows that must be there decide which others are read, so that a change of
// any may matter; and equal values must have one text, on both sides.
func embedClassOf(in *query.Table, e *query.Embed) (c embedClass, ok bool) {
	if e.Inner {
		return c, false
	}
	c.form = e.Owner.(*form)
	to, columns := e.Table, e.To
	if e.Link != nil {
		c.form, c.far, to, columns = e.Link.Owner.(*form), c.form, e.Link.Table, e.Link.From
	}
	if len(columns) != len(e.From) {
		return c, false
	}
	for i, name := range columns {
		from, at := columnNamed(in, e.From[i]), columnNamed(to, name)
		if from == nil || at == nil || !from.Classed || !at.Classed ||
			from.Part.Kind != at.Part.Kind || !oneText(at.Part.Kind) {
			return c, false
		}
		c.columns = append(c.columns, at.Name)
	}
	return c, true
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
func (c *embedClass) precise() bool {
	r := c.form.root
	// Of rows of a link nothing is read but to what they lead.
	return r != nil && (r.knows || r.key != nil && c.far == nil)
}

// needsOld reports whether rows of c would be told apart if the feed told what a row was:
// those of a link, of which it is not known which were read.
func (c *embedClass) needsOld() bool {
	r := c.form.root
	return r != nil && !r.knows && c.far != nil
}

// add adds to d what rows tell of an embedded table. It reports false when they cannot.
func (c *embedClass) add(u *upstream, d *listDeps, q *query.Query) bool {
	r := c.form.root
	if c.needsOld() {
		r.table.needsOld.Store(true)
	}
	if !c.precise() {
		return false
	}
	identity := !r.knows && slices.Equal(c.columns, r.key)
	tm := u.template(r.table, &fresh.Template{Columns: c.columns, Forgets: !r.knows,
		Identity: identity})
	if tm == nil || !slices.Equal(tm.Columns, c.columns) {
		return false
	}
	found := foundEmbed{query: q, of: named{r.table.words, tm}}
	if !r.knows && !identity {
		if found.rows = r.table.named(u, r.key); found.rows.by == nil {
			return false
		}
	}
	if c.far != nil {
		d.all(u, c.far)
	}
	d.Read = append(d.Read, r.table.words)
	d.embeds = append(d.embeds, found)
	return true
}

// reached returns the classes that the ways to embedded rows tell. It reports false when one
// of them cannot be told.
func (d *listDeps) reached(s *source.Selected) (list []fresh.Class, ok bool) {
	if len(d.embeds) > 0 && len(s.Rows) > 0 && s.Reached == nil {
		return nil, false
	}
	for _, at := range s.Reached {
		i := slices.IndexFunc(d.embeds, func(e foundEmbed) bool { return e.query == at.Of })
		if i < 0 {
			return nil, false
		}
		n := d.embeds[i].of
		if at.Row {
			n = d.embeds[i].rows
		}
		switch {
		case n.by == nil:
		case at.By == "":
			return nil, false
		default:
			list = append(list, fresh.Class{Table: n.table, Template: n.by, Key: string(at.By)})
		}
	}
	return list, true
}
