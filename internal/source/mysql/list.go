package mysql

import (
	"context"
	"fmt"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// List reads up to limit documents whose key follows after, in the order that
// the database has for the key's columns. A query has no list: what it would
// give for all keys is not known.
func (p *plan) List(ctx context.Context, after *row.Key, limit int) ([]source.Loaded, error) {
	if p.query != nil {
		return nil, &source.Error{Class: source.Missing,
			Message: p.name + " has no list: it is a query"}
	}
	if limit <= 0 {
		return nil, nil
	}
	var args []any
	if after != nil {
		k, err := p.loose.ParseAfter(*after)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", p.name, err)
		}
		var ok bool
		if args, ok = keyArgs(p.parts, k); !ok {
			return nil, fmt.Errorf("list %s: %w", p.name, row.ErrKey)
		}
	}
	ctx, cancel := p.src.begin(ctx, 3+len(p.nodes()))
	defer cancel()
	var all []*record
	err := p.src.read(ctx, func(ctx context.Context, c *conn) error {
		return c.snapshot(ctx, func() (err error) {
			if all, err = p.page(ctx, c, args, limit); err != nil {
				return err
			}
			return p.root.fill(ctx, c, all)
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", p.name, err)
	}
	out := make([]source.Loaded, len(all))
	for i, r := range all {
		out[i] = source.Loaded{Asked: r.key, Key: r.key, Values: r.values, Children: r.children}
	}
	return out, nil
}

// page reads rows until limit of them have a key. An empty text, for one, is
// none.
func (p *plan) page(
	ctx context.Context, c *conn, after []any, limit int,
) ([]*record, error) {
	n := p.root
	var all []*record
	for len(all) < limit {
		want, got := limit-len(all), 0
		sql, args := n.selectPage(after != nil), []any{}
		if after != nil {
			args = append(args, n.pageArgs(after)...)
		}
		err := c.query(ctx, sql, append(args, int64(want)), func(v []any) error {
			got++
			r, err := n.record(v)
			if err != nil {
				return err
			}
			after = make([]any, len(n.keyCols))
			for i, at := range n.key {
				after[i] = n.keyCols[i].Arg(r.read[at])
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
