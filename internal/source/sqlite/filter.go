package sqlite

import (
	"context"
	"fmt"
	"strings"

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
	Count:   count,
	Indexes: lookups,
}

// lookups returns the columns of the indexes of a table.
func lookups(ctx context.Context, c document.Conn, n *document.Node) ([][]string, error) {
	var all [][]string
	err := c.(engineConn).query(ctx, `SELECT x.seqno, x.name
		FROM pragma_index_list(?) AS l, pragma_index_xinfo(l.name) AS x
		WHERE l.partial = 0 AND x.key = 1 ORDER BY l.seq, x.seqno`,
		[]any{n.Table.Name}, func(v []any) error {
			if v[0] == int64(0) {
				all = append(all, nil)
			}
			name, _ := v[1].(string) // "" for an expression
			all[len(all)-1] = append(all[len(all)-1], name)
			return nil
		})
	return all, err
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
