package resource

import (
	"slices"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A route leads from the rows of a table to the documents of a resource.
type route struct {
	form *form
	dep  source.Dep
}

// routesOf returns the routes of every table.
func routesOf(forms []*form) map[string][]route {
	routes := make(map[string][]route)
	for _, f := range forms {
		if f.plan == nil {
			continue
		}
		for _, d := range f.deps() {
			routes[d.Table] = append(routes[d.Table], route{f, d})
		}
	}
	return routes
}

// setForms makes forms the resources of u. u.apply is held, or nobody else
// knows u yet.
func (u *upstream) setForms(forms []*form) {
	u.forms, u.routes = forms, routesOf(forms)
	u.served.Store(&forms)
	u.bySpace = make(map[*fresh.Space]*form, len(forms))
	for _, f := range forms {
		if f.space != nil {
			u.bySpace[f.space] = f
		}
	}
}

// wanted returns the tables and columns that a feed follows for the forms of u, but those
// that read a table of left. u.apply is held.
func (u *upstream) wanted(left map[string]string) []source.Watched {
	var plans []source.Plan
	for _, f := range u.forms {
		if f.plan == nil {
			continue
		}
		if table, _ := without(f.plan, left); table == "" {
			plans = append(plans, f.plan)
		}
	}
	list := Watched(plans)
	for i := range list {
		if t, ok := u.tables.Load(list[i].Table); ok {
			list[i].Values = &t.(*listTable).columns
		}
	}
	return list
}

// Watched returns the tables, and their columns that matter, which a feed for
// these plans follows.
func Watched(plans []source.Plan) []source.Watched {
	var list []source.Watched
	at := make(map[string]int)
	add := func(table string, columns []string, direct bool) {
		i, ok := at[table]
		if !ok {
			i = len(list)
			at[table] = i
			list = append(list, source.Watched{Table: table})
		}
		for _, c := range columns {
			if !slices.Contains(list[i].Columns, c) {
				list[i].Columns = append(list[i].Columns, c)
			}
			if direct && !slices.Contains(list[i].Direct, c) {
				list[i].Direct = append(list[i].Direct, c)
			}
		}
	}
	for _, p := range plans {
		for _, d := range p.Deps() {
			add(d.Table, d.Columns, len(d.Identity) == 0)
			add(d.Table, d.Identity, false)
		}
		for _, path := range Paths(p) {
			for _, s := range path.Steps {
				if s.Named {
					add(s.Table, s.On, true)
				}
			}
		}
	}
	return list
}

// touches says what a transaction means for the resources. u.apply is held.
func (u *upstream) touches(tx *source.Tx) []fresh.Touch {
	b := touching{at: make(map[*fresh.Space]int)}
	for _, f := range u.forms {
		if tx.All && f.space != nil {
			b.touch(f.space).Whole = true
		}
	}
	for _, t := range tx.Tables {
		for _, r := range u.routes[t] {
			b.touch(r.form.space).Whole = true
		}
	}
	for i := range tx.Changes {
		c := &tx.Changes[i]
		for _, r := range u.routes[c.Table] {
			r.add(b.touch(r.form.space), c)
		}
	}
	if m := u.moves(tx); !m.Empty() {
		b.list = append(b.list, m.Touch())
	}
	return b.list
}

// touching collects one Touch for each space.
type touching struct {
	list []fresh.Touch
	at   map[*fresh.Space]int
}

func (b *touching) touch(s *fresh.Space) *fresh.Touch {
	i, ok := b.at[s]
	if !ok {
		i = len(b.list)
		b.at[s] = i
		b.list = append(b.list, fresh.Touch{Space: s})
	}
	return &b.list[i]
}

// add says what one change means. What the feed does not know is taken for the
// worst: an unknown new parent is any document, and of an unknown old parent, and of
// where paths lead, only words know.
func (r *route) add(t *fresh.Touch, c *source.Change) {
	if r.form.worded != nil && r.form.worded.paths != nil {
		t.Unnamed = true
		return
	}
	if len(r.dep.Columns) == 0 {
		t.Whole = true
		return
	}
	if c.Op != source.Delete {
		k, ok := c.New.Key(r.dep.Columns)
		t.Whole = t.Whole || !ok
		addKey(t, k)
	}
	if c.Op == source.Insert {
		return
	}
	if k, ok := c.Old.Key(r.dep.Columns); ok {
		addKey(t, k)
		return
	}
	_, ok := c.Old.Key(r.dep.Identity)
	if !ok || len(r.dep.Identity) == 0 || r.dep.KnowsOld {
		t.Whole = true
		return
	}
	t.Unnamed = true
}

// addKey adds k unless it is none, or was added last: the rows of one document
// often follow each other.
func addKey(t *fresh.Touch, k row.Key) {
	if k == "" || len(t.Keys) > 0 && t.Keys[len(t.Keys)-1] == k {
		return
	}
	t.Keys = append(t.Keys, k)
}
