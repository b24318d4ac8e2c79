package sqlcache_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// finds runs a statement until memory was looked into for it, and reports whether it was a hit.
func (s *stand) finds(c *pgx.Conn, sql string, args ...any) (hit bool) {
	s.t.Helper()
	before := s.settled()
	waittest.Until(s.t, "memory is looked into", func() bool {
		run(s.t, c, sql, args...)
		now := s.settled()
		hit = now.Hits > before.Hits
		return now.Looks > before.Looks
	})
	return hit
}

// TestRows_AreNamed: where the feed does not tell what a row was, a copy found by other columns than
// the key goes when one of its rows changes, or when one gets to what it asks for; not with others.
func TestRows_AreNamed(t *testing.T) {
	const setup = `CREATE TABLE c (id int PRIMARY KEY, of int, score int, body text);
		INSERT INTO c SELECT i, i % 10, i, 'b' || i FROM generate_series(1, 100) i;
		CREATE TABLE u (id uuid PRIMARY KEY, of int, n int);
		INSERT INTO u SELECT ('00000000-0000-0000-0000-0000000000' || i)::uuid, i % 10, i
			FROM generate_series(10, 60) i;
		CREATE TABLE s (id int PRIMARY KEY, session_token text, n int); -- no document shows it
		INSERT INTO s SELECT i, 'token' || i, i FROM generate_series(1, 9) i;
		CREATE TABLE two (a int, b text, of int, n int, PRIMARY KEY (b, a));
		INSERT INTO two SELECT i, 'x,' || i % 3, i % 10, i FROM generate_series(1, 60) i;`
	s := newStand(t, dbtest.Postgres(t, dbtest.Setup(setup)), "c", "u", "two", "s")
	direct := connect(t, s.database, pgx.QueryExecModeSimpleProtocol)
	const (
		all   = "SELECT * FROM c WHERE of = $1 ORDER BY id"
		some  = "SELECT body AS id, id AS it FROM c WHERE of = $1 AND score > 5 ORDER BY score DESC LIMIT 3"
		none  = "SELECT id, body FROM c WHERE of = $1 AND score < 0"
		blind = "SELECT body FROM c WHERE of = $1 ORDER BY id" // the key is not in it
		later = "SELECT id FROM c WHERE of = $1 ORDER BY id OFFSET 1"
		uuid  = "SELECT n, id FROM u WHERE of = $1"
		pair  = "SELECT n, b, a FROM two WHERE of = $1"
		token = "SELECT id, n FROM s WHERE session_token = 'token3' AND id >= $1"
	)
	for name, mode := range modes {
		c := connect(t, s.url, mode)
		for _, tt := range []struct {
			sql, write string
			stays      bool
		}{
			{all, "UPDATE c SET body = body || 'x' WHERE id = 4", true},
			{all, "DELETE FROM c WHERE id = 98", true},
			{all, "INSERT INTO c SELECT max(id) + 1, 8, 98, 'new' FROM c", true},
			{all, "UPDATE c SET body = body || 'x' WHERE id = 13", false},
			{all, "UPDATE c SET of = 3 WHERE id = 44", false},
			{all, "UPDATE c SET of = 4 WHERE id = 44", false},
			{all, "UPDATE c SET id = 144 WHERE id = 43", false},
			{all, "UPDATE c SET id = 43 WHERE id = 144", false},
			{all, "DELETE FROM c WHERE id = 13", false},
			{all, "INSERT INTO c VALUES (13, 3, 13, 'b13')", false},
			{all, "UPDATE u SET of = 3 WHERE n = 55", true},
			{all, "UPDATE u SET of = 5 WHERE n = 55", true},
			{some, "UPDATE c SET score = 3 WHERE id = 4", true},
			{some, "UPDATE c SET score = 300 WHERE id = 3", false}, // it enters the window
			{some, "UPDATE c SET score = 1 WHERE id = 3", false},   // and leaves it
			{none, "UPDATE c SET score = score + 1 WHERE id = 5", true},
			{none, "UPDATE c SET score = -1 WHERE id = 3", false},
			{none, "UPDATE c SET score = 3 WHERE id = 3", false},
			{blind, "UPDATE c SET body = body || 'x' WHERE id = 4", false},
			{later, "UPDATE c SET body = body || 'x' WHERE id = 4", false},
			{uuid, "UPDATE u SET n = n + 1 WHERE n = 24", true},
			{uuid, "UPDATE u SET n = n + 1 WHERE n = 33", false},
			{uuid, "UPDATE u SET n = n - 1 WHERE n = 34 AND of = 3", false},
			{token, "UPDATE s SET n = n + 1 WHERE id = 4", true},
			{token, "UPDATE s SET n = n + 1 WHERE id = 3", false},
			{token, "UPDATE s SET session_token = 'token3' WHERE id = 5", false},
			{token, "UPDATE s SET session_token = 'token5' WHERE id = 5", false},
			{pair, "UPDATE two SET n = n WHERE a = 24", true},
			{pair, "UPDATE two SET n = n WHERE a = 23", false},
		} {
			try := func() bool {
				const count = "SELECT count(*) FROM c"
				s.becomes(c, tt.sql, 3)
				s.becomes(c, count)
				run(t, direct, tt.write)
				run(t, direct, "UPDATE c SET score = score WHERE id = 1") // of none but the count
				waittest.Until(t, "the feed has told", func() bool { return !s.finds(c, count) })
				return s.finds(c, tt.sql, 3)
			}
			if what := name + ": " + tt.sql + " behind " + tt.write; !tt.stays && try() {
				t.Errorf("%s: a hit", what)
			} else if tt.stays { // a feed that was late lets nothing stay
				waittest.Until(t, what+" is a hit", try)
			}
		}
	}
	if n := s.settled(); n.Wrong > 0 || n.Same == 0 {
		t.Errorf("%+v", n)
	}
}
