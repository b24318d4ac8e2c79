package mysql

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// A transaction is proven visible when its rows are gone by a definition that came after it
// and nothing else is written: else what was loaded since would never be kept.
func TestMariaDB_SettleOfRowsThatAreGone(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMariaDB(t, nil)
	const (
		table = "CREATE OR REPLACE TABLE t (id int PRIMARY KEY, v bigint)"
		named = "CREATE OR REPLACE TABLE t (id varchar(20) PRIMARY KEY, v bigint)"
		parts = table + " PARTITION BY RANGE (id) (PARTITION p1 VALUES LESS THAN (5)," +
			" PARTITION p2 VALUES LESS THAN (9))"
	)
	for _, c := range []struct{ name, table, write, then string }{
		{"truncated", table, "INSERT INTO t VALUES (1, 1)", "TRUNCATE TABLE t"},
		{"with a text as key", named, "INSERT INTO t VALUES ('Zürich', 1)", "TRUNCATE TABLE t"},
		{"partition truncated", parts, "INSERT INTO t VALUES (6, 1)",
			"ALTER TABLE t TRUNCATE PARTITION p2"},
		{"partition dropped", parts, "INSERT INTO t VALUES (6, 1)", "ALTER TABLE t DROP PARTITION p2"},
		{"dropped", table, "INSERT INTO t VALUES (1, 1)", "DROP TABLE t"},
		{"made anew", table, "INSERT INTO t VALUES (1, 1)", table},
		{"key renamed", table, "INSERT INTO t VALUES (1, 1)", "ALTER TABLE t RENAME COLUMN id TO k"},
		// Rows that come before the feed has read the definition which they have.
		{"just altered", table, "BEGIN NOT ATOMIC ALTER TABLE t ADD COLUMN w int;" +
			" INSERT INTO t VALUES (1, 1, 1); END", "CREATE OR REPLACE TABLE t_other (id int)"},
		{"altered twice", table, "BEGIN NOT ATOMIC ALTER TABLE t ADD COLUMN w int;" +
			" INSERT INTO t VALUES (1, 1, 1); END", "ALTER TABLE t ADD COLUMN x int"},
		{"altered and dropped", table, "BEGIN NOT ATOMIC ALTER TABLE t ADD COLUMN w int;" +
			" INSERT INTO t VALUES (1, 1, 1); END", "DROP TABLE t"},
		// Rows of another table count as a change of all tables then, as they may cascade.
		{"another just then", table, "BEGIN NOT ATOMIC ALTER TABLE t ADD COLUMN w int;" +
			" UPDATE z SET n = n + 1; END", "CREATE OR REPLACE TABLE t_other (id int)"},
		{"first one without a key", table, "BEGIN NOT ATOMIC ALTER TABLE t ADD COLUMN w int;" +
			" START TRANSACTION; UPDATE keyless SET n = n + 1; INSERT INTO t VALUES (1, 1, 1); COMMIT; END",
			"ALTER TABLE t ADD COLUMN x int"},
	} {
		if dbtest.IsMySQL() && strings.Contains(c.write, "NOT ATOMIC") {
			continue // it has no such blocks
		}
		t.Run(c.name, func(t *testing.T) {
			f := follow(t, server.Database(t), []string{c.table,
				"CREATE TABLE z (id int PRIMARY KEY, n int)", "INSERT INTO z VALUES (1, 1)",
				"CREATE TABLE keyless (n int)", "INSERT INTO keyless VALUES (1)"}, "t id")
			run(t, f.conn, "INSERT INTO t (id, v) VALUES (2, 2)")
			await(t, "a first write", func() bool { return len(f.rec.take()) > 0 })
			run(t, f.conn, c.write, c.then)
			if _, err := f.feed.Fence(t.Context()); err != nil {
				t.Fatal(err)
			}
			txs := f.rec.take()
			if len(txs) == 0 {
				t.Fatal("nothing was delivered")
			}
			await(t, "proof", func() bool {
				settled, err := f.feed.Settled(t.Context(), txs)
				if err != nil {
					t.Fatal(err)
				}
				for _, ok := range settled {
					if !ok {
						return false
					}
				}
				return true
			})
		})
	}
}
