package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hotrow/hotrow/internal/source/document"
)

// filters are how PostgreSQL writes the conditions of queries.
var filters = document.Filters{
	NullsHigh:   true,
	NullsClause: true,
	Mark: func(c document.Column, number int, pattern, many bool) string {
		typ := native(c).base
		if pattern {
			typ = "text"
		}
		if many {
			typ += "[]"
		}
		return fmt.Sprintf("$%d::%s", number, typ)
	},
	Array: func(values []any) any {
		array := []byte{'{'}
		for i, v := range values {
			if i > 0 {
				array = append(array, ',')
			}
			array = appendElement(array, v.(string))
		}
		return string(append(array, '}'))
	},
	Distinct: func(expr, mark string) string { return expr + " IS DISTINCT FROM " + mark },
	Truth: func(expr string, is bool) string {
		if is {
			return expr + " IS TRUE"
		}
		return expr + " IS FALSE"
	},
	Like: func(
		n *document.Node, c document.Column, pattern string, fold bool, mark func(any) string,
	) string {
		if fold {
			return native(c).in(n) + " ILIKE " + mark(pattern)
		}
		return native(c).in(n) + " LIKE " + mark(pattern)
	},
	Indexes: lookups,
	Count:   countRows,
}

// lookups returns the columns of the indexes of a table that find rows by order or
// equality.
func lookups(ctx context.Context, c document.Conn, n *document.Node) ([][]string, error) {
	rows, err := c.(engineConn).q.Query(ctx, `SELECT (
			SELECT array_agg(COALESCE(a.attname::text, '') ORDER BY k.n)
			FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(num, n)
			LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.num
				AND k.num > 0
			WHERE k.n <= i.indnkeyatts)
		FROM pg_catalog.pg_index i
		JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
		JOIN pg_catalog.pg_am m ON m.oid = x.relam
		WHERE i.indrelid = $1::oid AND i.indisvalid AND i.indpred IS NULL
			AND m.amname = 'btree'`, n.Table.Native.(*table).oid)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all [][]string
	for rows.Next() {
		var columns []string
		if err := rows.Scan(&columns); err != nil {
			return nil, err
		}
		all = append(all, columns)
	}
	return all, rows.Err()
}

// countRows runs a statement that counts, or asks the planner.
func countRows(
	ctx context.Context, c document.Conn, sql string, args []any, planned bool,
) (int64, error) {
	q := c.(engineConn).q
	if !planned {
		var n int64
		rows, err := q.Query(ctx, sql, args...)
		if err != nil {
			return 0, err
		}
		defer rows.Close()
		for rows.Next() {
			if err := rows.Scan(&n); err != nil {
				return 0, err
			}
		}
		return n, rows.Err()
	}
	var text []byte
	rows, err := q.Query(ctx, "EXPLAIN (FORMAT JSON) "+sql, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&text); err != nil {
			return 0, err
		}
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	var plans []struct {
		Plan struct {
			Rows float64 `json:"Plan Rows"`
		}
	}
	if err := json.Unmarshal(text, &plans); err != nil || len(plans) != 1 {
		return 0, fmt.Errorf("EXPLAIN gave no plan: %w", err)
	}
	return int64(plans[0].Plan.Rows), nil
}
