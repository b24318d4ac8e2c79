package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
	"github.com/hotrow/hotrow/internal/waittest"
)

func TestPostgres_LogicalFeedTellsEveryKindOfChange(t *testing.T) {
	f := follow(t, dbtest.Postgres(t), feedSchema, source.FeedLogical, feedTables)
	f.want("INSERT INTO dept VALUES (30, 'SALES', NULL)", "dept I ->(deptno=30)")
	f.want("UPDATE dept SET loc = 'BOSTON' WHERE deptno = 30",
		"dept U (deptno=30)->(deptno=30)")
	f.want("UPDATE dept SET deptno = 31 WHERE deptno = 30", "dept U (deptno=30)->(deptno=31)")
	f.want("DELETE FROM dept WHERE deptno = 31", "dept D (deptno=31)->")
	f.want("INSERT INTO emp VALUES (1, 'A', NULL)", "emp I ->(empno=1 deptno null)")
	f.want("UPDATE emp SET deptno = 20 WHERE empno = 1",
		"emp U (empno=1)->(empno=1 deptno=20)")
	f.want("BEGIN; UPDATE dept SET loc = 'X' WHERE deptno = 10; DELETE FROM emp WHERE empno = 1;"+
		" COMMIT", "dept U (deptno=10)->(deptno=10); emp D (empno=1)->")
	f.want("CREATE TABLE other (a int PRIMARY KEY); INSERT INTO other VALUES (1)")
	f.wantAmong("TRUNCATE emp", "emp*")
	f.wantAmong("TRUNCATE dept CASCADE", "dept*; emp*")
}

func TestPostgres_LogicalFeedTellsNothingOfWhatWasTakenBack(t *testing.T) {
	f := follow(t, dbtest.Postgres(t), feedSchema, source.FeedLogical, feedTables)
	f.want("BEGIN; DELETE FROM emp; ROLLBACK")
	f.want("BEGIN; INSERT INTO dept VALUES (40); SAVEPOINT a; DELETE FROM emp;"+
		" ROLLBACK TO a; SAVEPOINT b; INSERT INTO dept VALUES (50); RELEASE b; COMMIT",
		"dept I ->(deptno=40); dept I ->(deptno=50)")
}

func TestPostgres_LogicalFeedKnowsOldValuesByReplicaIdentity(t *testing.T) {
	for name, c := range map[string]struct{ alter, moved, nulled, deleted string }{
		"default": {"SELECT",
			"emp U (empno=7839)->(empno=7839 deptno=20)",
			"emp U (empno=7839)->(empno=7839 deptno null)",
			"emp D (empno=7839)->"},
		"full": {"ALTER TABLE emp REPLICA IDENTITY FULL",
			"emp U (empno=7839 deptno=10)->(empno=7839 deptno=20)",
			"emp U (empno=7839 deptno=20)->(empno=7839 deptno null)",
			"emp D (empno=7839 deptno null)->"},
	} {
		t.Run(name, func(t *testing.T) {
			f := follow(t, dbtest.Postgres(t), feedSchema+c.alter, source.FeedLogical, feedTables)
			f.want("UPDATE emp SET deptno = 20 WHERE empno = 7839", c.moved)
			f.want("UPDATE emp SET deptno = NULL WHERE empno = 7839", c.nulled)
			f.want("DELETE FROM emp WHERE empno = 7839", c.deleted)
		})
	}
	t.Run("index", func(t *testing.T) {
		f := follow(t, dbtest.Postgres(t), feedSchema+`ALTER TABLE emp ALTER deptno SET NOT NULL;
			CREATE UNIQUE INDEX emp_moves ON emp (deptno, empno);
			ALTER TABLE emp REPLICA IDENTITY USING INDEX emp_moves`,
			source.FeedLogical, feedTables)
		f.want("UPDATE emp SET ename = 'X' WHERE empno = 7839",
			"emp U (empno=7839 deptno=10)->(empno=7839 deptno=10)")
		f.want("UPDATE emp SET deptno = 20 WHERE empno = 7839",
			"emp U (empno=7839 deptno=10)->(empno=7839 deptno=20)")
		f.want("DELETE FROM emp WHERE empno = 7839", "emp D (empno=7839 deptno=20)->")
	})
}

func TestPostgres_LogicalFeedWritesKeysAsDocumentsDo(t *testing.T) {
	f := follow(t, dbtest.Postgres(t), `
		CREATE DOMAIN day AS date; CREATE TYPE mood AS ENUM ('sad', 'ok');
		CREATE TABLE k (id int PRIMARY KEY, u uuid, d date, dom day, ts timestamp, tz timestamptz,
			n numeric(10,2), b bool, x bytea, f float8, c char(4), ip inet, m mood, t text);
		ALTER TABLE k REPLICA IDENTITY FULL;
		DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET timezone = ''Asia/Tokyo''';
		EXECUTE 'ALTER DATABASE ' || current_database() || ' SET datestyle = ''SQL, DMY'''; END $$`,
		source.FeedLogical, []source.Watched{{Table: "public.k", Columns: []string{
			"u", "d", "dom", "ts", "tz", "n", "b", "x", "f", "c", "ip", "m", "t"}}})
	f.want(`INSERT INTO k VALUES (1, 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '2024-02-29',
		'2024-03-01', '2024-01-02 03:04:05.5', '2024-01-02 03:04:05+09', 1.5, true, '\xDEAD', 1e21,
		'ab', '10.0.0.1', 'ok', E'Ünï, % \U0001F600')`,
		"k I ->(u=a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 d=2024-02-29 dom=2024-03-01"+
			" ts=2024-01-02T03:04:05.5 tz=2024-01-01T18:04:05Z n=1.50 b=true x=dead f=1e+21"+
			" c=ab   ip=10.0.0.1 m=ok t=Ünï, % 😀)")
}

func TestPostgres_LogicalFeedTellsBulkChangesAsTheTable(t *testing.T) {
	f := follow(t, dbtest.Postgres(t), feedSchema+"INSERT INTO dept SELECT g FROM generate_series("+
		"1000, 1000 + 9998) g", source.FeedLogical, feedTables)
	f.exec("UPDATE dept SET loc = 'X' WHERE deptno >= 1000; ")
	if got := f.fence(); len(got) != 1 || strings.Count(got[0], "dept U") != 9999 {
		t.Errorf("9,999 rows came as %.100q", got)
	}
	f.want("UPDATE dept SET loc = 'Y'; UPDATE emp SET ename = 'Z' WHERE empno = 7839",
		"emp U (empno=7839)->(empno=7839 deptno=10); dept*")
}

func TestPostgres_LogicalFeedTellsLargeValues(t *testing.T) {
	const large = "repeat(md5('a'), 100000)" // compresses well, so make it external
	f := follow(t, dbtest.Postgres(t), `
		CREATE TABLE big (id int PRIMARY KEY, k text, v int);
		ALTER TABLE big ALTER k SET STORAGE EXTERNAL;
		INSERT INTO big VALUES (1, `+large+`, 1)`, source.FeedLogical,
		[]source.Watched{{Table: "public.big", Columns: []string{"id", "k"}}})
	f.want("UPDATE big SET v = 2", "big*") // k is not sent, and nobody knows it
	f.exec("ALTER TABLE big REPLICA IDENTITY FULL; UPDATE big SET v = 3")
	f.fence()
	f.exec("UPDATE big SET v = 4")
	got := slices.DeleteFunc(f.fence(), func(tx string) bool { return tx == "big*" })
	if len(got) != 1 || len(got[0]) < 2*3_200_000 {
		t.Errorf("with the full identity it came as %d transactions, %.80q", len(got), got)
	}
}

func TestPostgres_LogicalFeedNoticesSchemaChanges(t *testing.T) {
	t.Parallel() // it waits for a look
	f := follow(t, dbtest.Postgres(t), feedSchema, source.FeedLogical, feedTables)
	f.want("UPDATE dept SET loc = 'X' WHERE deptno = 10", "dept U (deptno=10)->(deptno=10)")
	f.exec("ALTER TABLE dept ADD phone text; UPDATE dept SET phone = '1' WHERE deptno = 10")
	// The watcher, which a new description wakes up, may tell the same again.
	if got := slices.Compact(f.fence()); !slices.Equal(got, []string{"dept*"}) {
		t.Errorf("a change under a new definition came as %q", got)
	}
	f.rec.mu.Lock()
	if !slices.Contains(f.rec.schema, "public.dept") {
		t.Error("the change of the definition was not told")
	}
	f.rec.schema = nil
	f.rec.mu.Unlock()

	f.exec("ALTER TABLE emp ADD bonus int DEFAULT 7") // and no row changes
	await(t, "notice that emp has a new column", func() bool {
		f.rec.mu.Lock()
		defer f.rec.mu.Unlock()
		return slices.Contains(f.rec.schema, "public.emp")
	})
	await(t, "tell emp", func() bool {
		return strings.Contains(strings.Join(f.rec.taken(), ";"), "emp*")
	})
}

func TestPostgres_LogicalFeedFollowsPartitions(t *testing.T) {
	t.Parallel() // it waits for a look
	f := follow(t, dbtest.Postgres(t), `
		CREATE TABLE p (id int, r int, PRIMARY KEY (id, r)) PARTITION BY RANGE (r);
		CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
		CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20)`,
		source.FeedLogical, []source.Watched{{Table: "public.p", Columns: []string{"id"}}})
	f.want("INSERT INTO p VALUES (1, 1)", "p I ->(id=1)")
	f.want("UPDATE p SET r = 11", "p D (id=1)->; p I ->(id=1)")
	f.exec("TRUNCATE p2") // not in the stream when the table publishes for its partitions
	await(t, "notice the truncation", func() bool {
		return slices.Contains(f.rec.taken(), "p*")
	})
}

func TestPostgres_LogicalFeedEndsAndAttachesAgain(t *testing.T) {
	t.Parallel() // it waits for a look
	f := follow(t, dbtest.Postgres(t), feedSchema, source.FeedLogical, feedTables)
	origin := f.rec.attached[0]
	for range 2 {
		// The slot is temporary: it goes with its sender.
		f.exec("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots" +
			" WHERE database = current_database()")
		if err := f.ended(); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		if _, err := f.feed.Fence(t.Context()); !errors.Is(err, source.ErrDetached) {
			t.Errorf("a fence of a feed that does not run: %v", err)
		}
		f.exec("ALTER TABLE dept ALTER loc SET DEFAULT 'X', ALTER dname SET NOT NULL")
		f.run()
		if f.rec.attached[0] != origin {
			t.Errorf("origin %q, was %q", f.rec.attached[0], origin)
		}
		if !slices.Equal(f.rec.schema, []string{"public.dept"}) {
			t.Errorf("definitions changed while nobody followed: %q", f.rec.schema)
		}
		f.want("UPDATE dept SET loc = 'X' WHERE deptno = 10", "dept U (deptno=10)->(deptno=10)")
		f.exec("ALTER TABLE dept ALTER dname DROP NOT NULL")
		await(t, "notice the definition", func() bool {
			return slices.Contains(f.rec.taken(), "dept*")
		})
	}
}

func TestPostgres_LogicalFeedEndsWhenATableIsNotPublishedAnyMore(t *testing.T) {
	t.Parallel() // it waits for a look
	f := follow(t, dbtest.Postgres(t), feedSchema, source.FeedLogical, feedTables)
	f.exec("ALTER PUBLICATION hotrow DROP TABLE emp")
	var broken *feed.Broken
	if err := f.ended(); !errors.As(err, &broken) || !strings.Contains(err.Error(), "emp") {
		t.Errorf("Run returned %v", err)
	}
	f.run() // it may add the table again, so it does
	f.want("UPDATE emp SET ename = 'X' WHERE empno = 7839",
		"emp U (empno=7839)->(empno=7839 deptno=10)")
}

func TestPostgres_FenceCoversAsynchronousCommits(t *testing.T) {
	f := follow(t, dbtest.Postgres(t), feedSchema, source.FeedLogical, feedTables)
	f.exec("SET synchronous_commit = off")
	slow, limit := 0, waittest.Limit(250*time.Millisecond)
	for i := range 20 {
		f.exec(fmt.Sprintf("UPDATE dept SET loc = 'async %d' WHERE deptno = 10", i))
		start := time.Now()
		if got := f.fence(); len(got) != 1 {
			t.Fatalf("after the fence: %q", got)
		}
		if time.Since(start) > limit {
			slow++ // a busy machine makes some so
		}
	}
	if slow > 15 {
		t.Errorf("%d of 20 fences took more than %v", slow, limit)
	}
}

func TestPostgres_FenceDoesNotWaitForOpenTransactions(t *testing.T) {
	f := follow(t, dbtest.Postgres(t), feedSchema, source.FeedLogical, feedTables)
	f.exec("BEGIN", "UPDATE dept SET loc = 'open' WHERE deptno = 10")
	for range 5 {
		start := time.Now()
		if got := f.fence(); len(got) != 0 {
			t.Errorf("an open transaction was told: %q", got)
		}
		if d := time.Since(start); waittest.Late(d, 5*time.Second) {
			t.Errorf("a fence took %v", d)
		}
	}
	f.want("COMMIT", "dept U (deptno=10)->(deptno=10)")
}
