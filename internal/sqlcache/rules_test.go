package sqlcache_test

import (
	"context"
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
