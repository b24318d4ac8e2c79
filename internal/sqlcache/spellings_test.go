package sqlcache_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestServe_KeysInOtherSpellings: a write that names a row by another text or type of its key than those
// who read it closes their copies, too.
func TestServe_KeysInOtherSpellings(t *testing.T) {
	s := newServing(t, dbtest.Postgres(t, dbtest.Setup(`
		CREATE COLLATION folds (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
		CREATE TABLE folded (k text COLLATE folds PRIMARY KEY, n float8); INSERT INTO folded VALUES ('abc', 0);
		CREATE TABLE texts (k text PRIMARY KEY, n float8); INSERT INTO texts VALUES ('abc', 0);
		CREATE TABLE padded (k char(5) PRIMARY KEY, n float8); INSERT INTO padded VALUES ('abc', 0);
		CREATE TABLE ints (k int PRIMARY KEY, n float8); INSERT INTO ints VALUES (3, 0);
		CREATE TABLE longs (k bigint PRIMARY KEY, n float8); INSERT INTO longs VALUES (3, 0);
		CREATE TABLE numbers (k numeric PRIMARY KEY, n float8); INSERT INTO numbers VALUES (3, 0);
		CREATE TABLE uuids (k uuid PRIMARY KEY, n float8);
		INSERT INTO uuids VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 0);
		CREATE TABLE days (k date PRIMARY KEY, n float8); INSERT INTO days VALUES ('2024-03-04', 0)`)), never,
		"folded", "texts", "padded", "ints", "longs", "numbers", "uuids", "days")
	reader := connect(t, s.url, pgx.QueryExecModeExec)
	const uuid = "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"
	n := 0.0
	for i, tt := range []struct {
		table, key, where string
		args              []any
	}{
		{"folded", "'abc'", "k = 'ABC'", nil}, {"folded", "'abc'", "k IN ('Abc', 'x')", nil},
		{"folded", "'ABC'", "k = 'abc'", nil}, {"folded", "'aBC'", "n >= 0 AND k = $2", []any{"abC"}},
		{"texts", "'abc'", "k = 'abc'::varchar", nil}, {"texts", "'abc'", "k = 'abc'::char(5)", nil},
		{"padded", "'abc'", "k = 'abc  '", nil}, {"padded", "'abc  '", "k = 'abc'", nil},
		{"ints", "3", "k = '3'", nil}, {"ints", "3", "k = ' 3 '", nil}, {"ints", "3", "k = 3.0", nil},
		{"ints", "3", "k = 3::numeric", nil}, {"ints", "3", "k = 3.2::int", nil}, {"ints", "3", "k = +3", nil},
		{"ints", "3", "k = $2", []any{int64(3)}}, {"ints", "3", "k = $2::float8", []any{3.0}},
		{"ints", "3", "k = $2::text::int", []any{"03"}}, {"ints", "3", "(k) = (3)", nil},
		{"ints", "3", "k = ANY ($2)", []any{[]int32{3, 4}}}, {"ints", "3", "k BETWEEN 3 AND 3", nil},
		{"ints", "3", "3 = k", nil}, {"ints", "3", "k = 1 + 2", nil}, {"ints", "3", "NOT k <> 3", nil},
		{"ints", "3", "(k, 1) = (3, 1)", nil}, {"ints", "3", "k = 4 OR k = 3", nil},
		{"ints", "3", "k = 4 OR n >= 0", nil}, {"ints", "3", "NOT (k = 4)", nil}, {"ints", "3", "k IN (3, NULL)", nil},
		{"ints", "3", "k = 4 IS FALSE", nil}, {"ints", "3", "k = 4 OR true", nil}, {"ints", "3", "k = 003", nil},
		{"longs", "3", "k = 3::int2", nil}, {"longs", "3", "k = '0003'", nil}, {"longs", "3", "k = $2", []any{"3"}},
		{"numbers", "3", "k = 3.00", nil}, {"numbers", "3.0", "k = 3", nil},
		{"uuids", uuid, "k = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", nil},
		{"uuids", uuid, "k = '{a0eebc999c0b4ef8bb6d6bb9bd380a11}'", nil},
		{"uuids", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "k = " + uuid, nil},
		{"days", "'2024-03-04'", "k = '4 Mar 2024'", nil},
	} {
		for j, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec,
			pgx.QueryExecModeSimpleProtocol} {
			if !waittest.Long() && j != i%3 {
				continue
			}
			read := "SELECT n FROM " + tt.table + " WHERE k = " + tt.key
			c := connect(t, s.url, mode)
			run(t, c, "SELECT n FROM "+tt.table) // its state is known
			s.becomesServed(reader, read)
			n++
			write := "UPDATE " + tt.table + " SET n = $1 WHERE " + tt.where
			if _, err := c.Exec(t.Context(), write, append([]any{n}, tt.args...)...); err != nil {
				n--
				t.Errorf("%s, %s: %v", mode, write, err)
				continue
			}
			got := 0.0
			if err := reader.QueryRow(t.Context(), read).Scan(&got); err != nil || got != n {
				t.Errorf("%s: %s: %s says %v, want %v (%v)", mode, write, read, got, n, err)
			}
			_ = c.Close(t.Context())
		}
	}
}
