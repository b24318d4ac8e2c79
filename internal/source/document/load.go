package document

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// retryAfter is when a caller may try again what the plan does not fit now.
const retryAfter = time.Second

// A record is one row as it was read, on its way to be a document.
type record struct {
	key      row.Key    // "" when it has none, or when it is the empty text
	named    bool       // it has one
	read     row.Values // of the items; those of embedded documents are filled in later
	children []source.Child
	links    []row.Key // see Node.links
}

// records makes records, many at a time.
type records struct{ free []record }

// next returns a new record.
func (s *records) next() *record {
	if len(s.free) == 0 {
		s.free = make([]record, usualRows)
	}
	r := &s.free[0]
	s.free = s.free[1:]
	return r
}

// values returns the values of the members of a row whose items are read.
func (n *Node) values(read row.Values) row.Values {
	if n.spreads {
		return n.spread(read)
	}
	return read[:len(n.Fields):len(n.Fields)]
}

// Load reads the documents of keys.
func (p *Plan) Load(ctx context.Context, asked []row.Key) ([]source.Loaded, error) {
	if len(asked) == 0 {
		return nil, nil
	}
	keys := make([]row.Key, len(asked))
	for i, k := range asked {
		var err error
		if keys[i], err = p.ParseKey(k); err != nil {
			return nil, fmt.Errorf("load %s: %w", p.Name, err)
		}
	}
	statements := 1
	if p.Dialect.Nested == nil {
		statements = 2 + p.depth + len(keys)*(1+len(p.paths))
	}
	ctx, cancel := p.db.Begin(ctx, statements)
	defer cancel()
	var loaded []source.Loaded
	read := func(ctx context.Context, c Conn) (err error) {
		if loaded, err = p.load(ctx, c, keys); err == nil {
			err = p.LeadAll(ctx, c, loaded)
		}
		return err
	}
	err := p.db.Read(ctx, !p.oneStatement(len(keys)), read)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", p.Name, err)
	}
	for i := range loaded {
		loaded[i].Asked = asked[i]
	}
	return loaded, nil
}

// oneStatement reports whether Load of count keys runs one statement, which is a
// snapshot by itself.
func (p *Plan) oneStatement(count int) bool {
	if p.Dialect.Nested != nil {
		return p.paths == nil
	}
	return len(p.Root.Kids) == 0 && p.paths == nil && (count == 1 ||
		p.Query == nil && !p.keys.Wide() && count*len(p.Parts) <= chunk)
}

// load reads the documents of canonical keys on c, in order.
func (p *Plan) load(ctx context.Context, c Conn, keys []row.Key) ([]source.Loaded, error) {
	found := make([]*record, len(keys))
	load := p.loadMany
	switch {
	case p.Dialect.Nested != nil:
		load = p.loadNested
	case p.Query != nil || len(keys) == 1:
		load = p.loadEach
	}
	if err := load(ctx, c, keys, found); err != nil {
		return nil, err
	}
	if len(p.Root.Kids) > 0 && p.Dialect.Nested == nil {
		var all []*record
		seen := make(map[*record]bool, len(found))
		for _, r := range found {
			if r != nil && !seen[r] {
				seen[r] = true
				all = append(all, r)
			}
		}
		if err := p.fill(ctx, c, p.Root, all); err != nil {
			return nil, err
		}
	}
	out := make([]source.Loaded, len(keys))
	for i, r := range found {
		out[i].Asked = keys[i]
		if r != nil {
			out[i].Key, out[i].Values = r.key, p.Root.values(r.read)
			out[i].Children = r.children
		}
	}
	return out, nil
}

// loadMany reads many rows with few statements, and finds each by its key. A key
// that is not found so may still be equal to a row's in the eyes of the database,
// where its equality is wide: then it is asked for by itself.
func (p *Plan) loadMany(ctx context.Context, c Conn, keys []row.Key, found []*record) error {
	byKey, some := make(map[row.Key]*record, len(keys)), records{}
	args := make([][]any, 0, len(keys))
	for _, k := range keys {
		if a, ok := KeyArgs(p.Parts, k); ok {
			args = append(args, a)
		}
	}
	err := inChunks(args, len(p.Parts), func(count int, args []any) error {
		st := Statement{SQL: p.byKey(count), Use: UseByKey, Node: p.Root, Keys: count}
		return c.Query(ctx, &st, args, func(row Row) error {
			r, err := p.Root.record(row, &some)
			if err == nil && r.key != "" {
				byKey[r.key] = r
			}
			return err
		})
	})
	if p.Dialect.noSuchText(err) {
		return p.loadEach(ctx, c, keys, found)
	}
	if err != nil {
		return err
	}
	for i, k := range keys {
		if found[i] = byKey[k]; found[i] != nil || !p.keys.Wide() {
			continue
		}
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

// loadEach reads one row after the other.
func (p *Plan) loadEach(ctx context.Context, c Conn, keys []row.Key, found []*record) error {
	st := Statement{SQL: p.byKey(1), Use: UseByKey, Node: p.Root, Keys: 1}
	if p.Query != nil || p.keys.Wide() {
		st.Use = UseOther
	}
	one := records{make([]record, len(keys))}
	for i, k := range keys {
		args, ok := KeyArgs(p.Parts, k)
		if !ok {
			continue
		}
		if p.Query != nil {
			args = p.QueryArgs(args)
		}
		err := c.Query(ctx, &st, args, func(row Row) error {
			return p.find(row, k, &found[i], &one)
		})
		if err != nil && !p.Dialect.noSuchText(err) {
			return err
		}
		// A row may be equal to the key asked for, and have none itself.
		if r := found[i]; err != nil || r != nil && r.key == "" {
			found[i] = nil
		}
	}
	return nil
}

// loadNested reads rows with all that is embedded in them.
func (p *Plan) loadNested(ctx context.Context, c Conn, keys []row.Key, found []*record) error {
	one := records{make([]record, len(keys))}
	err := p.Dialect.Nested.ByKeys(ctx, c, p, keys, func(i int, r Row) error {
		return p.find(r, keys[i], &found[i], &one)
	})
	for i, r := range found {
		if r != nil && r.key == "" {
			found[i] = nil
		}
	}
	return err
}

// find makes the record of a key of a row, which must be the only one.
func (p *Plan) find(row Row, k row.Key, found **record, of *records) error {
	if *found != nil {
		return &source.Error{
			Class:   source.Internal,
			Message: fmt.Sprintf("%s: more than one row for the key %q", p.Name, k),
			Hint:    "the key of a resource must name one row",
		}
	}
	r, err := p.Root.record(row, of)
	if err == nil && !p.KeyRead {
		r.key = k
	}
	*found = r
	return err
}

// record makes a record of a row, and takes it from of.
func (n *Node) record(row Row, of *records) (*record, error) {
	read, err := n.read(row)
	if err != nil {
		return nil, err
	}
	r := of.next()
	r.read = read
	if r.key, r.named, err = n.keyOf(row, n.KeyCols, n.Key); err != nil {
		return nil, err
	}
	child, ok, err := n.child(row)
	if ok {
		r.children = []source.Child{child}
	}
	switch {
	case err != nil || len(n.Kids) == 0:
		return r, err
	case n.nested != nil:
		return r, n.unfold(r.read, row, &r.children)
	case n.embeds():
		r.links, err = n.links(row)
	}
	return r, err
}

// read returns the values of the items of a row, but for what is embedded.
func (n *Node) read(r Row) (row.Values, error) {
	values := make(row.Values, len(n.Items))
	for i := range n.Items {
		it := &n.Items[i]
		if it.Kid != nil {
			continue
		}
		var err error
		if values[i], err = r.Value(n.places[i], it); err != nil {
			return nil, n.reshaped(err)
		}
	}
	return values, nil
}

// reshaped returns the error of a value that is not of the type that its column was
// when the plan was compiled. It lasts until the feed has noticed and the plan is
// made anew.
func (n *Node) reshaped(err error) error {
	if !errors.Is(err, source.ErrReshaped) {
		return err
	}
	return &source.Error{Class: source.Busy, After: retryAfter, Err: err,
		Message: n.Name + " has columns of other types than when its resource was compiled"}
}

// keyOf returns the key that columns which are items make. It reports false when
// one of them can be no part of a key.
func (n *Node) keyOf(r Row, cols []Column, at []int) (row.Key, bool, error) {
	if len(at) == 0 {
		return "", false, nil
	}
	var first [1]string
	parts := first[:]
	if len(at) > 1 {
		parts = make([]string, len(at))
	}
	for i, item := range at {
		cell, ok, err := r.Cell(n.places[item], cols[i])
		if err != nil || !ok || cell.Null {
			return "", false, n.reshaped(err)
		}
		parts[i] = cell.Text
	}
	if len(parts) == 1 {
		return row.Key(parts[0]), true, nil
	}
	return row.JoinKey(parts...), true, nil
}

// child returns the identity by which a feed calls the row, where Load reports it.
func (n *Node) child(r Row) (c source.Child, ok bool, err error) {
	if len(n.IDAt) == 0 {
		return c, false, nil
	}
	id, ok, err := n.keyOf(r, n.IDCols, n.IDAt)
	return source.Child{Table: n.Name, ID: id}, ok, err
}

// fill reads what is embedded in parents, rows of n, at every level, one level at a
// time.
func (p *Plan) fill(ctx context.Context, c Conn, n *Node, parents []*record) error {
	if len(parents) == 0 || n.nested != nil { // which are whole
		return nil
	}
	for i, kid := range n.Kids {
		if kid.related != nil {
			if err := p.relate(ctx, c, kid, i, parents); err != nil {
				return err
			}
			continue
		}
		fill := p.fillNested
		if len(kid.Kids) == 0 {
			fill = p.fillFlat
		}
		if err := fill(ctx, c, kid, parents); err != nil {
			return err
		}
	}
	return nil
}

// usualRows is for how many embedded rows there is room at first.
const usualRows = 8

// fillFlat puts the rows of n, in which nothing is embedded, into their parents. Most
// of what a load reads is such rows, so they are made of little.
func (p *Plan) fillFlat(ctx context.Context, c Conn, n *Node, parents []*record) error {
	groups := make([][]row.Values, len(parents))
	err := p.children(ctx, c, n, parents, func(i int, r Row) error {
		if groups[i] == nil {
			groups[i] = make([]row.Values, 0, usualRows)
			parents[i].children = slices.Grow(parents[i].children, usualRows)
		}
		values, err := n.read(r)
		if err != nil {
			return err
		}
		groups[i] = append(groups[i], n.values(values))
		child, ok, err := n.child(r)
		if ok {
			parents[i].children = append(parents[i].children, child)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, g := range groups {
		if g == nil {
			g = []row.Values{}
		}
		parents[i].read[n.Member] = row.RowsValue(g)
	}
	return nil
}

// fillNested puts the rows of n into their parents, and into the rows what is
// embedded in them.
func (p *Plan) fillNested(ctx context.Context, c Conn, n *Node, parents []*record) error {
	groups := make([][]*record, len(parents))
	var all []*record
	var some records
	err := p.children(ctx, c, n, parents, func(i int, row Row) error {
		r, err := n.record(row, &some)
		groups[i], all = append(groups[i], r), append(all, r)
		return err
	})
	if err == nil {
		err = p.fill(ctx, c, n, all)
	}
	if err != nil {
		return err
	}
	for i, g := range groups {
		n.adopt(parents[i], g)
	}
	return nil
}

// adopt puts the documents of group into parent.
func (n *Node) adopt(parent *record, group []*record) {
	rows := make([]row.Values, len(group))
	for i, r := range group {
		rows[i] = n.values(r.read)
		parent.children = append(parent.children, r.children...)
		r.children = nil
	}
	parent.read[n.Member] = row.RowsValue(rows)
}

// children reads the rows of n for each parent, in their order, and calls each with
// which of parents one belongs to. Where the text of a key does not say whose child a
// row is, equality is the database's to judge: it asks for each parent by itself.
func (p *Plan) children(
	ctx context.Context, c Conn, n *Node, parents []*record, each func(parent int, r Row) error,
) error {
	per := 1
	if n.Exact {
		per = max(1, chunk/len(n.On))
	}
	for from := 0; from < len(parents); from += per {
		some := parents[from:min(from+per, len(parents))]
		eachOf := func(i int, r Row) error { return each(from+i, r) }
		err := p.childrenOf(ctx, c, n, some, eachOf)
		if !p.Dialect.noSuchText(err) {
			if err != nil {
				return err
			}
			continue
		}
		for i := 0; len(some) > 1 && i < len(some); i++ { // one of them, but which?
			one := func(_ int, r Row) error { return each(from+i, r) }
			err := p.childrenOf(ctx, c, n, some[i:i+1], one)
			if err != nil && !p.Dialect.noSuchText(err) {
				return err
			}
		}
	}
	return nil
}

// childrenOf is children with one statement.
func (p *Plan) childrenOf(
	ctx context.Context, c Conn, n *Node, parents []*record, each func(parent int, r Row) error,
) error {
	at := make(map[row.Key]int, len(parents))
	args := make([][]any, 0, len(parents))
	for i, parent := range parents {
		// A text that the child's column cannot have is that of no child.
		if a, ok := n.KeyArgs(n.On, parent.key); ok {
			at[parent.key] = i
			args = append(args, a)
		}
	}
	st := Statement{SQL: n.byParent(p.Dialect, 1), Use: UseByParent, Node: n, Keys: 1}
	if len(parents) == 1 && len(args) == 1 {
		return c.Query(ctx, &st, args[0], func(r Row) error { return each(0, r) })
	}
	return inChunks(args, len(n.On), func(count int, args []any) error {
		st.SQL, st.Keys = n.byParent(p.Dialect, count), count
		return c.Query(ctx, &st, args, func(r Row) error {
			key, _, err := n.keyOf(r, n.On, n.OnAt)
			if i, ok := at[key]; ok && err == nil {
				return each(i, r)
			}
			return err
		})
	})
}
