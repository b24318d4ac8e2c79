package sqlcache_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/sqlcache"
	"github.com/hotrow/hotrow/internal/waittest"
)

// rests waits until the catalogue is read no more, and what was read counts no more.
func (s *stand) rests() {
	s.t.Helper()
	waittest.Until(s.t, "the catalogue is not read", s.cache.Rests)
}

// TestCache_RestsWhileNobodyAsks: the catalogue is read while statements come, and not before who
// asks again.
func TestCache_RestsWhileNobodyAsks(t *testing.T) {
	s := newStandWith(t, dbtest.Postgres(t, dbtest.Setup(authors)),
		sqlcache.Options{Rest: time.Second}, "a")
	c := connect(t, s.url, pgx.QueryExecModeExec)
	const sql = "SELECT name FROM a WHERE id = $1"
	for range 3 {
		s.becomes(c, sql, 3)
		s.rests()
		if n := s.hits(c, 1, sql, 3); n != 0 {
			t.Error("a hit by what was read long ago")
		}
	}
	s.becomes(c, sql, 3)
	before := s.names.n.Load()
	waittest.Until(t, "the catalogue is read while somebody asks", func() bool {
		s.hits(c, 1, sql, 3)
		return s.names.n.Load() > before+10
	})
}

// TestCache_RestMissesNoDefinition: what others have defined while it rested counts for the first
// statement that wakes it. The update waits in the database, and would not be known to change more
// than its own table.
func TestCache_RestMissesNoDefinition(t *testing.T) {
	database := dbtest.Postgres(t, dbtest.Setup(authors+"CREATE TABLE b (id int PRIMARY KEY, n int);"+
		"INSERT INTO b VALUES (1, 1);"))
	s := newStandWith(t, database, sqlcache.Options{Rest: time.Second}, "a", "b")
	other := connect(t, database, pgx.QueryExecModeExec)
	reader := connect(t, s.url, pgx.QueryExecModeExec)
	writer := connect(t, s.url, pgx.QueryExecModeExec)
	const sql = "SELECT n FROM b WHERE id = $1"
	run(t, writer, "SELECT 1 FROM a WHERE id = 1") // its state is known
	s.becomes(reader, sql, 1)
	s.rests()
	run(t, other, `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN UPDATE b SET n = n + 1; RETURN NEW; END'`)
	run(t, other, "CREATE TRIGGER t AFTER UPDATE ON a FOR EACH ROW EXECUTE FUNCTION f()")
	run(t, other, "BEGIN")
	run(t, other, "SELECT 1 FROM a WHERE id = 1 FOR UPDATE")
	written := make(chan error)
	go func() {
		_, err := writer.Exec(t.Context(), "UPDATE a SET score = 9 WHERE id = 1")
		written <- err
	}()
	waittest.Until(t, "the update waits", func() (waits bool) {
		err := other.QueryRow(t.Context(),
			"SELECT count(*) > 0 FROM pg_locks WHERE NOT granted").Scan(&waits)
		return err == nil && waits
	})
	begin := s.names.n.Load()
	waittest.Until(t, "the catalogue was read again", func() bool {
		if n := s.hits(reader, 1, sql, 1); n != 0 {
			t.Fatal("a hit while a trigger writes the table")
		}
		return s.names.n.Load() > begin+10
	})
	run(t, other, "COMMIT")
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	s.becomes(reader, sql, 1)
	if c := s.settled(); c.Wrong > 0 {
		t.Errorf("%+v", c)
	}
}
