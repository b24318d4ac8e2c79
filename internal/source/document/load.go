package document

import (
	"context"
	"fmt"
	"slices"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// Load reads the documents of keys.
func (p *Plan) Load(ctx context.Context, asked []row.Key) ([]source.Loaded, error) {
	if len(asked) == 0 {
		return nil, nil
	}
	keys, err := p.parseKeys(asked)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", p.Name, err)
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
	if err := p.db.Read(ctx, !p.oneStatement(len(keys)), read); err != nil {
		return nil, fmt.Errorf("load %s: %w", p.Name, err)
	}
	for i := range loaded {
		loaded[i].Asked = asked[i]
	}
	return loaded, nil
}

// parseKeys returns keys in their canonical form: the same slice if they all have it.
func (p *Plan) parseKeys(asked []row.Key) ([]row.Key, error) {
	keys := asked
	for i, k := range asked {
		canonical, err := p.ParseKey(k)
		if err != nil {
			return nil, err
		}
		if canonical == k {
			continue
		}
		if &keys[0] == &asked[0] {
			keys = slices.Clone(asked)
		}
		keys[i] = canonical
	}
	return keys, nil
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
	out := make([]source.Loaded, len(keys))
	for i, k := range keys {
		out[i].Asked = k
	}
	if nested := p.Dialect.Nested; nested != nil && len(keys) > 1 {
		return out, p.loadNested(ctx, c, keys, out)
	}
	found := make([]*record, len(keys))
	load := p.loadMany
	if p.Query != nil || len(keys) == 1 {
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
	for i, r := range found {
		if r != nil {
			p.finish(r, &out[i])
		}
	}
	return out, nil
}

// finish makes a document of a row that has a key.
func (p *Plan) finish(r *record, out *source.Loaded) {
	out.Key, out.Values, out.Children = r.key, p.Root.values(r.read), r.children
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
	st := p.statementByKey()
	for i, k := range keys {
		args, ok := KeyArgs(p.Parts, k)
		if !ok {
			continue
		}
		if p.Query != nil && !p.Dialect.Numbered {
			args = p.QueryArgs(args)
		}
		s := &search{plan: p, key: k}
		err := c.Query(ctx, st, args, s.find)
		if err != nil && !p.Dialect.noSuchText(err) {
			return err
		}
		// A row may be equal to the key that was asked for, and have none itself.
		if err == nil && s.found && s.record.key != "" {
			found[i] = &s.record
		}
	}
	return nil
}

// statementByKey returns the statement that reads the row of one key.
func (p *Plan) statementByKey() *Statement {
	if nested := p.Dialect.Nested; nested != nil {
		return nested.ByKey(p)
	}
	return &p.one
}

// loadNested reads rows with all that is embedded in them, by one statement.
func (p *Plan) loadNested(
	ctx context.Context, c Conn, keys []row.Key, out []source.Loaded,
) error {
	var s search
	err := p.Dialect.Nested.ByKeys(ctx, c, p, keys, func(i int, r Row) error {
		s = search{plan: p, key: keys[i], found: out[i].Found()}
		err := s.find(r)
		p.finish(&s.record, &out[i])
		return err
	})
	for i := range out {
		if out[i].Key == "" {
			out[i] = source.Loaded{Asked: keys[i]}
		}
	}
	return err
}

// A search is for the row of one key.
type search struct {
	plan   *Plan
	key    row.Key
	found  bool
	record record
}

// find takes a row, which must be the only one.
func (s *search) find(r Row) error {
	p := s.plan
	if s.found {
		return &source.Error{
			Class:   source.Internal,
			Message: fmt.Sprintf("%s: more than one row for the key %q", p.Name, s.key),
			Hint:    "the key of a resource must name one row",
		}
	}
	s.found = true
	err := p.Root.into(&s.record, r)
	if err == nil && !p.KeyRead {
		s.record.key = s.key
	}
	return err
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
