package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source/document"
)

// filters are how PostgreSQL writes the conditions of queries.
var filters = document.Filters{
	NullsHigh:   true,
	NullsClause: true,

	NamesIndexes: true,
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
	Array:    arrayOf,
	Native:   nativeCondition,
	Within:   within,
	Distinct: func(expr, mark string) string { return expr + " IS DISTINCT FROM " + mark },
	Truth: func(expr string, is bool) string {
		// Before 17 the planner does not know that what IS TRUE is in an index WHERE it.
		if is {
			return "(" + expr + " AND " + expr + " IS NOT NULL)"
		}
		return "(NOT " + expr + " AND " + expr + " IS NOT NULL)"
	},
	Like: func(
		n *document.Node, c document.Column, pattern string, fold bool, mark func(any) string,
	) string {
		name, sign := "LIKE", "~~" // which is what LIKE means
		if fold {
			name, sign = "ILIKE", "~~*"
		}
		if op := operator(c, nil, sign); op != sign {
			name = op
		}
		return native(c).in(n) + " " + name + " " + mark(pattern)
	},
	Indexes: lookups,
	Count:   countRows,
}

// arrayOf returns the text of an array of texts.
func arrayOf(values []any) any {
	array := []byte{'{'}
	for i, v := range values {
		if i > 0 {
			array = append(array, ',')
		}
		array = appendElement(array, v.(string))
	}
	return string(append(array, '}'))
}

// lookups returns the indexes of a table that find rows by order or equality.
func lookups(ctx context.Context, c document.Conn, n *document.Node) ([]query.Index, error) {
	rows, err := c.(engineConn).conn.Query(ctx, `SELECT (
			SELECT array_agg(COALESCE(a.attname::text, '') ORDER BY k.n)
			FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(num, n)
			LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.num
				AND k.num > 0
			WHERE k.n <= i.indnkeyatts),
			pg_catalog.pg_get_indexdef(i.indexrelid, 1, true),
			i.indpred IS NOT NULL, COALESCE(pg_catalog.pg_get_expr(i.indpred, i.indrelid), '')
		FROM pg_catalog.pg_index i
		JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
		JOIN pg_catalog.pg_am m ON m.oid = x.relam
		WHERE i.indrelid = $1::oid AND i.indisvalid AND m.amname = 'btree'`,
		n.Table.Native.(*table).oid)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []query.Index
	for rows.Next() {
		var x query.Index
		var predicate string
		if err := rows.Scan(&x.Columns, &x.Expr, &x.Partial, &predicate); err != nil {
			return nil, err
		}
		if x.Partial {
			x.Where = n.Conditions(predicate, false, provable)
		}
		all = append(all, x)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return nativeLookups(ctx, c, n, all)
}

// provable reports whether the planner knows the condition of an index in that of a query. It
// does not where that has a parameter, once a statement that is prepared has one plan for all
// values: it would read the whole table then.
func provable(c document.Column, cond *query.Condition) bool {
	switch {
	case cond.Op == query.Eq:
		return false
	case cond.Value == "null":
		return c.Compares()
	}
	return native(c).kind == row.Bool
}

// countRows runs a statement that counts, or asks the planner.
func countRows(
	ctx context.Context, c document.Conn, sql string, args []any, planned bool,
) (int64, error) {
	q := c.(engineConn).conn
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
