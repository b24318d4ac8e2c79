package sqlcache_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/sqlcache"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestRules_AreNeeded: each of these would have been answered wrongly, or with what was before the
// client's own write, if its rule did not hold.
func TestRules_AreNeeded(t *testing.T) {
	const setup = authors + `CREATE TABLE w (id int PRIMARY KEY, t timestamptz);
		INSERT INTO w VALUES (1, '2024-03-04');`
	for name, tt := range map[string]struct {
		rule sqlcache.Rule
		do   func(s *stand, c *pgx.Conn)
	}{
		"own writes close": {sqlcache.NoHold, func(s *stand, c *pgx.Conn) {
			for range 20 {
				s.becomes(c, "SELECT score FROM a WHERE id = $1", 1)
				run(s.t, c, "UPDATE a SET score = score + 1 WHERE id = 1")
				run(s.t, c, "SELECT score FROM a WHERE id = $1", 1)
			}
		}},
		"the state is asked for": {sqlcache.NoFingerprint, func(s *stand, c *pgx.Conn) {
			s.becomes(c, "SELECT t FROM w")
			run(s.t, c, "SET DateStyle = 'SQL, DMY'")
			run(s.t, c, "SELECT t FROM w")
		}},
		"copies depend on rows": {sqlcache.NoDeps, func(s *stand, c *pgx.Conn) {
			s.becomes(c, "SELECT name FROM a WHERE id = $1", 2)
			direct := connect(s.t, s.database, pgx.QueryExecModeExec)
			run(s.t, direct, "UPDATE a SET name = 'other' WHERE id = 2")
			run(s.t, c, "SELECT name FROM a WHERE id = $1", 2)
		}},
		"sessions differ": {sqlcache.NoRole, func(s *stand, c *pgx.Conn) {
			s.becomes(c, "SELECT t FROM w")
			other := connect(s.t, s.url, pgx.QueryExecModeSimpleProtocol)
			run(s.t, other, "SET TimeZone = 'Asia/Tokyo'")
			for range 5 {
				run(s.t, other, "SELECT t FROM w")
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, broken := range []bool{false, true} {
				s := newStand(t, dbtest.Postgres(t, dbtest.Setup(setup)), "a", "w")
				if broken {
					s.cache.Break(tt.rule)
				}
				tt.do(s, connect(t, s.url, pgx.QueryExecModeSimpleProtocol))
				c := s.settled()
				if c.Hits == 0 {
					t.Errorf("nothing is a hit: %+v", c)
				}
				unlike := c.Wrong > 0 || tt.rule == sqlcache.NoHold && c.Older > 0
				if unlike != broken {
					t.Errorf("broken %t: %+v", broken, c)
				}
			}
		})
	}
}

// TestWhy_PassesOn: what memory must not answer, each with its reason.
func TestWhy_PassesOn(t *testing.T) {
	s := newStand(t, dbtest.Postgres(t, dbtest.Setup(authors+`CREATE VIEW v AS SELECT * FROM a;
		CREATE TABLE secret (id int PRIMARY KEY);
		ALTER TABLE secret ENABLE ROW LEVEL SECURITY; CREATE TABLE unseen (id int PRIMARY KEY);
		CREATE TABLE times (id int PRIMARY KEY, at timestamptz);`)), "a", "times")
	c := connect(t, s.url, pgx.QueryExecModeExec)
	s.becomes(c, "SELECT name FROM a WHERE id = $1", 1)
	for _, tt := range []struct{ before, sql, why, after string }{
		{"", "SELECT id FROM v", "table_form", ""},
		{"", "SELECT id FROM secret", "table_form", ""},
		{"", "SELECT id FROM unseen", "unfollowed", ""},
		{"", "SELECT relname FROM pg_class LIMIT 1", "unknown_table", ""},
		{"", "SELECT ctid FROM a", "type", ""},
		{"", "SELECT id FROM times WHERE at < 'now'", "type", ""},
		{"BEGIN", "SELECT score FROM a", "in_transaction", "COMMIT"},
		{"SET default_transaction_isolation = 'serializable'", "SELECT name FROM a", "isolation",
			"RESET ALL"},
		{"SET search_path = public, pg_catalog", "SELECT name, id FROM a", "search_path", "RESET ALL"},
		{"CREATE TEMP TABLE mine (i int)", "SELECT id, name FROM a", "temporary", "DISCARD TEMP"},
	} {
		if tt.before != "" {
			run(t, c, tt.before)
		}
		waittest.Until(t, tt.sql+" is passed on", func() bool {
			run(t, c, tt.sql)
			return s.whyOf(tt.sql) == tt.why
		})
		if tt.after != "" {
			run(t, c, tt.after)
		}
	}
}

// whyOf returns why the last group of a statement without values was passed on.
func (s *stand) whyOf(sql string) string {
	for _, one := range s.front.Statements() {
		if one.Shape == strings.ReplaceAll(sql, "'now'", "'?'") || one.Shape == strings.ReplaceAll(sql,
			" LIMIT 1", " LIMIT ?") {
			return one.Memory.Refused
		}
	}
	return ""
}

// TestSession_LostWriteStaysClosed: what a client has sent may be committed after its connection was
// lost. Until the server's process has ended no copy of the table is good.
func TestSession_LostWriteStaysClosed(t *testing.T) {
	s := newStand(t, dbtest.Postgres(t, dbtest.Setup(authors)), "a")
	reader := connect(t, s.url, pgx.QueryExecModeSimpleProtocol)
	s.becomes(reader, "SELECT score FROM a WHERE id = $1", 1)
	direct := connect(t, s.database, pgx.QueryExecModeSimpleProtocol)
	run(t, direct, "BEGIN")
	run(t, direct, "UPDATE a SET score = 1 WHERE id = 1")
	writer := connect(t, s.url, pgx.QueryExecModeSimpleProtocol)
	nc := writer.PgConn().Conn().(*net.TCPConn)
	q := []byte("Q\x00\x00\x00\x00UPDATE a SET score = 100 WHERE id = 1\x00")
	q[4] = byte(len(q) - 1)
	if _, err := nc.Write(q); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the write waits for the lock", func() bool {
		var n int
		err := direct.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&n)
		return err == nil && n > 0
	})
	_ = nc.SetLinger(0)
	_ = nc.Close() // without the usual words
	waittest.Until(t, "the write is an orphan", func() bool { return s.cache.Stats().Orphans == 1 })
	if n := s.hits(reader, 20, "SELECT score FROM a WHERE id = $1", 1); n > 0 {
		t.Errorf("%d of 20 are hits while the lost write is under way", n)
	}
	run(t, direct, "COMMIT")
	waittest.Until(t, "the write has ended", func() bool { return s.cache.Stats().Orphans == 0 })
	s.becomes(reader, "SELECT score FROM a WHERE id = $1", 1)
	if c := s.settled(); c.Wrong+c.Older > 0 {
		t.Errorf("%+v", c)
	}
}

// TestSession_KeepsItsOwn: what hotrow asks in front of a statement leaves the client's statement
// without a name, its notifications and its transactions as they were.
func TestSession_KeepsItsOwn(t *testing.T) {
	s := newStand(t, dbtest.Postgres(t, dbtest.Setup(authors)), "a")
	c := connect(t, s.url, pgx.QueryExecModeDescribeExec)
	ctx := context.Background()
	if _, err := c.Exec(ctx, "LISTEN news"); err != nil {
		t.Fatal(err)
	}
	other := connect(t, s.database, pgx.QueryExecModeExec)
	for i := range 30 {
		if _, err := other.Exec(ctx, "NOTIFY news"); err != nil {
			t.Fatal(err)
		}
		run(t, c, "SET application_name = 'x'") // its state may be another
		var n int
		if err := c.QueryRow(ctx, "SELECT score FROM a WHERE id = $1", 1+i).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if _, err := c.WaitForNotification(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
