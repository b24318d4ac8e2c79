package document

import (
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// match returns the condition that columns of n are those of one of keys, see
// Dialect.Match.
func (d *Dialect) match(n *Node, cols []Column, keys []row.Key, after int) (string, []any, bool) {
	if d.Match != nil {
		return d.Match(n, cols, keys, after)
	}
	var args []any
	for _, k := range keys {
		some, ok := n.KeyArgs(cols, k)
		if !ok {
			return "", nil, false
		}
		args = append(args, some...)
	}
	return d.oneOf(n, cols, len(keys)), args, true
}

// compared returns a column as it is compared, see Dialect.Compared.
func (d *Dialect) compared(n *Node, col Column) string {
	if d.Compared != nil {
		return d.Compared(n, col)
	}
	return d.Column(n, col)
}

// keyParam returns a placeholder, see Dialect.KeyParam.
func (d *Dialect) keyParam(col Column) string {
	if d.KeyParam != "" {
		return d.KeyParam
	}
	return d.Param(col)
}

// oneOf returns the condition that columns are one of count tuples.
func (d *Dialect) oneOf(n *Node, cols []Column, count int) string {
	if len(cols) == 1 {
		mark := d.keyParam(cols[0])
		if count == 1 {
			return d.compared(n, cols[0]) + " = " + mark
		}
		return d.compared(n, cols[0]) + " IN (" + mark + strings.Repeat(", "+mark, count-1) + ")"
	}
	parts := make([]string, len(cols))
	for i, col := range cols {
		parts[i] = d.compared(n, col) + " = " + d.keyParam(col)
	}
	one := strings.Join(parts, " AND ")
	if count == 1 {
		return one
	}
	return "(" + one + strings.Repeat(") OR ("+one, count-1) + ")"
}

// Reads returns the expressions of the items that are read, in order.
func (n *Node) Reads(d *Dialect) []string {
	var exprs []string
	for _, it := range n.Items {
		switch {
		case it.Column != nil:
			exprs = append(exprs, d.Read(n, it.Column))
		case n.nested != nil:
			exprs = append(exprs, it.Kid.expr(d, n))
		}
	}
	if len(exprs) == 0 { // documents without a member of their own
		exprs = []string{"1"}
	}
	return exprs
}

// selectList returns the beginning of a SELECT of the items.
func (n *Node) selectList(d *Dialect) string {
	if n.list != "" {
		return n.list
	}
	return "SELECT " + strings.Join(n.Reads(d), ", ") + " FROM " + n.aliased(d, n.Table.From)
}

// byKey returns the statement that reads the rows of count keys.
func (p *Plan) byKey(count int) string {
	n, d := p.Root, p.Dialect
	if p.Query != nil {
		return n.selectList(d) // its FROM has the parameters
	}
	return n.selectList(d) + " WHERE " + d.oneOf(n, n.KeyCols, count)
}

// byParent returns the statement that reads the rows embedded in count parents.
func (n *Node) byParent(d *Dialect, count int) string {
	if count == 1 && n.find != "" {
		return n.find
	}
	return n.selectList(d) + " WHERE " + d.oneOf(n, n.On, count) + n.OrderBy(d)
}

// OrderBy returns the ORDER BY of the rows within their parent.
func (n *Node) OrderBy(d *Dialect) string {
	by := make([]string, len(n.Order))
	for i, o := range n.Order {
		if by[i] = d.Column(n, o.Column); o.Desc {
			by[i] += " DESC"
		}
	}
	return " ORDER BY " + strings.Join(by, ", ")
}

// SQL returns the statements of Load that read one document, for people, where
// each level is read by one of its own.
func (p *Plan) SQL() []string {
	out := []string{p.byKey(1)}
	for _, n := range p.Nodes()[1:] {
		out = append(out, n.byParent(p.Dialect, 1))
	}
	return append(out, p.PathSQL()...)
}

// Find returns the statement that reads the rows of n of one key or one parent, and the
// columns that its parameters are compared with.
func (p *Plan) Find(n *Node) (sql string, cols []Column) {
	if n == p.Root {
		return n.find, p.Parts
	}
	return n.find, n.On
}

// prepare writes the statements that most loads are of. All others are written when they
// are run: of most of a great many tables nobody asks.
func (p *Plan) prepare() {
	for _, n := range p.Nodes() {
		if n == p.Root {
			n.find = p.byKey(1)
		} else {
			n.find = n.byParent(p.Dialect, 1)
		}
		n.list = n.find[:len(n.selectList(p.Dialect))]
	}
	p.one = Statement{SQL: p.Root.find, Use: UseByKey, Node: p.Root, Keys: 1}
	if p.Query != nil || p.keys.Wide() {
		p.one.Use = UseOther
	}
}

// QueryArgs returns the parameters of a query in the order of their use.
func (p *Plan) QueryArgs(args []any) []any {
	out := make([]any, len(p.Query.Params))
	for i, name := range p.Query.Params {
		out[i] = args[p.Query.Part(name)]
	}
	return out
}

// inChunks calls fn with the values of several args in a row, the last ones
// repeated, so that few different statements are prepared.
func inChunks(args [][]any, parts int, fn func(count int, args []any) error) error {
	for some := range slices.Chunk(args, max(1, chunk/parts)) {
		count := min(width(len(some)), max(1, chunk/parts))
		flat := make([]any, 0, count*parts)
		for i := range count {
			flat = append(flat, some[min(i, len(some)-1)]...)
		}
		if err := fn(count, flat); err != nil {
			return err
		}
	}
	return nil
}

// chunk is how many values one statement is given at most.
const chunk = 256

// widths are the numbers of keys that statements have.
var widths = []int{1, 4, 16, 64, chunk}

// width returns the number of keys that the statement for n keys has.
func width(n int) int {
	for _, w := range widths {
		if n <= w {
			return w
		}
	}
	return n
}
