package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sourcetest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// feedTimeout bounds every wait of these tests.
var feedTimeout = waittest.Limit(30 * time.Second)

// A recorder is a handler that writes down what it is told.
type recorder struct {
	mu       sync.Mutex // guards what follows
	attached []string
	txs      []*source.Tx
	schema   []string
	pos      source.Position
	wrong    error // positions that went back
}

// Attached writes down what is to be settled of before as a transaction.
func (r *recorder) Attached(origin string, pos source.Position, before uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attached = append(r.attached, origin)
	r.pos = pos
	if before != 0 {
		r.txs = append(r.txs, &source.Tx{ID: before, Pos: pos, All: true})
	}
}

func (r *recorder) Apply(tx *source.Tx) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.txs = append(r.txs, tx)
	r.moved(tx.Pos)
}

func (r *recorder) Advance(pos source.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved(pos)
}

func (r *recorder) moved(pos source.Position) {
	if pos < r.pos {
		r.wrong = fmt.Errorf("position %d after %d", pos, r.pos)
	}
	r.pos = pos
}

func (r *recorder) SchemaChanged(tables []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.schema = append(r.schema, tables...)
}

// take returns the transactions since the last call.
func (r *recorder) take() []*source.Tx {
	r.mu.Lock()
	defer r.mu.Unlock()
	txs := r.txs
	r.txs = nil
	return txs
}

func (r *recorder) epochs() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.attached)
}

func (r *recorder) changed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.schema)
}

// await waits until ok says true.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	waittest.Until(t, what, ok)
}

// A fixture is a database with a feed of it that runs, and is run again when it
// ends.
type fixture struct {
	t    testing.TB
	src  *Source
	conn *sql.Conn
	feed source.Feed
	rec  *recorder
}

// followed names tables of the database at url with the columns that matter:
// "emp empno deptno".
func followed(s *Source, tables ...string) []source.Watched {
	var out []source.Watched
	for _, t := range tables {
		words := strings.Fields(t)
		out = append(out, source.Watched{Table: s.cfg.DBName + "." + words[0], Columns: words[1:]})
	}
	return out
}

// follow runs the statements in the database at url and follows tables.
func follow(t testing.TB, url string, statements []string, tables ...string) *fixture {
	t.Helper()
	f := &fixture{t: t, src: openSource(t, url, Options{}), conn: foreign(t, url),
		rec: new(recorder)}
	run(t, f.conn, statements...)
	f.start(tables...)
	return f
}

// start opens and runs a feed until the test ends.
func (f *fixture) start(tables ...string) {
	f.t.Helper()
	feed, why, err := f.src.OpenFeed(f.t.Context(), source.FeedBinlog, followed(f.src, tables...))
	if err != nil || feed == nil || why == "" {
		f.t.Fatalf("OpenFeed = %v, %q, %v", feed, why, err)
	}
	f.feed = feed
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			err := feed.Run(ctx, f.rec)
			if ctx.Err() == nil {
				f.t.Logf("Run: %v", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	f.t.Cleanup(func() {
		cancel()
		<-done
		if err := feed.Close(); err != nil {
			f.t.Error(err)
		}
		if f.rec.wrong != nil {
			f.t.Error(f.rec.wrong)
		}
	})
	await(f.t, "attach", func() bool { return f.rec.epochs() > 0 && f.tryFence() })
	f.rec.take()
}

func (f *fixture) tryFence() bool {
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Second)
	defer cancel()
	_, err := f.feed.Fence(ctx)
	return err == nil
}

// fence returns what the feed has delivered up to now.
func (f *fixture) fence() []string {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), feedTimeout)
	defer cancel()
	if _, err := f.feed.Fence(ctx); err != nil {
		f.t.Fatalf("fence: %v", err)
	}
	var out []string
	for _, tx := range f.rec.take() {
		out = append(out, sourcetest.Text(tx))
	}
	return out
}

// want compares what the feed delivers of some statements.
func (f *fixture) want(statements []string, want ...string) {
	f.t.Helper()
	run(f.t, f.conn, statements...)
	if got := f.fence(); !slices.Equal(got, want) {
		f.t.Errorf("%s\n got %q\nwant %q", strings.Join(statements, "; "), got, want)
	}
}

// one is one statement.
func one(s string) []string { return []string{s} }

// feedSchema is the seed's schema in small.
var feedSchema = []string{
	`CREATE TABLE dept (deptno int PRIMARY KEY, dname text, loc text)`,
	`CREATE TABLE emp (empno int PRIMARY KEY, ename varchar(20), deptno int)`,
	`INSERT INTO dept VALUES (10, 'ACCOUNTING', 'NEW YORK'), (20, 'RESEARCH', 'DALLAS')`,
	`INSERT INTO emp VALUES (7839, 'KING', 10), (7566, 'JONES', 20)`,
}

func TestMariaDB_FeedTellsRows(t *testing.T) {
	f := follow(t, dbtest.MariaDB(t), feedSchema, "dept deptno", "emp empno deptno")
	f.want(one(`INSERT INTO dept VALUES (30, 'SALES', NULL)`), "dept I ->(deptno=30)")
	f.want(one(`UPDATE dept SET dname = 'X' WHERE deptno = 30`),
		"dept U (deptno=30)->(deptno=30)")
	f.want(one(`UPDATE dept SET deptno = 31 WHERE deptno = 30`),
		"dept U (deptno=30)->(deptno=31)")
	f.want(one(`DELETE FROM dept WHERE deptno = 31`), "dept D (deptno=31)->")
	f.want(one(`UPDATE emp SET deptno = NULL WHERE empno = 7839`),
		"emp U (empno=7839 deptno=10)->(empno=7839 deptno null)")
	f.want([]string{`BEGIN`, `INSERT INTO emp VALUES (1, 'A', 10)`, `SAVEPOINT s`,
		`INSERT INTO emp VALUES (2, 'B', 10)`, `ROLLBACK TO s`, `INSERT INTO dept VALUES (5, '', '')`,
		`COMMIT`}, "emp I ->(empno=1 deptno=10); dept I ->(deptno=5)")
	f.want([]string{`BEGIN`, `DELETE FROM emp`, `ROLLBACK`})
	f.want(one(`REPLACE INTO dept VALUES (5, 'new', '')`), "dept U (deptno=5)->(deptno=5)")
	f.want(one(`CREATE TABLE other (id int PRIMARY KEY)`))
	f.want(one(`INSERT INTO other VALUES (1)`))
	f.want(one(`TRUNCATE emp`), "emp*")
	if got := f.rec.changed(); len(got) > 0 {
		t.Errorf("definitions of %v changed, none did", got)
	}
}

// What foreign keys delete and change is in no binary log.
func TestMariaDB_FeedTellsCascades(t *testing.T) {
	f := follow(t, dbtest.MariaDB(t), []string{
		`CREATE TABLE a (id int PRIMARY KEY, code int UNIQUE, note text)`,
		`CREATE TABLE b (id int PRIMARY KEY, a int, FOREIGN KEY (a) REFERENCES a (id)
			ON DELETE CASCADE ON UPDATE CASCADE)`,
		`CREATE TABLE c (id int PRIMARY KEY, b int, FOREIGN KEY (b) REFERENCES b (id)
			ON DELETE SET NULL)`,
		`CREATE TABLE d (id int PRIMARY KEY, a int, FOREIGN KEY (a) REFERENCES a (id))`,
		`INSERT INTO a VALUES (1, 1, ''), (2, 2, ''), (3, 3, ''), (4, 4, '')`,
		`INSERT INTO b VALUES (1, 1), (2, 2)`, `INSERT INTO c VALUES (1, 1)`,
	}, "b id", "c id b", "d id")
	f.want(one(`UPDATE a SET note = 'x'`)) // which no foreign key refers to
	f.want(one(`UPDATE a SET id = 9 WHERE id = 2`), "b*; c*")
	f.want(one(`DELETE FROM a WHERE id = 1`), "b*; c*")
	f.want(one(`DELETE FROM b WHERE id = 2`), "b D (id=2)->; c*")
	f.want(one(`INSERT INTO a VALUES (7, 7, '')`))
	f.want(one(`ALTER TABLE d DROP FOREIGN KEY d_ibfk_1`), "d*")
	f.want(one(`ALTER TABLE d ADD FOREIGN KEY (a) REFERENCES a (code) ON UPDATE SET NULL`), "d*")
	await(t, "the new foreign key is known", func() bool {
		run(t, f.conn, `UPDATE a SET code = code + 10 WHERE id = 4`)
		return slices.Equal(f.fence(), []string{"d*"})
	})
}

func TestMariaDB_FeedTellsDefinitions(t *testing.T) {
	f := follow(t, dbtest.MariaDB(t), feedSchema, "dept deptno", "emp empno deptno")
	id := f.src.cfg.DBName
	run(t, f.conn, `ALTER TABLE dept ADD COLUMN first int DEFAULT 77 FIRST`,
		`INSERT INTO dept (deptno) VALUES (41)`)
	for _, tx := range f.fence() {
		if tx != "dept*" && tx != "dept I ->(deptno=41)" {
			t.Errorf("after ALTER TABLE the feed told %q", tx)
		}
	}
	if got := f.rec.changed(); !slices.Contains(got, id+".dept") {
		t.Errorf("changed are %v, want dept", got)
	}
	await(t, "rows are told by key again", func() bool {
		run(t, f.conn, `UPDATE dept SET loc = RAND() WHERE deptno = 41`)
		return slices.Equal(f.fence(), []string{"dept U (deptno=41)->(deptno=41)"})
	})
	f.want(one(`CREATE INDEX n ON emp (ename)`), "emp*")
	f.want(one(`RENAME TABLE emp TO emp2, emp2 TO emp`), "emp*")
	f.want(one(`DROP TABLE emp`), "emp*")
	f.want(one(`CREATE TABLE emp (empno int PRIMARY KEY, deptno int) SELECT 5 AS empno, 6 AS deptno`),
		"emp*")
}

// A session may write statements, or less of a row, whatever the server's
// settings are.
func TestMariaDB_FeedTellsOddSessions(t *testing.T) {
	f := follow(t, dbtest.MariaDB(t), append(feedSchema,
		`CREATE TABLE doc (id int PRIMARY KEY, kind int, body mediumtext)`,
		`INSERT INTO doc VALUES (1, 1, 'x')`), "dept deptno", "emp empno deptno", "doc id kind")
	f.want([]string{`SET SESSION binlog_format = STATEMENT`,
		`UPDATE emp SET ename = 'X' WHERE empno = 7839`}, "dept*; doc*; emp*")
	f.want([]string{`SET SESSION binlog_format = MIXED`, `DELETE FROM emp WHERE empno = 7839`},
		"dept*; doc*; emp*")
	f.want([]string{`SET SESSION binlog_format = ROW`, `SET SESSION binlog_row_image = NOBLOB`,
		`UPDATE doc SET kind = 2`}, "doc U (id=1 kind=1)->(id=1 kind=2)")
	f.want([]string{`SET SESSION binlog_row_image = MINIMAL`, `UPDATE doc SET body = 'y'`}, "doc*")
	f.want(one(`INSERT INTO doc (id, kind) VALUES (2, 2)`), "doc I ->(id=2 kind=2)")
	f.want(one(`DELETE FROM doc WHERE id = 2`), "doc*")
}

func TestMariaDB_FeedTellsXA(t *testing.T) {
	f := follow(t, dbtest.MariaDB(t), feedSchema, "dept deptno")
	run(t, f.conn, `XA START 'a','b',3`, `INSERT INTO dept VALUES (50, '', '')`, `XA END 'a','b',3`,
		`XA PREPARE 'a','b',3`)
	f.want(one(`XA COMMIT 'a','b',3`), "dept I ->(deptno=50)")
	run(t, f.conn, `XA START 'c'`, `INSERT INTO dept VALUES (51, '', '')`, `XA END 'c'`,
		`XA PREPARE 'c'`)
	f.want(one(`XA ROLLBACK 'c'`))
	f.want([]string{`XA START 'd'`, `INSERT INTO dept VALUES (52, '', '')`, `XA END 'd'`,
		`XA COMMIT 'd' ONE PHASE`}, "dept I ->(deptno=52)")
}

// Of a transaction that is larger than the bound the feed tells the table only.
func TestMariaDB_FeedBoundsTransactions(t *testing.T) {
	f := follow(t, dbtest.MariaDB(t), append(feedSchema,
		`CREATE TABLE big (id int PRIMARY KEY, v int)`), "big id", "dept deptno")
	n := source.BulkRows
	f.want(one(fmt.Sprintf(`INSERT INTO big SELECT seq, 0 FROM seq_1_to_%d`, n+1)), "big*")
	f.want([]string{`BEGIN`, `UPDATE big SET v = v + 1`, `UPDATE dept SET loc = 'x' WHERE deptno = 10`,
		`COMMIT`}, "dept U (deptno=10)->(deptno=10); big*")
	run(t, f.conn, fmt.Sprintf(`DELETE FROM big LIMIT %d`, n))
	if got := f.fence(); len(got) != 1 || strings.Count(got[0], "big D") != n {
		t.Errorf("a transaction of %d rows is told as %.80q", n, got)
	}
}
