package sqlite

import (
	"context"

	"github.com/hotrow/hotrow/internal/row"
)

// fill reads what is embedded in parents, at every level, one level at a time.
func (n *node) fill(ctx context.Context, c *conn, parents []*record) error {
	if len(parents) == 0 {
		return nil
	}
	for _, e := range n.embeds {
		groups, err := e.children(ctx, c, parents)
		if err != nil {
			return err
		}
		var all []*record
		for _, g := range groups {
			all = append(all, g...)
		}
		if err := e.fill(ctx, c, all); err != nil {
			return err
		}
		for i, g := range groups {
			e.adopt(parents[i], g)
		}
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

// children reads the rows of n for each parent, in their order.
func (n *node) children(ctx context.Context, c *conn, parents []*record) ([][]*record, error) {
	groups := make([][]*record, len(parents))
	if !n.exact {
		// Equality is the database's to judge: ask for each parent by itself.
		for i, p := range parents {
			err := c.query(ctx, n.selectByOn(1), p.raw, func(v []any) error {
				groups[i] = append(groups[i], n.record(v))
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		return groups, nil
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
		sql := n.selectByOn(width(len(part)))
		err := c.query(ctx, sql, flatten(raws), func(v []any) error {
			key, _ := keyOf(n.on.kinds, n.on.raw(v))
			if i, ok := at[key]; ok {
				groups[i] = append(groups[i], n.record(v))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return groups, nil
}
