package document

import (
	"context"
	"slices"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// admitEmbeds refuses embedded rows that no index finds, and a query whose rows are found
// by what is embedded in them unless an index leads from there to them.
func (p *Plan) admitEmbeds(ctx context.Context, c Conn, n *Node, q *query.Query) error {
	g := embedGuard{
		finds: func(of *Plan, at *Node, enough func([]query.Index) bool) (bool, error) {
			return of.finds(ctx, c, at, enough)
		},
		way: func(of *Plan, at *Node, names []string, ok bool) error {
			if ok {
				return nil
			}
			return at.unindexed("whose rows they are", of.creating(at, names))
		},
		inner: func(_ *Plan, n *Node) error {
			return &query.Error{Code: query.CodeUnindexed, Hint: n.innerHint(),
				Message: n.Table.ID() + " is large, and !inner leaves out rows of it that no" +
					" index tells apart"}
		},
	}
	return g.admit(p, n, q)
}

// innerHint is what admits rows of n that !inner leaves out.
func (n *Node) innerHint() string {
	return "ask for equality: of " + n.Table.ID() + ", or of what is embedded by !inner"
}

// guardEmbeds says by what is known of the tables' indexes what admitEmbeds would say of
// large tables.
func (p *Plan) guardEmbeds(q *query.Query) (ways []source.EmbedGuard) {
	n, err := (&projection{d: p.Dialect}).node(p, q)
	if err != nil { // a column cannot be read: the query fails with it
		return nil
	}
	guard := func(of *Plan, n *Node) source.EmbedGuard {
		way := source.EmbedGuard{Table: n.Table.ID()}
		if known := of.lookup.Load(); known != nil {
			way.Known, way.Small = true, known.small
		}
		return way
	}
	g := embedGuard{
		finds: func(of *Plan, _ *Node, enough func([]query.Index) bool) (bool, error) {
			known := of.lookup.Load()
			return known != nil && enough(known.indexes), nil
		},
		way: func(of *Plan, at *Node, names []string, ok bool) error {
			way := guard(of, at)
			if way.Columns = names; !ok {
				way.Hint = of.creating(at, names)
			}
			ways = append(ways, way)
			return nil
		},
		inner: func(of *Plan, n *Node) error {
			way := guard(of, n)
			way.Hint = n.innerHint()
			ways = append(ways, way)
			return nil
		},
	}
	_ = g.admit(p, n, q) // none of its functions fails
	return ways
}

// An embedGuard looks at what a query embeds.
type embedGuard struct {
	// finds reports whether a table, of which n reads rows, has indexes that are enough.
	finds func(of *Plan, n *Node, enough func([]query.Index) bool) (bool, error)

	// way is told by which columns rows are found that are embedded, or lead to those; and
	// whether an index does.
	way func(of *Plan, n *Node, columns []string, ok bool) error

	// inner is told of rows that !inner leaves out and that no index tells apart.
	inner func(of *Plan, n *Node) error
}

// admit looks at what q embeds in rows of n, up to the first error.
func (g *embedGuard) admit(p *Plan, n *Node, q *query.Query) error {
	inner, led := false, false
	for _, kid := range n.Kids {
		if kid.related == nil {
			return nil
		}
		if kid.linkRows != nil { // found as those that it leads to
			continue
		}
		of, at, cols, terms := kid.plan, kid, kid.On, kid.query.Where
		if kid.via != nil {
			of, at, cols, terms = kid.via.plan, kid.via.node, kid.via.from, nil
		}
		ok, err := g.finds(of, at, of.begins(cols, terms))
		if err != nil {
			return err
		}
		names := Names(cols)
		if err := g.way(of, at, names, ok || of.Unique(names)); err != nil {
			return err
		}
		if err := g.admit(kid.plan, kid, kid.query); err != nil {
			return err
		}
		if !kid.inner {
			continue
		}
		inner = true
		if ok, err = g.finds(kid.plan, kid, kid.query.Equality); err == nil && ok && !led {
			led, err = g.finds(p, n, p.begins(kid.up, q.Where))
		}
		if err != nil {
			return err
		}
	}
	if !inner || led {
		return nil
	}
	if ok, err := g.finds(p, n, q.Equality); ok || err != nil {
		return err
	}
	return g.inner(p, n)
}

// begins returns what reports whether one of indexes begins with one of columns, and has
// every row for which terms hold and the columns equal something.
func (p *Plan) begins(cols []Column, terms []query.Term) func(indexes []query.Index) bool {
	names := Names(cols)
	return func(indexes []query.Index) bool {
		return slices.ContainsFunc(indexes, func(x query.Index) bool {
			return x.Ops == nil && slices.Contains(names, x.Columns[0]) &&
				x.Has(p.table, terms, names...)
		})
	}
}
