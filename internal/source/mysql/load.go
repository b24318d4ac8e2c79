package mysql

import (
	"context"
	"fmt"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// chunk is how many values one statement is given at most.
const chunk = 256

// A record is one row as it was read, on its way to be a document.
type record struct {
	key      row.Key // "" when it has none
	read     row.Values
	values   row.Values // of the members
	children []source.Child
}

// Load reads the documents of keys.
func (p *plan) Load(ctx context.Context, asked []row.Key) ([]source.Loaded, error) {
	if len(asked) == 0 {
		return nil, nil
	}
	keys := make([]row.Key, len(asked))
	for i, k := range asked {
		var err error
		if keys[i], err = p.loose.Parse(k); err != nil {
			return nil, fmt.Errorf("load %s: %w", p.name, err)
		}
	}
	single := len(p.root.kids) == 0 && (len(keys) == 1 ||
		p.query == nil && !p.keys.Wide() && len(keys)*len(p.parts) <= chunk)
	ctx, cancel := p.src.begin(ctx, 2+len(p.nodes())+len(keys))
	defer cancel()
	var loaded []source.Loaded
	err := p.src.read(ctx, func(ctx context.Context, c *conn) error {
		load := func() (err error) {
			loaded, err = p.load(ctx, c, keys)
			return err
		}
		if single { // one statement is a snapshot by itself
			return load()
		}
		return c.snapshot(ctx, load)
	})
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", p.name, err)
	}
	for i := range loaded {
		loaded[i].Asked = asked[i]
	}
	return loaded, nil
}

// load reads the documents of canonical keys on c, in order.
func (p *plan) load(ctx context.Context, c *conn, keys []row.Key) ([]source.Loaded, error) {
	found := make([]*record, len(keys))
	var err error
	if p.query != nil || len(keys) == 1 {
		err = p.loadEach(ctx, c, keys, found)
	} else {
		err = p.loadMany(ctx, c, keys, found)
	}
	if err != nil {
		return nil, err
	}
	var all []*record
	seen := make(map[*record]bool, len(found))
	for _, r := range found {
		if r != nil && !seen[r] {
			seen[r] = true
			all = append(all, r)
		}
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

// loadMany reads many rows with few statements, and finds each by its key. A
// key that is not found so may still be equal to a row's in the eyes of the
// database, where its equality is wide: then it is asked for by itself.
func (p *plan) loadMany(
	ctx context.Context, c *conn, keys []row.Key, found []*record,
) error {
	byKey := make(map[row.Key]*record, len(keys))
	args := make([][]any, 0, len(keys))
	for _, k := range keys {
		if a, ok := keyArgs(p.parts, k); ok {
			args = append(args, a)
		}
	}
	err := inChunks(args, len(p.parts), func(count int, args []any) error {
		return c.query(ctx, p.root.selectByKey(count), args, func(v []any) error {
			r, err := p.root.record(v)
			if err == nil && r.key != "" {
				byKey[r.key] = r
			}
			return err
		})
	})
	if noSuchText(err) {
		return p.loadEach(ctx, c, keys, found)
	}
	if err != nil {
		return err
	}
	var rest []int
	for i, k := range keys {
		if found[i] = byKey[k]; found[i] == nil && p.keys.Wide() {
			rest = append(rest, i)
		}
	}
	for _, i := range rest {
		if err := p.loadEach(ctx, c, keys[i:i+1], found[i:i+1]); err != nil {
			return err
		}
		// Two spellings of one key share its row.
		if r := found[i]; r != nil && byKey[r.key] != nil {
			found[i] = byKey[r.key]
		}
	}
	return nil
}

// inChunks calls fn with the values of several args in a row, the last ones
// repeated, so that few different statements are prepared.
func inChunks(args [][]any, parts int, fn func(count int, args []any) error) error {
	per := max(1, chunk/parts)
	for start := 0; start < len(args); start += per {
		part := args[start:min(start+per, len(args))]
		count := min(width(len(part)), per)
		flat := make([]any, 0, count*parts)
		for i := range count {
			flat = append(flat, part[min(i, len(part)-1)]...)
		}
		if err := fn(count, flat); err != nil {
			return err
		}
	}
	return nil
}

// width returns the number of keys that the statement for n keys has.
func width(n int) int {
	for _, w := range []int{1, 4, 16, 64} {
		if n <= w {
			return w
		}
	}
	return max(n, chunk)
}

// loadEach reads one row after the other.
func (p *plan) loadEach(
	ctx context.Context, c *conn, keys []row.Key, found []*record,
) error {
	for i, k := range keys {
		args, ok := keyArgs(p.parts, k)
		if !ok {
			continue
		}
		if p.query != nil {
			args = p.queryArgs(args)
		}
		err := c.query(ctx, p.selectOne(), args, func(v []any) error {
			if found[i] != nil {
				return &source.Error{
					Class:   source.Internal,
					Message: fmt.Sprintf("%s: more than one row for the key %q", p.name, k),
					Hint:    "the key of a resource must name one row",
				}
			}
			r, err := p.root.record(v)
			if err == nil && !p.keyRead {
				r.key = k
			}
			found[i] = r
			return err
		})
		if err != nil {
			if noSuchText(err) {
				found[i] = nil
				continue
			}
			return err
		}
		if r := found[i]; r != nil && r.key == "" {
			found[i] = nil // equal to the key asked for, but none itself
		}
	}
	return nil
}

// noSuchText reports whether err says that a text cannot be compared with the
// column's: its character set has not all of the letters, so no row has it.
func noSuchText(err error) bool {
	n := number(err)
	return n == errMixTwo || n == errMixThree || n == errMixMany
}

// queryArgs returns the parameters of a query in the order of their use.
func (p *plan) queryArgs(args []any) []any {
	out := make([]any, len(p.query.Params))
	for i, name := range p.query.Params {
		out[i] = args[0] // :key is the one part there is
		for j := range p.keys {
			if p.keys[j].Column == name {
				out[i] = args[j]
			}
		}
	}
	return out
}

// record makes a record of the values of the items. Embedded documents are
// filled in later.
func (n *node) record(v []any) (*record, error) {
	r := &record{read: make(row.Values, len(n.items)), values: make(row.Values, len(n.fields))}
	if len(v) < len(n.items) {
		return nil, fmt.Errorf("%s: %d columns, want %d", n.name, len(v), len(n.items))
	}
	for i, col := range n.items {
		var err error
		if r.read[i], err = col.Value(v[i]); err != nil {
			return nil, &source.Error{Class: source.Busy, After: retryAfter,
				Err:     fmt.Errorf("%w: %w", source.ErrReshaped, err),
				Message: n.name + " has columns of other types than when its resource was compiled"}
		}
	}
	for i, at := range n.at {
		if at >= 0 {
			r.values[i] = r.read[at]
		}
	}
	r.key, _ = r.keyOf(n.keyCols, n.key)
	if len(n.idAt) > 0 {
		if id, ok := r.keyOf(n.idCols, n.idAt); ok {
			r.children = []source.Child{{Table: n.table.ID(), ID: id}}
		}
	}
	return r, nil
}

// keyOf returns the key that the values of columns at these places make. It
// reports false when one of them can be no part of a key.
func (r *record) keyOf(cols []*column, at []int) (row.Key, bool) {
	if len(at) == 0 {
		return "", false
	}
	parts := make([]string, len(at))
	for i, a := range at {
		var ok bool
		if parts[i], ok = cols[i].KeyText(r.read[a]); !ok {
			return "", false
		}
	}
	return row.JoinKey(parts...), true
}

// fill reads what is embedded in parents, at every level, one level at a time.
func (n *node) fill(ctx context.Context, c *conn, parents []*record) error {
	if len(parents) == 0 {
		return nil
	}
	for _, kid := range n.kids {
		groups, err := kid.children(ctx, c, parents)
		if err != nil {
			return err
		}
		var all []*record
		for _, g := range groups {
			all = append(all, g...)
		}
		if err := kid.fill(ctx, c, all); err != nil {
			return err
		}
		for i, g := range groups {
			kid.adopt(parents[i], g)
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

// children reads the rows of n for each parent, in their order. The parent's
// key is bound as a value of the child's column: a text for a text.
func (n *node) children(
	ctx context.Context, c *conn, parents []*record,
) ([][]*record, error) {
	if n.exact {
		groups, err := n.childrenOfMany(ctx, c, parents)
		if !noSuchText(err) {
			return groups, err
		}
	}
	// Equality is the database's to judge: ask for each parent by itself.
	groups := make([][]*record, len(parents))
	for i, p := range parents {
		args, ok := keyArgs(n.on, p.key)
		if !ok {
			continue // a text that the child's column cannot have
		}
		err := c.query(ctx, n.selectByOn(1), args, func(v []any) error {
			r, err := n.record(v)
			groups[i] = append(groups[i], r)
			return err
		})
		if err != nil && !noSuchText(err) {
			return nil, err
		}
	}
	return groups, nil
}

// childrenOfMany is children with few statements, where the text of a key says
// whose child a row is.
func (n *node) childrenOfMany(
	ctx context.Context, c *conn, parents []*record,
) ([][]*record, error) {
	groups := make([][]*record, len(parents))
	at := make(map[row.Key]int, len(parents))
	args := make([][]any, 0, len(parents))
	for i, p := range parents {
		if a, ok := keyArgs(n.on, p.key); ok {
			at[p.key] = i
			args = append(args, a)
		}
	}
	err := inChunks(args, len(n.on), func(count int, args []any) error {
		return c.query(ctx, n.selectByOn(count), args, func(v []any) error {
			r, err := n.record(v)
			if err != nil {
				return err
			}
			key, _ := r.keyOf(n.on, n.onAt)
			if i, ok := at[key]; ok {
				groups[i] = append(groups[i], r)
			}
			return nil
		})
	})
	return groups, err
}
