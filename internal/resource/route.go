package resource

import (
	"slices"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A route leads from the rows of a table to the documents of a resource.
type route struct {
	form *revision
	dep  source.Dep
}

// routesOf returns the routes of every table.
func routesOf(revisions []*revision) map[string][]route {
	routes := make(map[string][]route)
	for _, f := range revisions {
		if f.plan == nil {
			continue
		}
		for _, d := range f.deps() {
			routes[d.Table] = append(routes[d.Table], route{f, d})
		}
	}
	return routes
}

// setRevisions makes revisions the resources of u. u.apply is held, or nobody else
// knows u yet.
func (u *sourceState) setRevisions(revisions []*revision) {
	u.revisions, u.routes = revisions, routesOf(revisions)
	u.served.Store(&revisions)
	u.bySpace = make(map[*fresh.Space]*revision, len(revisions))
	for _, f := range revisions {
		if f.space != nil {
			u.bySpace[f.space] = f
		}
	}
}

// wanted returns the tables and columns that a feed follows for the revisions of u, but those
// that read a table of left. u.apply is held.
func (u *sourceState) wanted(left map[string]string) []source.Watched {
	var plans []source.Plan
	for _, f := range u.revisions {
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

// invalidations says what a transaction means for the resources. u.apply is held.
func (u *sourceState) invalidations(tx *source.Tx) []fresh.Invalidation {
	b := touching{at: make(map[*fresh.Space]int)}
	for _, f := range u.revisions {
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
	if m := u.invalidationSet(tx); !m.Empty() {
		b.list = append(b.list, m.Invalidation())
	}
	return b.list
}

// touching collects one Touch for each space.
type touching struct {
	list []fresh.Invalidation
	at   map[*fresh.Space]int
}

func (b *touching) touch(s *fresh.Space) *fresh.Invalidation {
	i, ok := b.at[s]
	if !ok {
		i = len(b.list)
		b.at[s] = i
		b.list = append(b.list, fresh.Invalidation{Space: s})
	}
	return &b.list[i]
}

// add says what one change means. What the feed does not know is taken for the
// worst: an unknown new parent is any document, and of an unknown old parent, and of
// where paths lead, only versions know.
func (r *route) add(t *fresh.Invalidation, c *source.Change) {
	if r.form.docDeps != nil && r.form.docDeps.paths != nil {
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
func addKey(t *fresh.Invalidation, k row.Key) {
	if k == "" || len(t.Keys) > 0 && t.Keys[len(t.Keys)-1] == k {
		return
	}
	t.Keys = append(t.Keys, k)
}
