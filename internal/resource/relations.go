package resource

import (
	"errors"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// A related is a plan of the rows of a table, which foreign keys may lead to.
type related interface {
	// Base returns the table whose rows the documents are; nil for a view or a query.
	Base() *source.Table

	// Unique reports whether no two rows of Base can have the same values in columns.
	Unique(columns []string) bool
}

// base returns the table of f whose rows may be embedded and may embed others; nil for
// none.
func (f *revision) base() (*source.Table, related) {
	if plan, ok := f.plan.(related); ok && f.table != nil {
		return plan.Base(), plan
	}
	return nil, nil
}

// Relations returns the ways from its rows to those of other resources of its source.
func (r *Resource) Relations() []query.Relation {
	f := r.revision.Load()
	if f.table == nil {
		return nil
	}
	return f.relations()(f.table)
}

// relations returns what finds, for a parser, what may be embedded in rows of a table: rows
// of the resources of the source.
func (f *revision) relations() func(of *query.Table) []query.Relation {
	var revisions []*revision // of one moment
	if served := f.src.served.Load(); served != nil {
		revisions = *served
	}
	return func(of *query.Table) []query.Relation {
		from := f
		for _, g := range revisions {
			if g.table == of {
				from = g
			}
		}
		own, owns := from.base()
		if own == nil {
			return nil
		}
		return relationsOf(own, owns, of, revisions)
	}
}

// relationsOf returns the relations from the rows of a table, which queries know as in, to
// those of revisions.
func relationsOf(
	own *source.Table, owns related, in *query.Table, revisions []*revision,
) []query.Relation {
	var list []query.Relation
	for _, g := range revisions {
		other, others := g.base()
		if other == nil {
			continue
		}
		for i := range own.Foreign {
			if k := &own.Foreign[i]; k.Table == other.ID() && len(k.Columns) > 0 {
				r := g.relation(k, false, true)
				r.Single = owns.Unique(k.Columns)
				list = append(list, r)
			}
		}
		for i := range other.Foreign {
			if k := &other.Foreign[i]; k.Table == own.ID() && len(k.Columns) > 0 {
				list = append(list, g.relation(k, true, others.Unique(k.Columns)))
			}
		}
		list = append(list, linked(revisions, own, in, g, other)...)
	}
	return list
}

// relation returns the relation to the rows of g by a foreign key, of g's table if back.
func (g *revision) relation(k *source.ForeignKey, back, one bool) query.Relation {
	r := query.Relation{Name: g.r.name, Table: g.table, One: one, Back: back, From: k.Columns,
		To: k.References, Plan: g.plan, Owner: g}
	if back {
		r.From, r.To = k.References, k.Columns
	}
	if base, _ := g.base(); k.Table == base.ID() && back { // of a table to itself
		r.Hints = append(r.Hints, strings.Join(k.References, ","))
	} else {
		r.Hints = append(r.Hints, strings.Join(k.Columns, ","))
	}
	if k.Name != "" {
		r.Hints = append(r.Hints, k.Name)
	}
	return r
}

// linked returns the relations from the rows of a table to those of g through a third one,
// whose primary key holds foreign keys to both.
func linked(
	revisions []*revision, own *source.Table, in *query.Table, g *revision, other *source.Table,
) []query.Relation {
	var list []query.Relation
	for _, l := range revisions {
		link, _ := l.base()
		if link == nil {
			continue
		}
		for i := range link.Foreign {
			for j := range link.Foreign {
				a, b := &link.Foreign[i], &link.Foreign[j]
				if i == j || a.Table != own.ID() || b.Table != other.ID() ||
					!within(link.Key, a, b) {
					continue
				}
				r := query.Relation{Name: g.r.name, Table: g.table, From: a.References,
					To: b.References, Plan: g.plan, Owner: g, Hints: []string{l.r.name},
					Link: &query.Link{Name: l.r.name, Table: l.table, From: a.Columns,
						To: b.Columns, Plan: l.plan, Owner: l}}
				r.Link.Observed = tagBy(in, r.From, l.table, r.Link.From, l).form != nil
				if own.ID() == other.ID() { // there and back
					r.Hints = append(r.Hints, strings.Join(b.Columns, ","))
				}
				list = append(list, r)
			}
		}
	}
	return list
}

// within reports whether a key holds the columns of both foreign keys.
func within(key []string, a, b *source.ForeignKey) bool {
	for _, c := range append(slices.Clone(a.Columns), b.Columns...) {
		if !slices.Contains(key, c) {
			return false
		}
	}
	return len(a.Columns) > 0 && len(b.Columns) > 0
}

// embedded returns the revisions whose rows take part in the answer to a query, besides its
// own.
func embedded(q *query.Query) []*revision {
	var list []*revision
	if q == nil {
		return nil
	}
	for _, e := range q.Embeds() {
		list = append(list, e.Owner.(*revision))
		if e.Link != nil {
			list = append(list, e.Link.Owner.(*revision))
		}
	}
	return list
}

// Embedded returns the other resources that a query reads.
func Embedded(q *query.Query) []*Resource {
	revisions := embedded(q)
	list := make([]*Resource, len(revisions))
	for i, g := range revisions {
		list[i] = g.r
	}
	return list
}

// current reports whether the revisions that a query embeds are those that their resources
// have now.
func current(q *query.Query) bool {
	return !slices.ContainsFunc(embedded(q), func(g *revision) bool {
		return g.r.revision.Load() != g
	})
}

// embedsFollowed reports whether a feed tells of the changes of all that a query embeds.
func embedsFollowed(q *query.Query) bool {
	return !slices.ContainsFunc(embedded(q), func(g *revision) bool { return !g.followed() })
}

// embedsKept reports whether a list may be kept as far as what it embeds is concerned: its
// tables are what their resources were compiled for. It is asked when the list has been
// read; a change of that since the read began has moved revision.definition.
func embedsKept(q *query.Query) bool {
	return !slices.ContainsFunc(embedded(q), func(g *revision) bool {
		return g.unverified.Load() || !g.followed() || g.r.revision.Load() != g
	})
}

// redefined has no list that embeds rows of f be good any more.
func (u *sourceState) redefined(f *revision) {
	if f.definition == nil {
		return
	}
	m := u.domain.NewSet()
	m.Whole(f.definition)
	invalidations := []fresh.Invalidation{m.Invalidation()}
	u.domain.Hold(invalidations)
	u.domain.Release(invalidations, 0)
}

// outdatedEmbeds reports whether err comes from a revision that a query embeds and that is not
// its resource's any more, so that the caller, who began at begun, asks again.
func (f *revision) outdatedEmbeds(q *query.Query, err error, begun int64) bool {
	revisions := embedded(q)
	if err == nil || len(revisions) == 0 || monotonic()-begun > int64(f.src.opts.Timeout) {
		return false
	}
	if errors.Is(err, errReplaced) {
		return !current(q)
	}
	reshaped := errors.Is(err, source.ErrReshaped)
	if !reshaped && !source.Reshaped(err) {
		return false
	}
	for _, g := range revisions {
		if g.r.revision.Load() == g {
			g.src.renew(g, reshaped)
		}
	}
	return !current(q)
}
