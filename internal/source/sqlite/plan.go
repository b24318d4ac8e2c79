package sqlite

import (
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A plan is one resource, compiled.
type plan struct {
	s    *Source
	name string
	root *node
	kt   row.KeyType
	deps []source.Dep
}

var _ source.Plan = (*plan)(nil)

// A node is what a plan reads from one table or query: the document itself, or
// the documents embedded in it.
type node struct {
	path  string // for errors: "depts", "depts.emps"
	table *table // nil: a query
	query *query // nil: a table
	shape *row.Shape

	fields []field  // as the shape has them
	cols   []string // selected, in order
	kinds  []row.Kind
	key    place // the columns that name a row

	// Of embedded documents only.
	member int   // of the parent's fields
	on     place // the columns that hold the parent's key
	exact  bool  // on equals the parent's key only if their texts are equal
	ident  place // the primary key, where Load reports it; else empty
	order  string

	briefRead   bool // selectByOn for one parent, see brief.go
	briefUpdate bool

	embeds []*node
}

// A field is one member of the documents of a node.
type field struct {
	at       int     // in node.cols; -1: embedded documents
	column   *column // nil: embedded documents, or of a query
	embed    *node
	required bool
}

// A place is where some columns are among those selected.
type place struct {
	columns []string
	at      []int
	kinds   []row.Kind // as keys, see keyKind
}

// raw returns the values of the place's columns.
func (p *place) raw(values []any) []any {
	out := make([]any, len(p.at))
	for i, at := range p.at {
		out[i] = values[at]
	}
	return out
}

// Shape returns how rows of the plan are encoded.
func (p *plan) Shape() *row.Shape { return p.root.shape }

// KeyType returns the columns of the key and their types.
func (p *plan) KeyType() row.KeyType { return p.kt }

// Deps returns the tables whose rows feed the documents.
func (p *plan) Deps() []source.Dep { return p.deps }

// SQL returns the statements of Load, for people.
func (p *plan) SQL() []string {
	var out []string
	p.root.walk(func(n *node) {
		if n == p.root {
			out = append(out, n.selectByKey(1))
		} else {
			out = append(out, n.selectByOn(1))
		}
	})
	return out
}

// walk calls fn for n and for what is embedded in it, at every level.
func (n *node) walk(fn func(*node)) {
	fn(n)
	for _, e := range n.embeds {
		e.walk(fn)
	}
}

// place selects columns, unless they are selected already, and says where.
func (n *node) place(columns []string, kindOf func(string) row.Kind) place {
	p := place{columns: columns}
	for _, c := range columns {
		at := slices.Index(n.cols, c)
		if at < 0 {
			at = len(n.cols)
			n.cols = append(n.cols, c)
			n.kinds = append(n.kinds, kindOf(c))
		}
		p.at = append(p.at, at)
		kind := n.kinds[at]
		if kind != row.Null { // which compares nothing but equal values
			kind = keyKind(kind)
		}
		p.kinds = append(p.kinds, kind)
	}
	return p
}

// selectList writes the beginning of a SELECT. The unary plus takes the
// declared type off a column: the driver would make a time.Time of a DATE.
func (n *node) selectList() string {
	var b strings.Builder
	b.WriteString("SELECT ")
	for i, c := range n.cols {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("+" + quote(c))
	}
	b.WriteString(" FROM ")
	if n.query != nil {
		b.WriteString("(" + n.query.text + "\n) AS q")
	} else {
		b.WriteString(quote(n.table.Name))
	}
	return b.String()
}

// selectByKey returns the statement that reads the rows of count keys.
func (n *node) selectByKey(count int) string {
	if n.query != nil {
		return n.selectList() + " LIMIT 2"
	}
	return n.selectList() + " WHERE " + oneOf(n.key.columns, count)
}

// selectByOn returns the statement that reads what is embedded in count parents.
func (n *node) selectByOn(count int) string {
	sql := n.selectList() + " WHERE " + oneOf(n.on.columns, count)
	if n.order != "" {
		sql += " ORDER BY " + n.order
	}
	return sql
}

// selectPage returns the statement that reads rows in the order of the key:
// the first page, or the one that follows a key. Values that cannot be a key
// of the column's type are left out.
func (n *node) selectPage(follow bool) string {
	var where []string
	cols := make([]string, len(n.key.columns))
	marks := make([]string, len(cols))
	for i, c := range n.key.columns {
		cols[i], marks[i] = quote(c), "?"
		switch {
		case c == n.table.rowid:
		case n.key.kinds[i] == row.Int:
			where = append(where, "typeof("+cols[i]+") = 'integer'")
		default:
			where = append(where, cols[i]+" IS NOT NULL")
		}
	}
	if follow {
		where = append(where,
			"("+strings.Join(cols, ", ")+") > ("+strings.Join(marks, ", ")+")")
	}
	sql := n.selectList()
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	return sql + " ORDER BY " + strings.Join(cols, ", ") + " LIMIT ?"
}

// oneOf returns the condition that columns are one of count tuples.
func oneOf(columns []string, count int) string {
	if len(columns) == 1 {
		marks := strings.Repeat(", ?", count)[2:]
		return quote(columns[0]) + " IN (" + marks + ")"
	}
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = quote(c) + " = ?"
	}
	one := "(" + strings.Join(parts, " AND ") + ")"
	return strings.Repeat(" OR "+one, count)[4:]
}
