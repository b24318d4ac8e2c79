package postgres

import (
	"fmt"
	"testing"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// TestPostgres_CastsAreTheServers compares what hotrow casts with what PostgreSQL does.
func TestPostgres_CastsAreTheServers(t *testing.T) {
	s := newSource(t, `CREATE TABLE v (id int PRIMARY KEY, i int, b bigint, n numeric, f float8,
			r real, t text, l bool, d date, s timestamp, z timestamptz, j jsonb, u uuid, y bytea)`,
		`INSERT INTO v VALUES (1, 5, 9007199254740993, 1.50, 0.1, 0.1, '12', true, '2024-02-29',
			'2024-02-29 10:00:00.5', '2024-02-29 23:30:00-02',
			'{"a": [1, "x"]}', '11111111-1111-1111-1111-111111111111', '\x00ff'),
		(2, -7, -1, 2.5, 2.5, 1e10, 't', false, '0001-01-01', '1999-12-31 23:59:59', '2024-01-01 00:00:00+00',
			'"x"', NULL, ''),
		(3, 0, 0, -2.5, 1e15, 123456.7, ' 7 ', NULL, NULL, NULL, NULL, 'null', NULL, NULL),
		(4, 1, 1, 0.0001, 1e-5, 1e-5, 'yes', NULL, 'infinity', 'infinity', '-infinity', '3', NULL, NULL),
		(5, 1, 1, 99999, 123456789012345680, 1e-4, '1e2', NULL, NULL, NULL, NULL, 'true', NULL, NULL)`)
	p := mustCompile(t, s, &source.Spec{Table: "v"})
	for _, column := range []string{"i", "b", "n", "f", "r", "t", "l", "d", "s", "z", "j", "u", "y"} {
		for _, cast := range []string{"text", "int2", "int4", "int8", "float8", "numeric", "bool", "date", "json"} {
			for id := 1; id <= 5; id++ {
				raw := fmt.Sprintf("id=eq.%d&select=x:%s::%s", id, column, cast)
				q, err := query.Parse(raw, p.Table(), query.Options{})
				if err != nil {
					break // not offered
				}
				if column == "b" && cast == "bool" {
					break // integers of SQLite have all the same size
				}
				var want string
				sql := fmt.Sprintf("SELECT COALESCE((%s::%s)::text, 'NULL') FROM v WHERE id = %d", column, cast, id)
				sqlErr := s.Query(t.Context(), sql, nil, func(r source.StoreRow) error {
					want = r.Text(0)
					return nil
				})
				found, err := p.Select(t.Context(), q)
				if (err == nil) != (sqlErr == nil) {
					t.Errorf("%s: %v, the server: %v %s", raw, err, sqlErr, want)
					continue
				}
				if err != nil {
					continue
				}
				got := "NULL"
				if v := found.Rows[0].Values[0]; !v.IsNull() {
					made, _ := row.CastText.Of(v)
					got = made.Text()
				}
				if got != want {
					t.Errorf("%s: %s, the server: %s", raw, got, want)
				}
			}
		}
	}
}
