package mysql

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// filters are how MariaDB and MySQL write the conditions of queries.
var filters = document.Filters{
	Mark: func(c document.Column, _ int, pattern, _ bool) string {
		if pattern {
			return "?"
		}
		return native(c).Mark()
	},
	Distinct: func(expr, mark string) string { return "NOT (" + expr + " <=> " + mark + ")" },
	Truth: func(expr string, is bool) string {
		if is {
			return expr + " <=> 1"
		}
		return expr + " <=> 0"
	},
	Like:    like,
	Within:  within,
	Count:   count,
	Indexes: lookups,
}

// lookups returns the indexes of a table in which rows are looked up.
func lookups(
	ctx context.Context, c document.Conn, n *document.Node,
) (all []query.Index, err error) {
	r := catalog.Reader{Conn: c.(engineConn).conn}
	indexes, err := r.Indexes(ctx, tableName(n))
	for _, columns := range indexes[tableName(n)] {
		all = append(all, query.IndexOf(columns...))
	}
	return all, err
}

// like returns the condition that a text matches a pattern. LIKE is by the column's
// collation: where case counts it is so by that of the bytes, too.
func like(
	_ *document.Node, c document.Column, pattern string, fold bool, mark func(any) string,
) string {
	col := native(c)
	name := col.quoted()
	if !col.Holds(pattern) { // nothing that the column has matches it
		return name + " <> " + name
	}
	text := document.Escaped(pattern)
	plain := func() string { return name + " LIKE " + mark(text) + " ESCAPE '!'" }
	switch {
	case fold && strings.Contains(col.Collation, "_ci"):
		return plain()
	case fold:
		return "LOWER(" + name + ") LIKE LOWER(" + mark(text) + ") ESCAPE '!'"
	}
	return "(" + plain() + " AND " + name + " COLLATE " + col.Charset + "_bin LIKE " +
		mark(text) + " ESCAPE '!')"
}

// Operand returns what a text is bound as to be compared with the column. A decimal may be
// any: it need not be one that the column can have.
func (c *column) Operand(text string) (any, error) {
	switch {
	case c.Kind == row.Decimal:
		if strings.HasSuffix(text, "y") || text == "NaN" {
			return nil, fmt.Errorf("%s is not a number that the database can hold", text)
		}
		return text, nil
	case c.Type == "year" && len(text) < 3 && text != "0":
		return nil, &source.Error{Class: source.Invalid, Code: query.CodeOperand,
			Message: fmt.Sprintf("%s: the database takes %s for a year of another century", c.Name,
				text), Hint: "write the year with four digits"}
	case c.Kind == row.Text && !c.Holds(text):
		return nil, fmt.Errorf("the character set %s does not have all of its letters", c.Charset)
	}
	return c.KeyArg(text)
}

// Compares reports whether the column can be compared with a value as it is read.
func (c *column) Compares() bool { return c.CanBeKey() }

// Matches reports whether the column holds texts.
func (c *column) Matches() bool {
	return c.Kind == row.Text && c.Charset != "" && c.Charset != "binary" && c.CanBeKey()
}

// count runs a statement that counts, or asks the planner: the rows that it looks at, and
// the share of them that it expects to find.
func count(
	ctx context.Context, c document.Conn, sql string, args []any, planned bool,
) (n int64, err error) {
	if !planned {
		err = c.(engineConn).query(ctx, sql, args, func(v []any) error {
			n = catalog.AsInt(v[0])
			return nil
		})
		return n, err
	}
	rows, err := c.(engineConn).conn.planned(ctx, sql, args)
	return int64(rows), err
}

// planned returns how many rows the planner expects of a statement about one table.
func (c *conn) planned(ctx context.Context, sql string, args []any) (expected float64, err error) {
	v, err := c.server()
	if err != nil {
		return 0, err
	}
	explain := v.explain()
	if v.mariadb { // which says otherwise how many rows it reads, and not how many it finds
		explain = "EXPLAIN EXTENDED "
	}
	rows, err := c.QueryContext(ctx, explain+sql, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	filtered := 100.0
	if rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return 0, err
		}
		for i, name := range columns {
			switch strings.ToLower(name) {
			case "rows":
				expected = asFloat(values[i])
			case "filtered":
				filtered = asFloat(values[i])
			}
		}
	}
	return expected * filtered / 100, rows.Err()
}

// asFloat returns a number of EXPLAIN; 0 for what is none.
func asFloat(v any) float64 {
	if f, ok := v.(float64); ok {
		return f
	}
	f, _ := strconv.ParseFloat(catalog.AsText(v), 64)
	return f
}
