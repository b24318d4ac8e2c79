package feed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
)

// A database is one that tests have for themselves.
type database struct {
	t    testing.TB
	conn *pgx.Conn
}

// newDatabase returns a new database in which sql has been run.
func newDatabase(t testing.TB, sql string) *database {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dbtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	d := &database{t, conn}
	d.exec(sql)
	return d
}

func (d *database) exec(statements ...string) {
	d.t.Helper()
	for _, s := range statements {
		if _, err := d.conn.Exec(d.t.Context(), s, pgx.QueryExecModeSimpleProtocol); err != nil {
			d.t.Fatalf("%s: %v", s, err)
		}
	}
}

// newWatcher returns a watcher at a database that nobody follows, which has looked once.
func newWatcher(t testing.TB, f *database, defs *Definitions, tables ...string) (*Watcher, *Control) {
	t.Helper()
	l := &Watcher{Definitions: defs, Names: Names{Publication: "hotrow"}, Publication: "hotrow",
		Check: func(*Facts) []source.Finding { return nil }}
	var watched []source.Watched
	for _, id := range tables {
		watched = append(watched, source.Watched{Table: id})
	}
	l.tables.Store(&watched)
	c := NewControl(Config{Conn: f.conn.Config()})
	t.Cleanup(c.Close)
	found, err := l.Look(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	l.Accept(found)
	return l, c
}

// TestPostgres_LookNamesWhatHasChanged: a fence sees every change of what documents stand
// on, and a look says whose documents, and of nobody else's.
func TestPostgres_LookNamesWhatHasChanged(t *testing.T) {
	f := newDatabase(t, `
		CREATE TYPE mood AS ENUM ('a', 'b'); CREATE TYPE comp AS (m mood, n int);
		CREATE DOMAIN many AS comp[]; CREATE TYPE span AS RANGE (subtype = mood);
		CREATE TABLE a (id int PRIMARY KEY, m many); CREATE TABLE b (id int PRIMARY KEY, s span);
		CREATE TABLE c (id int PRIMARY KEY, v text UNIQUE); CREATE TABLE apart (id int PRIMARY KEY);
		CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id);
		CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (id);
		CREATE TABLE p11 PARTITION OF p1 FOR VALUES FROM (0) TO (10);
		CREATE TABLE r (id int PRIMARY KEY, x regclass[]);
		CREATE PUBLICATION hotrow FOR TABLE a, b, c, p, r WITH (publish_via_partition_root = true);
		CREATE VIEW v AS SELECT * FROM c; CREATE VIEW w AS SELECT * FROM v;
		CREATE FUNCTION f(text) RETURNS text LANGUAGE sql AS 'SELECT $1'`)
	var v, fn uint32
	err := f.conn.QueryRow(t.Context(), "SELECT 'v'::regclass::oid, 'f'::regproc::oid").Scan(&v, &fn)
	if err != nil {
		t.Fatal(err)
	}
	defs := new(Definitions)
	defs.Put("of v", Definition{Tables: []string{"public.c"}, Views: []uint32{v}})
	defs.Put("of f", Definition{Tables: []string{"public.b"}, Procs: []uint32{fn}})
	l, c := newWatcher(t, f, defs, "public.a", "public.b", "public.c", "public.p", "public.r")
	read := func(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
		return c.Do(ctx, func(conn *pgx.Conn) error { return fn(ctx, conn) })
	}
	names := func(tables []string) string {
		return strings.ReplaceAll(strings.Join(tables, " "), "public.", "")
	}
	for _, tt := range []struct{ sql, want string }{
		{"INSERT INTO c VALUES (1, 'x')", ""},
		{"ANALYZE", ""},
		{"CREATE TABLE unserved (id int); ALTER TABLE unserved ADD x int", "r"}, // a name
		{"ALTER TABLE apart ADD x int", ""},
		{"ALTER TYPE mood RENAME VALUE 'b' TO 'c'", "a b"},
		{"ALTER TYPE comp ADD ATTRIBUTE o int", "a"},
		{"ALTER DOMAIN many RENAME TO lots", "a r"},
		{"TRUNCATE p11", "p"},
		{"CREATE TABLE p12 PARTITION OF p1 FOR VALUES FROM (10) TO (20)", "p r"},
		{"ALTER TABLE p1 DETACH PARTITION p12", "p"},
		{"ALTER TABLE c DROP CONSTRAINT c_v_key", "c r"},
		{"ALTER TABLE c REPLICA IDENTITY FULL", "c"},
		{"GRANT SELECT ON c TO PUBLIC", "c"},
		{"CREATE POLICY q ON c USING (true)", "c"},
		{"CREATE OR REPLACE VIEW v AS SELECT id, v || '!' AS v FROM c", "c"},
		{"CREATE OR REPLACE VIEW w AS SELECT id, v || '?' AS v FROM v", ""},
		{"CREATE OR REPLACE FUNCTION f(text) RETURNS text LANGUAGE sql AS 'SELECT $1 || $1'", "b"},
		{"ALTER TABLE c RENAME TO d; ALTER TABLE d RENAME TO c", "c"},
		{"ALTER SCHEMA public RENAME TO q; ALTER SCHEMA q RENAME TO public", "a b c p r"},
	} {
		f.exec(tt.sql)
		_, same, err := l.Fence(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{tt.want, ""} { // the second finds what is new since
			aside, err := l.LookAside(t.Context(), read)
			if names(aside) != want || err != nil {
				t.Errorf("%s: a look aside of the feed says %q, %v, want %q", tt.sql, aside, err, want)
			}
		}
		found, err := l.Look(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		got := names(found.Tables)
		if got != tt.want || same != found.Empty() {
			t.Errorf("%s: %q have changed, want %q; the fence says the same: %v", tt.sql, got, tt.want, same)
		}
		l.Accept(found)
		for range 2 {
			if _, same, err = l.Fence(t.Context(), c); !same || err != nil {
				t.Errorf("%s: a fence after it was told: %v, %v", tt.sql, same, err)
			}
		}
	}
	f.exec("ALTER PUBLICATION hotrow DROP TABLE c")
	if _, same, err := l.Fence(t.Context(), c); same || err != nil {
		t.Errorf("a fence after the publication has changed: %v, %v", same, err)
	}
}

// TestPostgres_LookSeesATableComeBack: a table that is dropped, and made after a look, has
// changed once more: it is another one, of which nobody has told anything.
func TestPostgres_LookSeesATableComeBack(t *testing.T) {
	f := newDatabase(t, "CREATE TABLE a (id int PRIMARY KEY)")
	l, c := newWatcher(t, f, nil, "public.a")
	for range 2 {
		for _, sql := range []string{"DROP TABLE a", "CREATE TABLE a (id int PRIMARY KEY)"} {
			f.exec(sql)
			_, same, err := l.Fence(t.Context(), c)
			if same || err != nil {
				t.Errorf("%s: a fence says the same: %v, %v", sql, same, err)
			}
			found, err := l.Look(t.Context(), c)
			if err != nil || len(found.Tables) != 1 {
				t.Fatalf("%s: %v have changed, %v", sql, found, err)
			}
			l.Accept(found)
			if _, same, err = l.Fence(t.Context(), c); !same || err != nil {
				t.Errorf("%s: a fence after it was told: %v, %v", sql, same, err)
			}
		}
	}
}

// TestPostgres_LookSeesWhoIsCompiledAnew: what a resource stands on after it was compiled
// was not looked at before.
func TestPostgres_LookSeesWhoIsCompiledAnew(t *testing.T) {
	f := newDatabase(t, "CREATE TABLE dept (deptno int PRIMARY KEY);"+
		"CREATE TABLE emp (empno int PRIMARY KEY); CREATE VIEW v AS SELECT * FROM dept")
	var v uint32
	if err := f.conn.QueryRow(t.Context(), "SELECT 'v'::regclass::oid").Scan(&v); err != nil {
		t.Fatal(err)
	}
	defs := new(Definitions)
	l, c := newWatcher(t, f, defs, "public.dept", "public.emp")
	for _, step := range []struct {
		def  Definition
		same bool
	}{
		{Definition{}, true},
		{Definition{Tables: []string{"public.dept"}, Views: []uint32{v}}, false},
		{Definition{Tables: []string{"public.dept"}, Views: []uint32{v}}, true},
		{Definition{}, false},
	} {
		defs.Put("x", step.def)
		_, same, err := l.Fence(t.Context(), c)
		if same != step.same || err != nil {
			t.Errorf("%+v: the same: %v, %v", step.def, same, err)
		}
		found, err := l.Look(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"public.dept"}
		if step.same || step.def.empty() {
			want = nil
		}
		if !slices.Equal(found.Tables, want) {
			t.Errorf("%+v: %q have changed, want %q", step.def, found.Tables, want)
		}
		l.Accept(found)
	}
}

// BenchmarkFence_Catalogue is what a fence costs the server while transactions commit.
func BenchmarkFence_Catalogue(b *testing.B) {
	for _, n := range []int{20, 1000} {
		b.Run(fmt.Sprintf("%d tables", n), func(b *testing.B) {
			f := newDatabase(b, "SELECT")
			var ids []string
			for i := range n {
				f.exec(fmt.Sprintf("CREATE TABLE t%d (id int PRIMARY KEY, a text, b text, c int,"+
					" d timestamptz, e numeric, f text, g text, h bool, i int, j int)", i))
				ids = append(ids, fmt.Sprintf("public.t%d", i))
			}
			f.exec("CREATE PUBLICATION hotrow FOR ALL TABLES", "VACUUM ANALYZE")
			l, c := newWatcher(b, f, nil, ids...)
			b.ResetTimer()
			least := time.Hour
			for range b.N {
				l.snapshot.Store(nil) // as if a transaction had committed
				begin := time.Now()
				if _, same, err := l.Fence(b.Context(), c); !same || err != nil {
					b.Fatal(same, err)
				}
				least = min(least, time.Since(begin))
			}
			b.ReportMetric(float64(least.Microseconds()), "us/least")
		})
	}
}

// TestPostgres_LooksAreNotCompiled: the server thinks that a look at many tables takes
// long, and would spend a second on compiling what takes 2 ms.
func TestPostgres_LooksAreNotCompiled(t *testing.T) {
	f := newDatabase(t, "CREATE TABLE dept (id int PRIMARY KEY)")
	f.exec("DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() ||" +
		" ' SET jit_above_cost = 0'; END $$")
	c := NewControl(Config{Conn: f.conn.Config()})
	t.Cleanup(c.Close)
	var plan []string
	err := c.Do(t.Context(), func(conn *pgx.Conn) error {
		rows, err := conn.Query(t.Context(), "EXPLAIN (ANALYZE) "+closureSQL, []string{"public.dept"},
			[]string{}, []string{}, []uint32{})
		if err == nil {
			plan, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	if text := strings.Join(plan, "\n"); err != nil || strings.Contains(text, "JIT") {
		t.Errorf("%v\n%s", err, text)
	}
}
