package stress

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/testbed"
)

// rowsFrom are the values of a new table, as INSERT takes them.
func rowsFrom(n int64) string {
	var rows []string
	for k := 1; k <= morphKeys; k++ {
		rows = append(rows, fmt.Sprintf("(%d, %d)", k, n+int64(k)))
	}
	return strings.Join(rows, ", ")
}

// tableOf is the definition of a new table.
func tableOf(name string) string {
	return "CREATE TABLE " + name + " (id int PRIMARY KEY, v bigint NOT NULL)"
}

// columnSteps add, rename and drop columns.
func (r *morphing) columnSteps(m *morph) []step {
	n := r.next()
	if len(m.added) == 0 || len(m.added) < 4 && rand.IntN(2) == 0 {
		c := fmt.Sprintf("c_%d", n)
		return []step{{[]string{fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s bigint DEFAULT %d",
			m.name, c, n)}, func(m *morph) {
			m.added = append(m.added, c)
			for _, row := range m.rows {
				row[c] = fmt.Sprint(n)
			}
		}}}
	}
	i := rand.IntN(len(m.added))
	old := m.added[i]
	if rand.IntN(2) == 0 {
		return []step{{[]string{fmt.Sprintf("ALTER TABLE %s DROP COLUMN %s", m.name, old)},
			func(m *morph) {
				m.added = slices.Delete(m.added, i, i+1)
				for _, row := range m.rows {
					delete(row, old)
				}
			}}}
	}
	now := fmt.Sprintf("c%d_%s", n, m.fallback(old)) // the default stays
	return []step{{[]string{fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO %s", m.name, old, now)},
		func(m *morph) {
			m.added[i] = now
			for _, row := range m.rows {
				row[now] = row[old]
				delete(row, old)
			}
		}}}
}

// emptySteps take all rows away at once.
func (r *morphing) emptySteps(truncate string) func(m *morph) []step {
	return func(m *morph) []step {
		return []step{{[]string{truncate + " " + m.name}, func(m *morph) { clear(m.rows) }}}
	}
}

// swapSteps put another table in the place of one, in one transaction.
func (r *morphing) swapSteps(m *morph) []step {
	n := r.next()
	fresh, old := fmt.Sprintf("%s_n%d", m.name, n), fmt.Sprintf("%s_o%d", m.name, n)
	return []step{{[]string{tableOf(fresh), "INSERT INTO " + fresh + " VALUES " + rowsFrom(n),
		"ALTER TABLE " + m.name + " RENAME TO " + old, "ALTER TABLE " + fresh + " RENAME TO " + m.name,
		"DROP TABLE " + old}, func(m *morph) { m.fill(n) }}}
}

// againSteps drop a table, and make it again.
func (r *morphing) againSteps(m *morph) []step {
	n := r.next()
	return []step{
		{[]string{"DROP TABLE " + m.name}, func(m *morph) { clear(m.rows) }},
		{[]string{tableOf(m.name), "INSERT INTO " + m.name + " VALUES " + rowsFrom(n)},
			func(m *morph) { m.fill(n) }},
	}
}

// onlySteps are statements that change no document.
func onlySteps(format string) func(m *morph) []step {
	return func(m *morph) []step {
		return []step{{[]string{fmt.Sprintf(format, m.name)}, nil}}
	}
}

// viewSteps give a view, which the resource's query reads, another expression. The rows of m
// are those of its own table.
func (r *morphing) viewSteps(before string) func(m *morph) []step {
	return func(m *morph) []step {
		n := r.next()
		sql := []string{fmt.Sprintf("%s v_%s AS SELECT id, v + %d AS v FROM %[2]s", before, m.name, n)}
		if first, then, two := strings.Cut(before, "; "); two {
			sql = []string{first + " v_" + m.name,
				fmt.Sprintf("%s v_%s AS SELECT id, v + %d AS v FROM %[2]s", then, m.name, n)}
		}
		return []step{{sql, func(m *morph) { m.plus = n }}}
	}
}

// viewSpec is the resource of a view.
func viewSpec(table string) resource.Spec {
	s := testbed.Spec(table)
	s.Writable = false
	s.Table = &source.Spec{Name: table, Query: "SELECT id, v FROM v_" + table + " WHERE id = :id",
		Key: []string{"id"}, Depends: []source.Dep{{Table: table, Columns: []string{"id"}}}}
	return s
}

// typeSteps make v a text, and a number again.
func (r *morphing) typeSteps(text, number string) func(m *morph) []step {
	return func(m *morph) []step {
		to, quote := text, `"%s"`
		if m.text {
			to, quote = number, "%s"
		}
		return []step{{[]string{"ALTER TABLE " + m.name + " " + to}, func(m *morph) {
			m.text = !m.text
			for _, row := range m.rows {
				row["v"] = fmt.Sprintf(quote, strings.Trim(row["v"], `"`))
			}
		}}}
	}
}

// newMorphing returns a run without tables.
func newMorphing(t testing.TB) *morphing {
	return &morphing{t: t, history: NewHistory(), failed: make(map[string]int),
		refusals: make(map[string]int)}
}

// create makes the tables as they begin.
func (r *morphing) create() {
	r.t.Helper()
	for _, m := range r.morphs {
		if m.memory != nil {
			continue // it is partitioned, and made by who knows how
		}
		for _, sql := range []string{tableOf(m.name), "INSERT INTO " + m.name + " VALUES " + rowsFrom(0)} {
			if err := r.exec(r.t.Context(), []string{sql}); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// mustExec runs statements one by one.
func (r *morphing) mustExec(statements ...string) {
	r.t.Helper()
	for _, s := range statements {
		if err := r.exec(r.t.Context(), []string{s}); err != nil {
			r.t.Fatalf("%s: %v", s, err)
		}
	}
}

// No answer is older than the contract allows while tables change their definition.
func TestStressSQLite_ChangedDefinitions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "world.db")
	src := testbed.OpenSQLite(t, path, sqlite.Options{Own: true})
	foreign := testbed.OpenSQLite(t, path, sqlite.Options{Own: true})
	r := newMorphing(t)
	r.exec = func(ctx context.Context, sql []string) error {
		if strings.HasPrefix(sql[0], "VACUUM") {
			dbtest.SQLiteShell(t, path, ".timeout 5000\n"+sql[0])
			return nil
		}
		to := src
		if rand.IntN(2) == 0 {
			to = foreign
		}
		return to.Exec(ctx, sql...)
	}
	r.morphs = []*morph{newMorph("cols", r.columnSteps, r.emptySteps("DELETE FROM")),
		newMorph("swap", r.swapSteps, r.columnSteps), newMorph("again", r.againSteps, r.columnSteps),
		newMorph("vac", onlySteps("VACUUM; ANALYZE %s"), onlySteps("REINDEX %s"), onlySteps("ANALYZE %s")),
		newMorph("seen", r.viewSteps("DROP VIEW; CREATE VIEW"), r.emptySteps("DELETE FROM"))}
	r.create()
	r.mustExec("CREATE VIEW v_seen AS SELECT id, v FROM seen")
	r.runAll(newStandOver(t, src, plan{Specs: morphSpecs(r.morphs, viewSpec("seen")),
		Mode: source.FeedAuto}))
}

// The same on MariaDB, which commits each definition by itself.
func TestStressMariaDB_ChangedDefinitions(t *testing.T) {
	t.Parallel()
	url := dbtest.NewMariaDB(t, map[string]string{"max-connections": "200"}).Database(t)
	conns := make(chan *sql.Conn, 8)
	for range cap(conns) {
		conns <- testbed.DialMariaDB(t, url)
	}
	r := newMorphing(t)
	r.exec = func(ctx context.Context, sql []string) error {
		conn := <-conns
		defer func() { conns <- conn }()
		for _, s := range dbtest.SQLs(sql...) {
			if _, err := conn.ExecContext(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	}
	r.morphs = []*morph{newMorph("cols", r.columnSteps, r.emptySteps("TRUNCATE TABLE"),
		r.typeSteps("MODIFY v varchar(40) NOT NULL", "MODIFY v bigint NOT NULL")),
		newMorph("swap", r.mariaSwapSteps, r.columnSteps),
		newMorph("again", r.mariaAgainSteps, r.columnSteps),
		newMorph("same", onlySteps("OPTIMIZE TABLE %s"),
			onlySteps("ALTER TABLE %s ENGINE=InnoDB")),
		newMorph("seen", r.viewSteps("CREATE OR REPLACE VIEW"), r.emptySteps("TRUNCATE TABLE")),
		newMorph("part", r.mariaPartSteps)}
	r.morphs[5].memory = map[int]map[string]string{}
	r.create()
	r.mustExec("CREATE VIEW v_seen AS SELECT id, v FROM seen", tableOf("part")+
		" PARTITION BY RANGE (id) (PARTITION p1 VALUES LESS THAN (5), PARTITION p2 VALUES LESS THAN (9))",
		"INSERT INTO part VALUES "+rowsFrom(0))
	r.runAll(newStandOver(t, testbed.OpenMariaDB(t, url), plan{Specs: morphSpecs(r.morphs, viewSpec("seen")),
		Mode: source.FeedBinlog}))
}

// mariaSwapSteps put another table in the place of one by one statement.
func (r *morphing) mariaSwapSteps(m *morph) []step {
	n := r.next()
	fresh, old := fmt.Sprintf("%s_n%d", m.name, n), fmt.Sprintf("%s_o%d", m.name, n)
	return []step{{[]string{tableOf(fresh)}, nil},
		{[]string{"INSERT INTO " + fresh + " VALUES " + rowsFrom(n)}, nil},
		{[]string{fmt.Sprintf("RENAME TABLE %s TO %s, %s TO %[1]s", m.name, old, fresh)},
			func(m *morph) { m.fill(n) }},
		{[]string{"DROP TABLE " + old}, nil}}
}

// mariaAgainSteps drop a table, make it and fill it.
func (r *morphing) mariaAgainSteps(m *morph) []step {
	n := r.next()
	return []step{{[]string{"DROP TABLE " + m.name}, func(m *morph) { clear(m.rows) }},
		{[]string{tableOf(m.name)}, func(m *morph) { m.added, m.text = nil, false }},
		{[]string{"INSERT INTO " + m.name + " VALUES " + rowsFrom(n)}, func(m *morph) { m.fill(n) }}}
}

// second takes away the rows of the second partition, or gives them the numbers from n on.
func second(n int64) func(m *morph) {
	return func(m *morph) {
		for k := 5; k <= morphKeys; k++ {
			delete(m.rows, k)
			if n != 0 {
				m.rows[k] = map[string]string{"id": fmt.Sprint(k), "v": fmt.Sprint(n + int64(k))}
			}
		}
	}
}

// secondRows are the rows of the second partition.
func secondRows(n int64) string { return strings.Join(strings.Split(rowsFrom(n), ", (")[4:], ", (") }

// mariaPartSteps empty, drop and exchange a partition.
func (r *morphing) mariaPartSteps(m *morph) []step {
	n := r.next()
	switch rand.IntN(3) {
	case 0:
		return []step{{[]string{"ALTER TABLE part TRUNCATE PARTITION p2"}, second(0)}}
	case 1:
		return []step{{[]string{"ALTER TABLE part DROP PARTITION p2"}, second(0)},
			{[]string{"ALTER TABLE part ADD PARTITION (PARTITION p2 VALUES LESS THAN (9))"}, nil}}
	}
	return []step{{[]string{"CREATE OR REPLACE " + tableOf("other")[len("CREATE "):]}, nil},
		{[]string{"INSERT INTO other VALUES (" + secondRows(n)}, nil},
		{[]string{"ALTER TABLE part EXCHANGE PARTITION p2 WITH TABLE other"}, second(n)}}
}

// postgresMorphing returns a run on a PostgreSQL server of its own.
func postgresMorphing(t *testing.T) (r *morphing, url string) {
	url = dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"}).URL()
	conns := make(chan *pgx.Conn, 10)
	for range cap(conns) {
		conns <- testbed.Dial(t, url)
	}
	r = newMorphing(t)
	r.exec = func(ctx context.Context, sql []string) error {
		conn := <-conns
		defer func() { conns <- conn }()
		_, err := conn.Exec(ctx, strings.Join(sql, "; "), pgx.QueryExecModeSimpleProtocol)
		return err
	}
	return r, url
}

// The same on PostgreSQL: columns and partitions.
func TestStressPostgres_ChangedDefinitions(t *testing.T) {
	r, url := postgresMorphing(t)
	r.morphs = []*morph{newMorph("cols", r.columnSteps, r.emptySteps("TRUNCATE"), r.typeSteps(
		"ALTER v TYPE text USING v::text", "ALTER v TYPE bigint USING v::bigint")),
		newMorph("part", r.partSteps)}
	r.morphs[1].memory = map[int]map[string]string{}
	r.create()
	r.mustExec(tableOf("part")+" PARTITION BY RANGE (id)",
		"CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (1) TO (5)",
		"CREATE TABLE part2 PARTITION OF part FOR VALUES FROM (5) TO (9)",
		"INSERT INTO part VALUES "+rowsFrom(0))
	r.runAll(newStand(t, url, plan{Specs: morphSpecs(r.morphs), Mode: source.FeedLogical}))
}

// The same with what documents are made by: views, functions and labels.
func TestStressPostgres_ChangedExpressions(t *testing.T) {
	r, url := postgresMorphing(t)
	mood := newMorph("mood", r.labelSteps)
	r.morphs = []*morph{newMorph("seen", r.viewSteps("CREATE OR REPLACE VIEW"),
		r.emptySteps("TRUNCATE")), newMorph("called", r.functionSteps), mood}
	r.create()
	r.mustExec("CREATE VIEW v_seen AS SELECT id, v FROM seen",
		"CREATE FUNCTION more() RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT 0::bigint'",
		"CREATE VIEW v_called AS SELECT id, v + more() AS v FROM called",
		"CREATE TYPE feeling AS ENUM ('l0')", "ALTER TABLE mood ADD COLUMN f feeling DEFAULT 'l0'")
	mood.added = []string{"f"}
	mood.shape = NewRegister(mood.columns())
	for k, row := range mood.rows {
		row["f"] = `"l0"`
		mood.regs[k] = NewRegister(mood.state(k))
	}
	r.runAll(newStand(t, url, plan{Specs: morphSpecs(r.morphs, viewSpec("seen"), viewSpec("called")),
		Mode: source.FeedLogical}))
}

// The same with tables that are replaced, and that a publication loses.
func TestStressPostgres_ReplacedTables(t *testing.T) {
	r, url := postgresMorphing(t)
	r.morphs = []*morph{newMorph("swap", r.swapSteps, r.columnSteps),
		newMorph("again", r.againSteps, r.columnSteps), newMorph("pub", r.columnSteps,
			onlySteps("DO $$ BEGIN ALTER PUBLICATION hotrow DROP TABLE %s;"+
				" EXCEPTION WHEN undefined_object THEN NULL; END $$"))}
	r.create()
	r.runAll(newStand(t, url, plan{Specs: morphSpecs(r.morphs), Mode: source.FeedLogical}))
}

// functionSteps give a function, which a view calls, another body.
func (r *morphing) functionSteps(*morph) []step {
	n := r.next()
	return []step{{[]string{fmt.Sprintf("CREATE OR REPLACE FUNCTION more() RETURNS bigint IMMUTABLE"+
		" LANGUAGE sql AS 'SELECT %d::bigint'", n)}, func(m *morph) { m.plus = n }}}
}

// labelSteps rename the label of an enumeration that every row has.
func (r *morphing) labelSteps(m *morph) []step {
	n := r.next()
	return []step{{[]string{fmt.Sprintf("ALTER TYPE feeling RENAME VALUE 'l%d' TO 'l%d'", m.label, n)},
		func(m *morph) {
			m.label = n
			for _, row := range m.rows {
				row["f"] = fmt.Sprintf(`"l%d"`, n)
			}
		}}}
}

// partSteps empty, detach, attach and drop a partition.
func (r *morphing) partSteps(m *morph) []step {
	n := r.next()
	const attach = "ALTER TABLE part ATTACH PARTITION part2 FOR VALUES FROM (5) TO (9)"
	switch rand.IntN(3) {
	case 0:
		return []step{{[]string{"TRUNCATE part2"}, second(0)}}
	case 1:
		return []step{{[]string{"ALTER TABLE part DETACH PARTITION part2"}, second(0)},
			{[]string{"TRUNCATE part2", "INSERT INTO part2 VALUES (" + secondRows(n)}, nil},
			{[]string{attach}, second(n)}}
	}
	return []step{{[]string{"DROP TABLE part2"}, second(0)},
		{[]string{"CREATE TABLE part2 PARTITION OF part FOR VALUES FROM (5) TO (9)"}, nil},
		{[]string{"INSERT INTO part VALUES (" + secondRows(n)}, second(n)}}
}
