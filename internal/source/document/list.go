package document

import (
	"context"
	"fmt"

	"github.com/hotrow/hotrow/internal/query"
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
	statements, snapshot := 1, p.Dialect.Nested == nil
	if snapshot {
		statements = 3 + p.depth
	}
	ctx, cancel := p.db.Begin(ctx, statements)
	defer cancel()
	var all []*record
	err := p.db.Read(ctx, snapshot, func(ctx context.Context, c Conn) (err error) {
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

// usualPage is for how many rows of a list there is room at first, at most.
const usualPage = 100

// page reads rows until limit of them have a key. A text that is no UTF-8, for one, is none.
func (p *Plan) page(ctx context.Context, c Conn, after []any, limit int) ([]*record, error) {
	n := p.Root
	usual := min(limit, usualPage)
	all, some := make([]*record, 0, usual), records{make([]record, usual)}
	for len(all) < limit {
		want, got := limit-len(all), 0
		st, args := p.pageOf(after, want)
		var last row.Values
		err := c.Query(ctx, st, args, func(row Row) error {
			got++
			r, err := n.record(row, &some)
			if err != nil {
				return err
			}
			last = r.read
			if r.named { // by the empty text as well, which no path can have
				all = append(all, r)
			}
			return nil
		})
		if err != nil || got < want {
			return all, err
		}
		after = make([]any, len(n.KeyCols))
		for i, at := range n.Key {
			if after[i], err = n.KeyCols[i].Arg(last[at]); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// PageSQL returns the statement by which List reads what follows a key.
func (p *Plan) PageSQL() string {
	st, _ := p.pageOf(make([]any, len(p.Root.KeyCols)), 1)
	return st.SQL
}

// pageOf returns the statement that reads up to limit rows in the order of the key, those that
// follow one if after binds its parts, and its arguments.
func (p *Plan) pageOf(after []any, limit int) (*Statement, []any) {
	n, d := p.Root, p.Dialect
	q := &query.Query{Table: p.table, After: make([]query.Value, len(after))}
	for _, at := range p.table.Key {
		q.Order = append(q.Order, query.Order{Column: at})
	}
	w := &where{n: n, d: d, cols: p.cols}
	conds := n.present(d)
	if after != nil {
		conds = append(conds, w.behind(q, after))
	}
	sql := n.selectList(d) + whereAll(conds) + w.orderBy(q) + w.limit(limit)
	return &Statement{SQL: sql, Node: n}, w.args
}
