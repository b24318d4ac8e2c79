package sqlite

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	lists "github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source/document"
)

// filters are how SQLite writes the conditions of queries.
var filters = document.Filters{
	NullsClause: true,
	Mark:        func(document.Column, int, bool, bool) string { return "?" },
	Distinct:    func(expr, mark string) string { return expr + " IS NOT " + mark },
	Truth: func(expr string, is bool) string {
		return fmt.Sprintf("%s IS %d", expr, oneOrZero(is))
	},
	Like: func(
		n *document.Node, c document.Column, pattern string, fold bool, mark func(any) string,
	) string {
		if fold { // of ASCII letters
			return columnName(n, c) + " LIKE " + mark(document.Escaped(pattern)) + " ESCAPE '!'"
		}
		return columnName(n, c) + " GLOB " + mark(glob(pattern))
	},
	Within:  within,
	Moment:  moment,
	Count:   count,
	Indexes: lookups,
	Limit:   5 * time.Second, // as statements have of other databases

	// The driver ends a statement up to its first row. An ephemeral table is read in the order
	// in which it was written.
	AtOnce: func(sql string) string {
		return "WITH found AS MATERIALIZED (" + sql + ") SELECT * FROM found"
	},
}

// lookups returns the indexes of a table.
func lookups(ctx context.Context, c document.Conn, n *document.Node) ([]lists.Index, error) {
	var all []lists.Index
	err := c.(engineConn).query(ctx, `SELECT x.seqno, x.name, l.partial, m.sql
		FROM pragma_index_list(?) AS l, pragma_index_xinfo(l.name) AS x
		LEFT JOIN sqlite_schema AS m ON m.type = 'index' AND m.name = l.name
		WHERE x.key = 1 ORDER BY l.seq, x.seqno`,
		[]any{n.Table.Name}, func(v []any) error {
			if v[0] == int64(0) {
				x := lists.Index{Partial: v[2] == int64(1)}
				x.Expr, _ = v[3].(string) // NULL where a constraint makes the index
				if x.Partial {
					x.Where = n.Conditions(predicate(x.Expr), true, provable)
				}
				all = append(all, x)
			}
			name, _ := v[1].(string) // "" for an expression
			x := &all[len(all)-1]
			x.Columns = append(x.Columns, name)
			return nil
		})
	return all, err
}

// behind matches a statement that makes a partial index. That it is the last WHERE behind a
// parenthesis does no harm: if it were within a text or a name, half of the quotes of that
// would be in what follows, which is no condition then.
var behind = regexp.MustCompile(`(?is)^.*\)\s*WHERE\b(.*)$`)

// predicate returns what a partial index is made with, as whoever made it has written it, with
// one blank between words; "" if that is not known for sure.
func predicate(sql string) string {
	m := behind.FindStringSubmatch(sql)
	if m == nil || strings.Contains(sql, "--") || strings.Contains(sql, "/*") {
		return ""
	}
	return strings.Join(strings.Fields(m[1]), " ")
}

// provable reports whether the planner knows the condition of an index in that of a query: it
// looks at values that are bound, but a truth value is a number to it.
func provable(c document.Column, cond *lists.Condition) bool {
	kind, quoted := native(c).Kind, strings.HasPrefix(cond.Value, "'")
	switch {
	case cond.Op == lists.Is:
		return cond.Value == "null" && c.Compares()
	case kind == row.Bool && !quoted:
		value, ok := map[string]string{"0": "false", "1": "true"}[cond.Value]
		cond.Value = value
		return ok
	case kind == row.Text && quoted:
		cond.Value = strings.Trim(cond.Value, "'")
		return true
	}
	return kind == row.Int && !quoted
}

// glob returns a pattern of LIKE as one of GLOB, which tells case apart.
func glob(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch c {
		case '%':
			b.WriteByte('*')
			continue
		case '_':
			b.WriteByte('?')
			continue
		case '\\':
			i++
			c = pattern[i]
		}
		if c == '*' || c == '?' || c == '[' {
			b.WriteString("[" + string(c) + "]")
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// count runs a statement that counts. SQLite's planner expects no numbers of rows: what
// is planned is counted.
func count(
	ctx context.Context, c document.Conn, sql string, args []any, planned bool,
) (n int64, err error) {
	if planned {
		sql = "SELECT count(*) FROM (" + sql + ")"
	}
	err = c.(engineConn).query(ctx, sql, args, func(v []any) error {
		n, _ = v[0].(int64)
		return nil
	})
	return n, err
}
