package document

import (
	"context"
	"slices"

	"github.com/hotrow/hotrow/internal/query"
)

// admitEmbeds refuses embedded rows that no index finds, and a query whose rows are found
// by what is embedded in them unless an index leads from there to them.
func (p *Plan) admitEmbeds(ctx context.Context, c Conn, n *Node, q *query.Query) error {
	inner, led := false, false
	for _, kid := range n.Kids {
		if kid.related == nil {
			return nil
		}
		of, at, cols, terms := kid.plan, kid, kid.On, kid.query.Where
		if kid.via != nil {
			of, at, cols, terms = kid.via.plan, kid.via.node, kid.via.from, nil
		}
		ok, err := of.finds(ctx, c, at, of.begins(cols, terms))
		if err != nil {
			return err
		}
		if names := Names(cols); !ok && !of.Unique(names) {
			return at.unindexed("whose rows they are", of.creating(at, names))
		}
		if err := kid.plan.admitEmbeds(ctx, c, kid, kid.query); err != nil {
			return err
		}
		if !kid.inner {
			continue
		}
		inner = true
		if ok, err = kid.plan.finds(ctx, c, kid, kid.query.Equality); err == nil && ok && !led {
			led, err = p.finds(ctx, c, n, p.begins(kid.up, q.Where))
		}
		if err != nil {
			return err
		}
	}
	if !inner || led {
		return nil
	}
	if ok, err := p.finds(ctx, c, n, q.Equality); ok || err != nil {
		return err
	}
	return &query.Error{Code: query.CodeUnindexed, Message: n.Table.ID() + " is large, and" +
		" !inner leaves out rows of it that no index tells apart",
		Hint: "ask for equality: of " + n.Table.ID() + ", or of what is embedded by !inner"}
}

// begins returns what reports whether one of indexes begins with one of columns, and has
// every row for which terms hold and the columns equal something.
func (p *Plan) begins(cols []Column, terms []query.Term) func(indexes []query.Index) bool {
	names := Names(cols)
	return func(indexes []query.Index) bool {
		return slices.ContainsFunc(indexes, func(x query.Index) bool {
			return slices.Contains(names, x.Columns[0]) && x.Has(p.table, terms, names...)
		})
	}
}
