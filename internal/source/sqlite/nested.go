package sqlite

import (
	"context"
	"slices"

	"github.com/hotrow/hotrow/internal/row"
)

// fill reads what is embedded in parents, at every level, one level at a time.
func (n *node) fill(ctx context.Context, c *conn, parents []*record) error {
	if len(parents) == 0 {
		return nil
	}
	for _, e := range n.embeds {
		fill := e.fillNested
		if len(e.embeds) == 0 {
			fill = e.fillFlat
		}
		if err := fill(ctx, c, parents); err != nil {
			return err
		}
	}
	return nil
}

// fillFlat puts the rows of n, in which nothing is embedded, into their parents. Most
// of what a load reads is such rows, so they are made of little.
func (n *node) fillFlat(ctx context.Context, c *conn, parents []*record) error {
	groups := make([][]row.Values, len(parents))
	err := n.rows(ctx, c, parents, func(i int, v []any) {
		if groups[i] == nil {
			groups[i] = make([]row.Values, 0, usualRows)
			parents[i].children = slices.Grow(parents[i].children, usualRows)
		}
		groups[i] = append(groups[i], n.values(v))
		if child, ok := n.child(v); ok {
			parents[i].children = append(parents[i].children, child)
		}
	})
	if err != nil {
		return err
	}
	for i, g := range groups {
		if g == nil {
			g = []row.Values{}
		}
		parents[i].values[n.member] = row.RowsValue(g)
	}
	return nil
}

// usualRows is for how many embedded rows there is room at first.
const usualRows = 8

// fillNested puts the rows of n into their parents, and into the rows what is
// embedded in them.
func (n *node) fillNested(ctx context.Context, c *conn, parents []*record) error {
	groups := make([][]*record, len(parents))
	var all []*record
	err := n.rows(ctx, c, parents, func(i int, v []any) {
		r := n.record(v)
		groups[i], all = append(groups[i], r), append(all, r)
	})
	if err != nil {
		return err
	}
	if err := n.fill(ctx, c, all); err != nil {
		return err
	}
	for i, g := range groups {
		n.adopt(parents[i], g)
	}
	return nil
}

// adopt puts the documents of group into parent.
func (n *node) adopt(parent *record, group []*record) {
	rows := make([]row.Values, len(group))
	for i, r := range group {
		rows[i] = r.values
		parent.children = append(parent.children, r.children...)
		r.children = nil
	}
	parent.values[n.member] = row.RowsValue(rows)
}

// rows reads the rows of n, in their order, and calls each with which of parents one
// belongs to.
func (n *node) rows(
	ctx context.Context, c *conn, parents []*record, each func(parent int, v []any),
) error {
	if !n.exact {
		// Equality is the database's to judge: ask for each parent by itself.
		for i, p := range parents {
			err := c.query(ctx, n.selectByOn(1), p.raw, func(v []any) error {
				each(i, v)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	at := make(map[row.Key]int, len(parents))
	for i, p := range parents {
		at[p.key] = i
	}
	per := chunk / len(n.on.columns)
	for start := 0; start < len(parents); start += per {
		part := parents[start:min(start+per, len(parents))]
		raws := make([][]any, len(part))
		for i, p := range part {
			raws[i] = p.raw
		}
		row := func(v []any) error {
			key, _ := keyOf(n.on.kinds, n.on.raw(v))
			if i, ok := at[key]; ok {
				each(i, v)
			}
			return nil
		}
		var err error
		sql := n.selectByOn(width(len(part)))
		if n.briefRead && len(part) == 1 {
			err = c.queryHeld(ctx, sql, flatten(raws), row)
		} else {
			err = c.query(ctx, sql, flatten(raws), row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
