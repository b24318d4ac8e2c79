package postgres

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// seedTriggers are those of the seed that hotrow listens to as they are.
const seedTriggers = `
	CREATE FUNCTION dept_notify_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_notify('events_dept', COALESCE(NEW.deptno, OLD.deptno)::varchar);
		RETURN NULL; END $$;
	CREATE TRIGGER dept_notify AFTER INSERT OR UPDATE OR DELETE ON dept
		FOR EACH ROW EXECUTE FUNCTION dept_notify_event();
	CREATE FUNCTION emp_notify_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_notify('events_emp', COALESCE(NEW.empno, OLD.empno)::varchar);
		IF TG_OP <> 'INSERT' THEN PERFORM pg_notify('events_dept', OLD.deptno::varchar); END IF;
		IF TG_OP <> 'DELETE' THEN PERFORM pg_notify('events_dept', NEW.deptno::varchar); END IF;
		RETURN NULL; END $$;
	CREATE TRIGGER emp_notify AFTER INSERT OR UPDATE OR DELETE ON emp
		FOR EACH ROW EXECUTE FUNCTION emp_notify_event();`

// feedApply runs what doctor says.
func feedApply(t testing.TB, url string, mode source.FeedMode, tables []source.Watched) {
	t.Helper()
	findings, err := doctor(t.Context(), sourceOf(t, url), mode, tables)
	if err != nil {
		t.Fatal(err)
	}
	conn := feedConn(t, url)
	for _, f := range findings {
		for _, sql := range f.Apply {
			if _, err := conn.Exec(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
}

// followOwn is follow with hotrow's own triggers.
func followOwn(t testing.TB, url, sql string, tables []source.Watched) *fixture {
	t.Helper()
	f := &fixture{t: t, conn: feedConn(t, url)}
	f.exec(sql)
	feedApply(t, url, source.FeedNotify, tables)
	return follow(t, url, "SELECT", source.FeedNotify, tables)
}

func TestPostgres_NotifyFeedTellsEveryKindOfChange(t *testing.T) {
	f := followOwn(t, dbtest.Postgres(t), feedSchema, feedTables)
	f.want("INSERT INTO dept VALUES (30, 'SALES', NULL)", "dept I ->(deptno=30)")
	f.want("UPDATE dept SET loc = 'BOSTON' WHERE deptno = 30", "dept U (deptno=30)->(deptno=30)")
	f.want("UPDATE dept SET loc = loc WHERE deptno = 30")
	f.want("UPDATE dept SET deptno = 31 WHERE deptno = 30", "dept U (deptno=30)->(deptno=31)")
	f.want("DELETE FROM dept WHERE deptno = 31", "dept D (deptno=31)->")
	f.want("INSERT INTO emp VALUES (1, 'A', NULL)", "emp I ->(empno=1 deptno null)")
	f.want("UPDATE emp SET deptno = 20 WHERE empno = 1",
		"emp U (empno=1 deptno null)->(empno=1 deptno=20)")
	f.want("UPDATE emp SET deptno = NULL WHERE empno = 1",
		"emp U (empno=1 deptno=20)->(empno=1 deptno null)")
	f.want("BEGIN; DELETE FROM emp; ROLLBACK")
	f.want("BEGIN; DELETE FROM emp WHERE empno = 1; SAVEPOINT a; DELETE FROM emp; ROLLBACK TO a;"+
		" COMMIT", "emp D (empno=1 deptno null)->")
	f.wantAmong("TRUNCATE emp", "emp*")
	f.exec("TRUNCATE dept CASCADE")
	got := f.fence()
	if !slices.Contains(got, "dept*") || !slices.Contains(got, "emp*") {
		t.Errorf("TRUNCATE CASCADE came as %q", got)
	}
}

func TestPostgres_NotifyFeedWritesKeysAsTheLogicalFeedDoes(t *testing.T) {
	const ddl = `CREATE DOMAIN day AS date; CREATE TYPE mood AS ENUM ('sad', 'ok');
		CREATE TABLE "K k" (id int PRIMARY KEY, "u""u" uuid, d day, ts timestamp, tz timestamptz,
			n numeric(10,2), b bool, x bytea, f float8, c char(4), ip inet, m mood, t text);
		ALTER TABLE "K k" REPLICA IDENTITY FULL;`
	const insert = `SET timezone = 'Asia/Tokyo'; SET datestyle = 'SQL, DMY';
		SET bytea_output = 'escape';
		INSERT INTO "K k" VALUES (1, 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '29/02/2024',
		'02/01/2024 03:04:05.5', '02/01/2024 03:04:05+09', 1.5, true, '\xDEAD', 1e21,
		'ab', '10.0.0.1', 'ok', E'Ünï, %'' "q" \\ \U0001F600')`
	tables := []source.Watched{{Table: "public.K k", Columns: []string{
		`u"u`, "d", "ts", "tz", "n", "b", "x", "f", "c", "ip", "m", "t"}}}
	var got [2][]string
	a := follow(t, dbtest.Postgres(t), ddl, source.FeedLogical, tables)
	a.exec(insert)
	got[0] = a.fence()
	b := followOwn(t, dbtest.Postgres(t), ddl, tables)
	b.exec(insert)
	got[1] = b.fence()
	if d := cmp.Diff(got[0], got[1]); d != "" || len(got[0]) != 1 ||
		!strings.Contains(got[0][0], `tz=2024-01-01T18:04:05Z`) {
		t.Errorf("logical %q\n%s", got[0], d)
	}
}

func TestPostgres_NotifyFeedTellsLongKeysAsTheTable(t *testing.T) {
	f := followOwn(t, dbtest.Postgres(t), "CREATE TABLE l (id int PRIMARY KEY, k text)",
		[]source.Watched{{Table: "public.l", Columns: []string{"id", "k"}}})
	f.want("INSERT INTO l SELECT 1, string_agg(md5(g::text), '') FROM generate_series(1, 80) g",
		"l I ->(id=1 k="+longKey(t, f)+")")
	f.want("UPDATE l SET k = (SELECT string_agg(md5(g::text), '') FROM generate_series(1, 250) g)",
		"l*") // 8,000 bytes of key do not fit
}

func TestPostgres_NotifyFeedTellsBulkChangesAsTheTable(t *testing.T) {
	f := followOwn(t, dbtest.Postgres(t), feedSchema+"INSERT INTO dept SELECT g FROM"+
		" generate_series(1000, 1000 + 10000) g", feedTables)
	f.exec("UPDATE dept SET loc = 'X' WHERE deptno >= 1000; DELETE FROM emp")
	got := f.fence()
	if n := len(got); n != source.BulkRows+3 || got[source.BulkRows] != "dept*" ||
		!strings.HasPrefix(got[n-1], "emp D") {
		t.Errorf("%d transactions, at the end %q", n, got[n-min(n, 4):])
	}
	f.want("UPDATE dept SET loc = 'Y' WHERE deptno = 10", "dept U (deptno=10)->(deptno=10)")
}

func longKey(t *testing.T, f *fixture) string {
	t.Helper()
	var k string
	if err := f.conn.QueryRow(t.Context(), "SELECT string_agg(md5(g::text), '')"+
		" FROM generate_series(1, 80) g").Scan(&k); err != nil {
		t.Fatal(err)
	}
	return k
}

func TestPostgres_NotifyFeedUnderstandsForeignTriggers(t *testing.T) {
	t.Parallel() // it waits for a look
	f := follow(t, dbtest.Postgres(t), feedSchema+seedTriggers, source.FeedNotify, feedTables)
	f.want("NOTIFY events_dept, '10'", "dept U (deptno=10)->(deptno=10)")
	f.want("UPDATE dept SET loc = 'X' WHERE deptno = 20", "dept U (deptno=20)->(deptno=20)")
	// The bare number of an emp does not say which dept it left or joined.
	f.want("UPDATE emp SET deptno = 10 WHERE empno = 7566",
		"emp*", "dept U (deptno=20)->(deptno=20)", "dept U (deptno=10)->(deptno=10)")
	f.want(`NOTIFY events_dept, '{"table": "dept", "action": "UPDATE", "data": {"deptno": 30}}'`,
		"dept U (deptno=30)->(deptno=30)")
	f.want(`NOTIFY events_emp, '{"table": "emp", "action": "INSERT", "data":`+
		` {"empno": 9007199254740993, "deptno": null}}'`,
		"emp I ->(empno=9007199254740993 deptno null)")
	f.want("NOTIFY events_dept, 'what is this'", "dept*")
	f.want("NOTIFY events_dept", "dept*")
	f.want("NOTIFY events_other, '1'")
	f.exec("TRUNCATE emp") // no trigger tells it
	await(t, "notice the truncation", func() bool {
		return slices.Contains(f.rec.taken(), "emp*")
	})
}

func TestPostgres_NotifyFeedEndsAndAttachesAgain(t *testing.T) {
	t.Parallel() // it waits for a look
	f := followOwn(t, dbtest.Postgres(t), feedSchema, feedTables)
	f.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity" +
		" WHERE datname = current_database() AND application_name = 'hotrow feed'")
	if err := f.ended(); err == nil {
		t.Error("Run returned without an error")
	}
	f.run()
	f.want("DELETE FROM emp WHERE empno = 7839", "emp D (empno=7839 deptno=10)->")
	f.exec("ALTER TABLE emp DISABLE TRIGGER hotrow_row")
	if err := f.ended(); err == nil || !strings.Contains(err.Error(), "public.emp") {
		t.Errorf("with a trigger disabled Run returned %v", err)
	}
}

func TestPostgres_NotifyFeedHasThePositionsOfTheLogicalFeed(t *testing.T) {
	url := dbtest.Postgres(t)
	f := followOwn(t, url, feedSchema, feedTables)
	g := follow(t, url, "SELECT", source.FeedLogical, feedTables)
	if f.rec.attached[0] != g.rec.attached[0] {
		t.Errorf("origins %q and %q", f.rec.attached[0], g.rec.attached[0])
	}
	var text string
	if err := f.conn.QueryRow(t.Context(), "SELECT pg_current_wal_flush_lsn()::text").
		Scan(&text); err != nil {
		t.Fatal(err)
	}
	written, err := feed.ParseLSN(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range []source.Feed{f.feed, g.feed} {
		if pos, err := each.Fence(t.Context()); err != nil || pos < source.Position(written) {
			t.Errorf("%s: a fence at %v, %v, the log was at %v", each.Mode(), feed.LSN(pos), err, written)
		}
	}
}

func TestPostgres_NotifyFeedTellsOnlyWhatIsVisible(t *testing.T) {
	s := dbtest.NewPostgres(t, nil)
	f := followOwn(t, s.URL(), feedSchema, feedTables)
	ghosts(t, s, "ghost")
	done := holding(t, s, "UPDATE dept SET loc = 'new' WHERE deptno = 10")
	if got := f.rec.taken(); len(got) != 0 {
		t.Errorf("a held commit was told: %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.feed.Fence(ctx); err == nil {
		t.Error("a fence with an ended context passed")
	}
	ghosts(t, s, "")
	<-done
	if got := f.fence(); !slices.Equal(got, []string{"dept U (deptno=10)->(deptno=10)"}) {
		t.Errorf("after it was released: %q", got)
	}
}
