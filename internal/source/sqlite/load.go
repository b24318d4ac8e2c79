package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// chunk is how many values one statement is given at most.
const chunk = 500

// A record is one row as it was read, on its way to be a document.
type record struct {
	key      row.Key // "" when it has none
	raw      []any   // the key's values
	values   row.Values
	children []source.Child
}

// Load reads the documents of keys.
func (p *plan) Load(ctx context.Context, keys []row.Key) ([]source.Loaded, error) {
	canonical := make([]row.Key, len(keys))
	args := make([][]any, len(keys))
	for i, k := range keys {
		var err error
		if canonical[i], err = p.kt.Parse(k); err != nil {
			return nil, fmt.Errorf("load %s: %w", p.name, err)
		}
		if args[i], err = keyArgs(p.kt, canonical[i]); err != nil {
			return nil, fmt.Errorf("load %s: %w", p.name, err)
		}
		if p.root.query != nil {
			if err := p.root.query.checkKey(args[i]); err != nil {
				return nil, fmt.Errorf("load %s: %w", p.name, err)
			}
		}
	}
	var out []source.Loaded
	err := p.s.readPool().use(ctx, func(c *conn) error {
		read := func() (err error) {
			out, err = p.load(ctx, c, canonical, args)
			return err
		}
		if p.oneStatement(len(keys)) {
			return read()
		}
		return c.snapshot(ctx, read)
	})
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", p.name, err)
	}
	for i := range out {
		out[i].Asked = keys[i]
	}
	return out, nil
}

// oneStatement reports whether Load of count keys runs one statement, which is
// a snapshot by itself.
func (p *plan) oneStatement(count int) bool {
	return len(p.root.embeds) == 0 &&
		(count <= 1 || p.root.query == nil && !p.kt.Wide() && count*len(p.kt) <= chunk)
}

// load reads the documents of keys on c, in order.
func (p *plan) load(
	ctx context.Context, c *conn, keys []row.Key, args [][]any,
) ([]source.Loaded, error) {
	found, all, err := p.find(ctx, c, keys, args)
	if err != nil {
		return nil, err
	}
	if err := p.root.fill(ctx, c, all); err != nil {
		return nil, err
	}
	out := make([]source.Loaded, len(keys))
	for i, r := range found {
		out[i].Asked = keys[i]
		if r != nil {
			out[i].Key, out[i].Values, out[i].Children = r.key, r.values, r.children
		}
	}
	return out, nil
}

// find reads the rows of keys, without what is embedded: one for each key, nil
// where there is none, and all that there are.
func (p *plan) find(
	ctx context.Context, c *conn, keys []row.Key, args [][]any,
) (found, all []*record, err error) {
	found = make([]*record, len(keys))
	if p.root.query != nil || p.kt.Wide() {
		all, err = p.loadEach(ctx, c, keys, args, found)
	} else {
		all, err = p.loadMany(ctx, c, keys, args, found)
	}
	return found, all, err
}

// loadMany reads many rows with one statement, and finds each by its key.
func (p *plan) loadMany(
	ctx context.Context, c *conn, keys []row.Key, args [][]any, found []*record,
) ([]*record, error) {
	byKey := make(map[row.Key]*record, len(keys))
	var all []*record
	per := chunk / len(p.kt)
	for start := 0; start < len(keys); start += per {
		part := args[start:min(start+per, len(keys))]
		err := c.queryBrief(ctx, p.root.selectByKey(width(len(part))), flatten(part),
			func(v []any) error {
				r := p.root.record(v)
				if r.key != "" && byKey[r.key] == nil {
					byKey[r.key] = r
					all = append(all, r)
				}
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	for i, k := range keys {
		found[i] = byKey[k]
	}
	return all, nil
}

// loadEach reads one row after the other, where the statement takes one key,
// or where equality is the database's alone to judge.
func (p *plan) loadEach(
	ctx context.Context, c *conn, keys []row.Key, args [][]any, found []*record,
) ([]*record, error) {
	var all []*record
	for i := range keys {
		bound := args[i]
		if p.root.query != nil {
			bound = p.root.query.bind(args[i])
		}
		err := c.query(ctx, p.root.selectByKey(1), bound, func(v []any) error {
			if found[i] != nil {
				return fmt.Errorf("the query gives more than one row for key %s", keys[i])
			}
			found[i] = p.root.record(v)
			if len(p.root.key.at) == 0 { // a query whose result has no key
				found[i].key, found[i].raw = keys[i], args[i]
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if r := found[i]; r != nil && r.key == "" {
			found[i] = nil // equal to the key asked for, but none itself
		} else if r != nil {
			all = append(all, r)
		}
	}
	return all, nil
}

// record makes a record of the selected values, which knows by which identity a
// feed calls its row. Embedded documents are filled in later.
func (n *node) record(v []any) *record {
	r := &record{values: n.values(v)}
	if len(n.key.at) > 0 {
		r.raw = n.key.raw(v)
		r.key, _ = keyOf(n.key.kinds, r.raw)
	}
	if child, ok := n.child(v); ok {
		r.children = []source.Child{child}
	}
	return r
}

// values returns the values of a document, without what is embedded in it.
func (n *node) values(v []any) row.Values {
	values := make(row.Values, len(n.fields))
	for i, f := range n.fields {
		if f.at >= 0 {
			values[i] = valueOf(n.kinds[f.at], v[f.at])
		}
	}
	return values
}

// child returns the identity by which a feed calls the row of an embedded document,
// where Load reports it.
func (n *node) child(v []any) (c source.Child, ok bool) {
	if len(n.ident.at) == 0 {
		return c, false
	}
	id, ok := keyOf(n.ident.kinds, n.ident.raw(v))
	return source.Child{Table: n.table.Name, ID: id}, ok
}

// width returns the number of keys that the statement for n keys has, so that
// few different statements are prepared; flatten fills it up.
func width(n int) int {
	for _, w := range []int{1, 4, 16, 64, 256} {
		if n <= w {
			return w
		}
	}
	return n
}

// flatten returns the values of args in a row, the last ones repeated up to
// the statement's width.
func flatten(args [][]any) []any {
	n := width(len(args))
	out := make([]any, 0, n*len(args[0]))
	for i := range n {
		out = append(out, args[min(i, len(args)-1)]...)
	}
	return out
}

// List reads up to limit documents whose key follows after, in its order.
func (p *plan) List(ctx context.Context, after *row.Key, limit int) ([]source.Loaded, error) {
	if p.root.query != nil {
		return nil, fmt.Errorf("list %s: %w", p.name,
			invalid("a resource made by a query has no list"))
	}
	var args []any
	if after != nil {
		k, err := p.kt.ParseAfter(*after)
		if err == nil {
			args, err = keyArgs(p.kt, k)
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", p.name, err)
		}
	}
	var all []*record
	err := p.s.readPool().use(ctx, func(c *conn) error {
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

// page reads rows until limit of them have a key.
func (p *plan) page(ctx context.Context, c *conn, after []any, limit int) ([]*record, error) {
	var all []*record
	for len(all) < limit {
		want, got := limit-len(all), 0
		args := append(append([]any(nil), after...), want)
		err := c.query(ctx, p.root.selectPage(after != nil), args, func(v []any) error {
			got++
			r := p.root.record(v)
			after = r.raw
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

// bind returns the arguments of a query for one key.
func (q *query) bind(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = sql.Named(q.params[i], a)
	}
	return out
}
