package mysql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A plan is one resource, compiled. It never changes. It implements source.Plan.
type plan struct {
	src     *Source
	name    string
	root    *node
	query   *queryText // of a query resource; else nil
	keys    row.KeyType
	loose   row.KeyType // keys, however long: a longer text is no error, it is no row
	parts   []*column   // of the key; of a query, columns that only have the type
	keyRead bool        // the key is among what is read
	deps    []source.Dep
	insert  bool // MariaDB, whose INSERT can return the key (10.5)
}

var _ source.Plan = (*plan)(nil)

// A node is one level of a document: a table or a query.
type node struct {
	name    string // for people
	from    string // its item of FROM
	table   *table
	spec    *source.Spec
	shape   *row.Shape
	fields  []*column // of each member; nil for documents
	at      []int     // of each member among items; -1 for documents
	items   []*column // what is read: the members, then what only keys need
	keyCols []*column
	key     []int     // places of keyCols among items
	on      []*column // that hold the parent's key
	onAt    []int     // places of on among items
	exact   bool      // on equals the parent's key only if their texts are equal
	idCols  []*column // that name a row: its primary key, or else its key
	idAt    []int     // places of idCols, where Loaded.Children names its rows
	tells   bool      // Loaded.Children names its rows
	order   []string  // columns to order by within the parent, then its key
	kids    []*node
	member  int // of the parent's fields
}

// Shape returns how rows of the plan are encoded.
func (p *plan) Shape() *row.Shape { return p.root.shape }

// KeyType returns the columns of the key and their types.
func (p *plan) KeyType() row.KeyType { return p.keys }

// Deps returns the tables whose rows feed the documents.
func (p *plan) Deps() []source.Dep { return p.deps }

// SQL returns the statements of Load, for people.
func (p *plan) SQL() []string {
	out := []string{p.selectOne()}
	for _, n := range p.nodes()[1:] {
		out = append(out, n.selectByOn(1))
	}
	return out
}

// nodes returns the tables of the document, from the root down.
func (p *plan) nodes() []*node {
	var all []*node
	var visit func(n *node)
	visit = func(n *node) {
		all = append(all, n)
		for _, kid := range n.kids {
			visit(kid)
		}
	}
	visit(p.root)
	return all
}

// place returns where the columns are among the items, adding those that are
// not.
func (n *node) place(cols []*column) []int {
	at := make([]int, len(cols))
	for i, col := range cols {
		at[i] = slices.Index(n.items, col)
		if at[i] < 0 {
			at[i] = len(n.items)
			n.items = append(n.items, col)
		}
	}
	return at
}

// expr returns the expression that reads a column.
func (c *column) expr() string {
	if c.Read != "" {
		return strings.Replace(c.Read, "%s", quote(c.Name), 1)
	}
	return quote(c.Name)
}

// selectList returns the beginning of a SELECT of the items.
func (n *node) selectList() string {
	exprs := make([]string, len(n.items))
	for i, col := range n.items {
		exprs[i] = col.expr()
	}
	if len(exprs) == 0 { // documents without a member of their own
		exprs = []string{"1"}
	}
	return "SELECT " + strings.Join(exprs, ", ") + " FROM " + n.from
}

// selectOne returns the statement that reads the document of one key.
func (p *plan) selectOne() string {
	if p.query != nil {
		return p.root.selectList() // its FROM has the parameters
	}
	return p.root.selectByKey(1)
}

// selectByKey returns the statement that reads the rows of count keys.
func (n *node) selectByKey(count int) string {
	return n.selectList() + " WHERE " + oneOf(n.keyCols, count)
}

// selectByOn returns the statement that reads the rows embedded in count parents.
func (n *node) selectByOn(count int) string {
	return n.selectList() + " WHERE " + oneOf(n.on, count) + " ORDER BY " +
		strings.Join(n.order, ", ")
}

// selectPage returns the statement that reads rows in the order of the key: the
// first page, or the one that follows a key. Of a composite key, the condition
// on the first column alone is there for the index. Its parameters are those of
// pageArgs.
func (n *node) selectPage(follow bool) string {
	var where, order []string
	for _, col := range n.keyCols {
		order = append(order, col.ordered())
		if !col.NotNull {
			where = append(where, quote(col.Name)+" IS NOT NULL")
		}
	}
	if follow {
		where = append(where, n.after())
	}
	sql := n.selectList()
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	return sql + " ORDER BY " + strings.Join(order, ", ") + " LIMIT ?"
}

// after returns the condition that a row's key follows another.
func (n *node) after() string {
	first := n.keyCols[0]
	if len(n.keyCols) == 1 {
		return first.ordered() + " > " + first.Mark()
	}
	var any []string
	for i := range n.keyCols {
		var all []string
		for j, col := range n.keyCols[:i+1] {
			op := " = "
			if j == i {
				op = " > "
			}
			all = append(all, col.ordered()+op+col.Mark())
		}
		any = append(any, "("+strings.Join(all, " AND ")+")")
	}
	return fmt.Sprintf("%s >= %s AND (%s)", first.ordered(), first.Mark(),
		strings.Join(any, " OR "))
}

// ordered returns the expression by which a list is ordered. An enum and a set are sorted by
// number and compared by text, which cannot both say where a page goes on.
func (c *column) ordered() string {
	if c.Type == "enum" || c.Type == "set" {
		return "CONCAT(" + quote(c.Name) + ")"
	}
	return quote(c.Name)
}

// pageArgs returns the parameters of selectPage for the key that args bind.
func (n *node) pageArgs(args []any) []any {
	if len(n.keyCols) == 1 {
		return args
	}
	out := []any{args[0]}
	for i := range args {
		out = append(out, args[:i+1]...)
	}
	return out
}

// oneOf returns the condition that columns are one of count tuples.
func oneOf(cols []*column, count int) string {
	if len(cols) == 1 {
		mark := cols[0].Mark()
		if count == 1 {
			return quote(cols[0].Name) + " = " + mark
		}
		return quote(cols[0].Name) + " IN (" + mark + strings.Repeat(", "+mark, count-1) + ")"
	}
	parts := make([]string, len(cols))
	for i, c := range cols {
		parts[i] = quote(c.Name) + " = " + c.Mark()
	}
	one := strings.Join(parts, " AND ")
	if count == 1 {
		return one
	}
	return "(" + one + strings.Repeat(") OR ("+one, count-1) + ")"
}

// names returns the names of columns.
func names(cols []*column) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = c.Name
	}
	return out
}

// keyArgs returns what the parts of a key of these columns are bound as, and
// false when no row can have it.
func keyArgs(cols []*column, k row.Key) ([]any, bool) {
	parts, ok := row.SplitKey(k, len(cols))
	if !ok {
		return nil, false
	}
	args := make([]any, len(cols))
	for i, c := range cols {
		var err error
		if args[i], err = c.KeyArg(parts[i]); err != nil {
			return nil, false
		}
	}
	return args, true
}
