package document

import (
	"context"
	"fmt"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// NoList returns the error of a list of a query: what it would give for all keys is
// not known. It is nil for a table.
func (p *Plan) NoList() error {
	if p.Query == nil {
		return nil
	}
	return &source.Error{Class: source.Missing, Message: p.Name + " has no list: it is a query"}
}

// List reads up to limit documents whose key follows after, in the order that the
// database has for the key's columns.
func (p *Plan) List(ctx context.Context, after *row.Key, limit int) ([]source.Loaded, error) {
	if err := p.NoList(); err != nil || limit <= 0 {
		return nil, err
	}
	var args []any
	if after != nil {
		k, err := p.ParseAfter(*after)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", p.Name, err)
		}
		var ok bool
		if args, ok = KeyArgs(p.Parts, k); !ok {
			return nil, fmt.Errorf("list %s: %w", p.Name, row.ErrKey)
		}
	}
	ctx, cancel := p.db.Begin(ctx, 3+p.depth)
	defer cancel()
	var all []*record
	err := p.db.Read(ctx, true, func(ctx context.Context, c Conn) (err error) {
		if all, err = p.page(ctx, c, args, limit); err != nil {
			return err
		}
		return p.fill(ctx, c, p.Root, all)
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", p.Name, err)
	}
	out := make([]source.Loaded, len(all))
	for i, r := range all {
		out[i] = source.Loaded{Asked: r.key, Key: r.key, Values: p.Root.values(r.read),
			Children: r.children}
	}
	return out, nil
}

// page reads rows until limit of them have a key. An empty text, for one, is none.
func (p *Plan) page(ctx context.Context, c Conn, after []any, limit int) ([]*record, error) {
	n, d := p.Root, p.Dialect
	var all []*record
	for len(all) < limit {
		want, got := limit-len(all), 0
		args := append(n.pageArgs(d, after), int64(want))
		st := Statement{SQL: n.pageSQL(d, after != nil), Node: n}
		err := c.Query(ctx, &st, args, func(row Row) error {
			got++
			r, err := n.record(row)
			if err != nil {
				return err
			}
			after = make([]any, len(n.KeyCols))
			for i, at := range n.Key {
				if after[i], err = n.KeyCols[i].Arg(r.read[at]); err != nil {
					return err
				}
			}
			if r.key != "" {
				all = append(all, r)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if got < want {
			break
		}
	}
	return all, nil
}

// pageSQL returns the statement that reads rows in the order of the key: the first
// page, or the one that follows a key. Its parameters are those of pageArgs.
func (n *Node) pageSQL(d *Dialect, follow bool) string {
	var where, order []string
	for _, col := range n.KeyCols {
		order = append(order, d.Ordered(n, col))
		if present := d.Present(n, col); present != "" {
			where = append(where, present)
		}
	}
	if follow {
		where = append(where, n.follows(d, order))
	}
	sql := n.selectList(d)
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	return sql + " ORDER BY " + strings.Join(order, ", ") + " LIMIT ?"
}

// follows returns the condition that a row's key, of which exprs are the parts, follows
// another. Without row values the condition on the first column alone is there for
// the index.
func (n *Node) follows(d *Dialect, exprs []string) string {
	marks := make([]string, len(exprs))
	for i, col := range n.KeyCols {
		marks[i] = d.Param(col)
	}
	switch {
	case len(exprs) == 1:
		return exprs[0] + " > " + marks[0]
	case d.RowValues:
		return "(" + strings.Join(exprs, ", ") + ") > (" + strings.Join(marks, ", ") + ")"
	}
	var either []string
	for i := range exprs {
		var all []string
		for j := range i {
			all = append(all, exprs[j]+" = "+marks[j])
		}
		all = append(all, exprs[i]+" > "+marks[i])
		either = append(either, "("+strings.Join(all, " AND ")+")")
	}
	return fmt.Sprintf("%s >= %s AND (%s)", exprs[0], marks[0], strings.Join(either, " OR "))
}

// pageArgs returns the parameters of pageSQL for the key that args bind.
func (n *Node) pageArgs(d *Dialect, args []any) []any {
	out := append([]any(nil), args...)
	if len(args) <= 1 || d.RowValues {
		return out
	}
	out = out[:1]
	for i := range args {
		out = append(out, args[:i+1]...)
	}
	return out
}
