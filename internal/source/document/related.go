package document

import (
	"context"
	"slices"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
)

// links returns, for each kid of n that a query embeds, by which key its rows are found;
// "" where there can be none.
func (n *Node) links(r Row) ([]row.Key, error) {
	keys := make([]row.Key, len(n.Kids))
	for i, kid := range n.Kids {
		key, ok, err := n.keyOf(r, kid.up, kid.upAt)
		if err != nil {
			return nil, err
		}
		if ok {
			keys[i] = key
		}
	}
	return keys, nil
}

// relate puts the rows of the ith kid of a node, which a query embeds, into their parents,
// of which several may have the same ones.
func (p *Plan) relate(
	ctx context.Context, c Conn, n *Node, i int, parents []*record,
) error {
	var keys []row.Key
	groups := make(map[row.Key][]*record)
	for _, parent := range parents {
		key := parent.links[i]
		if _, seen := groups[key]; !seen && key != "" {
			groups[key] = nil
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		n.seek(key)
	}
	if n.linkRows != nil {
		return p.reportLinks(ctx, c, n, keys)
	}
	var all []*record
	var some records
	err := p.relatedTo(ctx, c, n, keys, func(key row.Key, r Row) error {
		one, err := n.record(r, &some)
		if err == nil {
			n.saw(one.key)
			err = n.take(1)
		}
		groups[key], all = append(groups[key], one), append(all, one)
		return err
	})
	if err == nil {
		err = p.fill(ctx, c, n, all)
	}
	if err != nil {
		return err
	}
	for _, parent := range parents {
		var list []row.Values
		for _, r := range groups[parent.links[i]] {
			list = append(list, n.values(r.read))
		}
		parent.read[n.Member] = n.member(list)
	}
	return nil
}

// reportLinks notes where the rows of a link lead from keys.
func (p *Plan) reportLinks(ctx context.Context, c Conn, n *Node, keys []row.Key) error {
	rows := make(map[row.Key]int)
	err := p.relatedTo(ctx, c, n, keys, func(from row.Key, r Row) error {
		rows[from]++
		return n.see(r)
	})
	for _, count := range rows {
		if err == nil {
			err = n.take(count)
		}
	}
	return err
}

// member returns the value of the member that the rows of n make, of which there are these.
func (n *Node) member(list []row.Values) row.Value {
	if n.related == nil || !n.one {
		return row.RowsValue(list)
	}
	if len(list) == 0 {
		return row.Value{}
	}
	return row.RowValue(list[0])
}

// relatedTo reads the rows of n for each of keys. One statement reads those of many,
// unless each has a limit of its own, or equality is the database's to judge.
func (p *Plan) relatedTo(
	ctx context.Context, c Conn, n *Node, keys []row.Key, each func(row.Key, Row) error,
) error {
	per := 1
	if n.Exact && (n.one || n.query.Limit == query.AllRows) {
		per = max(1, chunk/len(n.On))
	}
	for some := range slices.Chunk(keys, per) {
		err := p.relatedToSome(ctx, c, n, some, each)
		if len(some) > 1 && p.Dialect.noSuchText(err) { // one of them, but which?
			for i := range some {
				err = p.relatedToSome(ctx, c, n, some[i:i+1], each)
				if err != nil && !p.Dialect.noSuchText(err) {
					return err
				}
			}
			continue
		}
		if err != nil && !p.Dialect.noSuchText(err) {
			return err
		}
	}
	return nil
}

// relatedToSome is relatedTo with one statement.
func (p *Plan) relatedToSome(
	ctx context.Context, c Conn, n *Node, keys []row.Key, each func(row.Key, Row) error,
) error {
	d := p.Dialect
	on, of := n.On, n
	if n.via != nil {
		on, of = n.via.from, n.via.node
	}
	var args []any
	count := 0
	for _, key := range keys {
		// A text that the column cannot have is that of no row.
		if some, ok := of.KeyArgs(on, key); ok {
			args = append(args, some...)
			count++
		}
	}
	if count == 0 {
		return nil
	}
	for last := args[len(args)-len(on):]; count < width(count); count++ { // few statements
		args = append(args, last...)
	}
	which := "(" + d.oneOf(of, on, count) + ")"
	if n.via != nil {
		which = d.among(n, n.On, of, n.via.to, which)
	}
	st := Statement{Node: n, Keys: count,
		SQL: n.selectList(d) + " WHERE " + which + n.behind(d, count)}
	return c.Query(ctx, &st, append(args, n.args...), func(r Row) error {
		if len(keys) == 1 {
			return each(keys[0], r)
		}
		key, ok, err := n.keyOf(r, n.On, n.OnAt)
		if err != nil || !ok || !slices.Contains(keys, key) {
			return err
		}
		return each(key, r)
	})
}
