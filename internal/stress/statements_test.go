package stress

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A kindOfStatement changes what is read of the table x. It is the only one that does, and x
// is the only table: what tells of it tells of nothing else.
type kindOfStatement struct {
	name, do string
	setup    string // before hotrow starts
	mend     string // before x is changed again
	refused  bool   // x is not there after it, or cannot be served
	unkept   bool   // what is read after it is kept no more
}

// kindsOfAll are those of every database.
var kindsOfAll = []kindOfStatement{
	{name: "insert", do: "INSERT INTO x VALUES (9, 1, 'new')"},
	{name: "insert of several", do: "INSERT INTO x SELECT id + 10, n, v FROM x"},
	{name: "update", do: "UPDATE x SET v = 'new' WHERE id = 1"},
	{name: "update of all", do: "UPDATE x SET n = n + 1"},
	{name: "update of the key", do: "UPDATE x SET id = 9 WHERE id = 1"},
	{name: "keys exchanged", do: "UPDATE x SET id = -id; UPDATE x SET id = 4 + id"},
	{name: "update that changes nothing", do: "UPDATE x SET v = v"},
	{name: "delete", do: "DELETE FROM x WHERE id = 1"},
	{name: "delete of all", do: "DELETE FROM x"},
	{name: "delete and insert", do: "DELETE FROM x WHERE id = 1; INSERT INTO x VALUES (1, 2, 'new')"},
	{name: "transaction", do: "BEGIN; UPDATE x SET n = 2 WHERE id = 1; DELETE FROM x WHERE id = 2; COMMIT"},
	{name: "rolled back", do: "BEGIN; UPDATE x SET n = 2; ROLLBACK"},
	{name: "savepoint", do: "BEGIN; UPDATE x SET n = 7 WHERE id = 1; SAVEPOINT a;" +
		" UPDATE x SET n = 8; ROLLBACK TO SAVEPOINT a; COMMIT"},
	{name: "column added", do: "ALTER TABLE x ADD w int DEFAULT 7"},
	{name: "column dropped", do: "ALTER TABLE x DROP COLUMN v"},
	{name: "column renamed", do: "ALTER TABLE x RENAME COLUMN v TO w"},
	{name: "index", do: "CREATE INDEX more ON x (v)"},
	{name: "dropped", do: "DROP TABLE x", refused: true},
	{name: "renamed", do: "ALTER TABLE x RENAME TO y", refused: true},
	{name: "renamed and back", do: "ALTER TABLE x RENAME TO y; UPDATE y SET v = 'new';" +
		" ALTER TABLE y RENAME TO x"},
	{name: "made anew", do: "DROP TABLE x; " + tableX},
	{name: "by a trigger", setup: "CREATE TABLE z (id int PRIMARY KEY); INSERT INTO z VALUES (1);" +
		" CREATE TRIGGER tr AFTER DELETE ON z FOR EACH ROW " + actionOfTrigger, do: "DELETE FROM z"},
}

// actionOfTrigger stands for an update of x/1.
const actionOfTrigger = "..."

// tableX makes the table of which they are.
const tableX = "CREATE TABLE x (id int PRIMARY KEY, n int, v varchar(20));" +
	" CREATE INDEX x_n ON x (n); INSERT INTO x VALUES (1, 1, 'old'), (2, 1, 'b'), (3, 2, 'c')"

// questionsOfX are what is asked, all from memory before: rows, those that are not there,
// lists by a column, and of all.
var questionsOfX = []string{"x/1", "x/2", "x/3", "x/9", "x/11", "x?n=eq.1", "x?n=eq.2",
	"x?n=eq.2&order=id.desc&limit=1", "x"}

// answer is what HTTP answers, and where it comes from.
func (s *stand) answer(path string) (body, status string) {
	s.T.Helper()
	resp, text, err := s.Get(path)
	if err != nil {
		s.T.Fatal(err)
	}
	if resp.StatusCode >= 400 { // the words may have a number of the moment
		text = ""
	}
	return fmt.Sprint(resp.StatusCode, " ", text), resp.Header.Get("Cache-Status")
}

// comesFromMemory waits until every question does.
func (s *stand) comesFromMemory(t *testing.T, when string) {
	t.Helper()
	for _, q := range questionsOfX {
		body, status := "", ""
		waittest.UntilEvery(t, time.Millisecond, q+" from memory "+when, func() bool {
			body, status = s.answer(q)
			return strings.Contains(status, "detail=mem")
		}, func() string { return fmt.Sprintf("%s (%s), %+v", body, status, s.Stats()) })
	}
}

// like compares what s answers with what a hotrow does that has just started. Answers that
// say that they may be stale are no lie.
func (s *stand) like(t *testing.T, when string, start func(t *testing.T) *stand) {
	t.Helper()
	testbed.Pause(t.Context(), 2*definitionBound)
	other := start(t)
	for _, q := range questionsOfX {
		is, status := s.answer(q)
		want, _ := other.answer(q)
		if is != want && !strings.Contains(status, "fwd=stale") {
			t.Errorf("%s: %s is %s (%s), and should be %s", when, q, is, status, want)
		}
	}
}

// changed runs one statement where everything is in memory, and looks at the answers after
// it, and after another change of each row.
func (k kindOfStatement) changed(t *testing.T, mode source.FeedMode, exec func(sql string),
	open func(t *testing.T) source.Source) {
	specs := []resource.Spec{testbed.Spec("x")}
	s := newStandOver(t, open(t), plan{Specs: specs, Mode: mode})
	start := func(t *testing.T) *stand {
		return newStandOver(t, open(t), plan{Specs: specs, Mode: source.FeedNone})
	}
	s.comesFromMemory(t, "before")
	exec(k.do)
	if k.refused {
		testbed.Pause(t.Context(), 2*definitionBound)
		for _, q := range questionsOfX {
			if is, status := s.answer(q); strings.Contains(status, "detail=mem") {
				t.Errorf("after %s: %s is %s (%s)", k.do, q, is, status)
			}
		}
		return
	}
	t.Run("after", func(t *testing.T) { s.like(t, "after "+k.do, start) })
	if t.Failed() {
		return
	}
	if !k.unkept && mode != source.FeedNotify { // whose triggers a new table has not
		s.comesFromMemory(t, "after")
	}
	if k.mend != "" {
		exec(k.mend)
	}
	exec("UPDATE x SET n = 3 - n")
	t.Run("again", func(t *testing.T) { s.like(t, "after "+k.do+", and an UPDATE", start) })
}

// kindsOfPostgres are those that it alone has.
var kindsOfPostgres = []kindOfStatement{
	{name: "truncate", do: "TRUNCATE x"},
	{name: "upsert", do: "INSERT INTO x VALUES (1, 2, 'new') ON CONFLICT (id) DO UPDATE SET v = 'new', n = 2"},
	{name: "merge", do: "MERGE INTO x USING (VALUES (1), (9)) AS s (id) ON x.id = s.id" +
		" WHEN MATCHED THEN UPDATE SET n = 2 WHEN NOT MATCHED THEN INSERT VALUES (s.id, 1, 'new')"},
	{name: "with", do: "WITH d AS (DELETE FROM x WHERE id = 1 RETURNING *) INSERT INTO x SELECT 9, n, v FROM d"},
	{name: "function", do: "DO $$ BEGIN UPDATE x SET n = 2 WHERE id = 1;EXCEPTION WHEN others THEN NULL;END $$"},
	{name: "cascade", setup: "CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (1), (2), (3);" +
		" ALTER TABLE x ADD FOREIGN KEY (id) REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE",
		do: "DELETE FROM p WHERE id = 1; UPDATE p SET id = 9 WHERE id = 2"},
	{name: "type of a column", do: "ALTER TABLE x ALTER v TYPE text USING v || '!'"},
	{name: "rewritten", do: "VACUUM FULL x"},
	{name: "clustered", do: "CLUSTER x USING x_pkey"},
	{name: "another schema", do: "CREATE SCHEMA aside; ALTER TABLE x SET SCHEMA aside", refused: true},
	{name: "another key", do: "ALTER TABLE x DROP CONSTRAINT x_pkey; ALTER TABLE x ADD PRIMARY KEY (v)",
		refused: true},
	{name: "identity full", do: "ALTER TABLE x REPLICA IDENTITY FULL"},
	{name: "identity nothing", do: "ALTER TABLE x REPLICA IDENTITY NOTHING", unkept: true,
		mend: "ALTER TABLE x REPLICA IDENTITY DEFAULT"},
	{name: "row security", do: "ALTER TABLE x ENABLE ROW LEVEL SECURITY; ALTER TABLE x FORCE ROW LEVEL SECURITY",
		refused: true},
	{name: "rule", do: "CREATE RULE r AS ON INSERT TO x WHERE new.id = 8 DO ALSO UPDATE x SET n = 2;" +
		" INSERT INTO x VALUES (8, 1, 'new')"},
	{name: "as replica", do: "SET session_replication_role = replica; UPDATE x SET v = 'new' WHERE id = 1;" +
		" RESET session_replication_role"},
	{name: "disabled triggers", do: "ALTER TABLE x DISABLE TRIGGER ALL; UPDATE x SET v = 'new' WHERE id = 1"},
	{name: "a parent", do: "CREATE TABLE top (LIKE x); ALTER TABLE x INHERIT top; UPDATE top SET v = 'new'"},
	{name: "partition", do: "ALTER TABLE x RENAME TO part; CREATE TABLE x (LIKE part INCLUDING ALL)" +
		" PARTITION BY RANGE (id); ALTER TABLE x ATTACH PARTITION part DEFAULT; UPDATE part SET v = 'new'"},
}

// toldByTriggers are those of which triggers tell otherwise than a log does.
var toldByTriggers = []string{"truncate", "merge", "with", "cascade", "as replica", "disabled triggers",
	"a parent", "partition", "by a trigger", "update of the key", "keys exchanged", "made anew", "rule"}

// TestPostgres_StatementsOfEachKind: after any statement the answers are those of a hotrow that
// has just started, within the bound, and so they are after the next change.
func TestPostgres_StatementsOfEachKind(t *testing.T) {
	t.Parallel() // it waits, most of the time
	server := dbtest.NewPostgres(t, testbed.Logical)
	for _, mode := range []source.FeedMode{source.FeedLogical, source.FeedNotify} {
		for i, k := range append(kindsOfAll, kindsOfPostgres...) {
			if mode == source.FeedNotify && !waittest.Long() && i%3 > 0 &&
				!slices.Contains(toldByTriggers, k.name) {
				continue // of what tells both feeds the same, the long form has all
			}
			t.Run(string(mode)+"/"+k.name, func(t *testing.T) {
				t.Parallel()
				at := server.Database(t)
				conn := testbed.Dial(t, at)
				exec := func(sql string) {
					testbed.MustExec(t, conn, strings.Split(sql, "; ")...)
				}
				exec(tableX)
				exec("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS" +
					" 'BEGIN UPDATE x SET n = 2 WHERE id = 1;RETURN NULL;END'")
				exec(strings.ReplaceAll(k.setup, actionOfTrigger, "EXECUTE FUNCTION f()"))
				if mode == source.FeedNotify {
					doctored(t, at, []resource.Spec{testbed.Spec("x")})
				}
				k.changed(t, mode, exec, func(t *testing.T) source.Source { return testbed.OpenPostgres(t, at) })
			})
		}
	}
}

// kindsOfMariaDB are those that it alone has.
var kindsOfMariaDB = []kindOfStatement{
	{name: "truncate", do: "TRUNCATE x"},
	{name: "replace", do: "REPLACE INTO x VALUES (1, 2, 'new')"},
	{name: "upsert", do: "INSERT INTO x VALUES (1, 2, 'new') ON DUPLICATE KEY UPDATE v = 'new'"},
	{name: "insert ignore", do: "INSERT IGNORE INTO x VALUES (1, 2, 'no'), (9, 1, 'new')"},
	{name: "update of two tables", setup: "CREATE TABLE z (id int PRIMARY KEY); INSERT INTO z VALUES (1)",
		do: "UPDATE x JOIN z ON x.id = z.id SET x.n = 2"},
	{name: "delete of two tables", setup: "CREATE TABLE z (id int PRIMARY KEY); INSERT INTO z VALUES (1)",
		do: "DELETE x FROM x JOIN z ON x.id = z.id"},
	{name: "cascade", setup: "CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (1), (2), (3);" +
		" ALTER TABLE x ADD FOREIGN KEY (id) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE",
		do: "DELETE FROM p WHERE id = 1; UPDATE p SET id = 9 WHERE id = 2"},
	{name: "type of a column", do: "ALTER TABLE x MODIFY n bigint; UPDATE x SET n = 2 WHERE id = 1"},
	{name: "column first", do: "ALTER TABLE x MODIFY v varchar(30) FIRST"},
	{name: "rebuilt", do: "ALTER TABLE x ENGINE = InnoDB; OPTIMIZE TABLE x"},
	{name: "another engine", do: "ALTER TABLE x ENGINE = Aria; UPDATE x SET v = 'new' WHERE id = 1",
		refused: true},
	{name: "made as it is", do: "CREATE OR REPLACE TABLE x (id int PRIMARY KEY, n int, v varchar(20));" +
		" INSERT INTO x VALUES (1, 2, 'new')"},
	{name: "renames of two", setup: "CREATE TABLE y (id int PRIMARY KEY, n int, v varchar(20));" +
		" INSERT INTO y VALUES (1, 2, 'new')", do: "RENAME TABLE x TO old, y TO x"},
	{name: "a statement in the log",
		do: "SET SESSION binlog_format = 'STATEMENT'; UPDATE x SET v = 'new' WHERE id = 1;" +
			" SET SESSION binlog_format = 'ROW'"},
	{name: "minimal images", do: "SET SESSION binlog_row_image = 'MINIMAL'; UPDATE x SET n = 2 WHERE id = 1;" +
		" SET SESSION binlog_row_image = 'FULL'"},
	{name: "a collation", do: "ALTER TABLE x CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"},
	{name: "XA", do: "XA START 'a'; UPDATE x SET n = 2 WHERE id = 1; XA END 'a'; XA PREPARE 'a'; XA COMMIT 'a'"},
	{name: "compound", do: "BEGIN NOT ATOMIC UPDATE x SET n = 2 WHERE id = 1;END"},
	{name: "versioned", do: "ALTER TABLE x ADD SYSTEM VERSIONING"},
	{name: "sequence of names",
		do: "CREATE TABLE y LIKE x; INSERT INTO y SELECT id, 2, 'new' FROM x; DROP TABLE x;" +
			" RENAME TABLE y TO x"},
}

func TestMariaDB_StatementsOfEachKind(t *testing.T) {
	t.Parallel() // it waits, most of the time
	server := dbtest.NewMariaDB(t, nil)
	for _, k := range append(kindsOfAll, kindsOfMariaDB...) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			at := server.Database(t)
			conn := testbed.DialMariaDB(t, at)
			exec := func(sql string) {
				for one := range strings.SplitSeq(sql, "; ") {
					if one == "" {
						continue
					}
					if _, err := conn.ExecContext(t.Context(), one); err != nil {
						t.Fatalf("%s: %v", one, err)
					}
				}
			}
			exec(tableX)
			exec(strings.ReplaceAll(k.setup, actionOfTrigger, "UPDATE x SET n = 2 WHERE id = 1"))
			k.changed(t, source.FeedBinlog, exec, func(t *testing.T) source.Source {
				return testbed.OpenMariaDB(t, at)
			})
		})
	}
}

// kindsOfSQLite are those that it alone has.
var kindsOfSQLite = []kindOfStatement{
	{name: "replace", do: "REPLACE INTO x VALUES (1, 2, 'new')"},
	{name: "upsert", do: "INSERT INTO x VALUES (1, 2, 'new') ON CONFLICT (id) DO UPDATE SET v = 'new'"},
	{name: "vacuum", do: "VACUUM"},
	{name: "reindex", do: "REINDEX"},
	{name: "update from", do: "UPDATE x SET n = o.n + 1 FROM x AS o WHERE o.id = x.id"},
	{name: "rowid", do: "UPDATE x SET rowid = 50 WHERE id = 1"},
	{name: "strict",
		do: "CREATE TABLE y (id int PRIMARY KEY, n int, v text) STRICT; INSERT INTO y SELECT * FROM x;" +
			" DROP TABLE x; ALTER TABLE y RENAME TO x"},
}

func TestSQLite_StatementsOfEachKind(t *testing.T) {
	t.Parallel() // it waits, most of the time
	for _, k := range append(kindsOfAll, kindsOfSQLite...) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "world.db")
			open := func(t *testing.T) source.Source { return testbed.OpenSQLite(t, path, sqlite.Options{Own: true}) }
			_ = open(t) // which makes the file, with a write-ahead log
			sh := startShell(t, path)
			exec := func(sql string) {
				if sql == "" {
					return
				}
				if err := sh.exec(sql + ";"); err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
			}
			exec(tableX)
			exec(strings.ReplaceAll(k.setup, actionOfTrigger, "BEGIN UPDATE x SET n = 2 WHERE id = 1; END"))
			k.changed(t, source.FeedAuto, exec, open)
		})
	}
}
