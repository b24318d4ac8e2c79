package sqlcache_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
)

const authors = `CREATE TABLE a (id int PRIMARY KEY, name text, score int);
	INSERT INTO a SELECT i, 'n' || i, i % 7 FROM generate_series(1, 50) i;`

// modes are how drivers send statements.
var modes = map[string]pgx.QueryExecMode{"prepared": pgx.QueryExecModeCacheStatement,
	"described": pgx.QueryExecModeDescribeExec, "unnamed": pgx.QueryExecModeExec,
	"simple": pgx.QueryExecModeSimpleProtocol}

// TestCache_WouldAnswer: each way to send a statement finds the copy that another execution has
// left, and the server's answer is the same.
func TestCache_WouldAnswer(t *testing.T) {
	s := newStand(t, dbtest.Postgres(t, dbtest.Setup(authors)), "a")
	for name, mode := range modes {
		c := connect(t, s.url, mode)
		for _, sql := range []string{"SELECT name FROM a WHERE id = $1",
			"SELECT * FROM a WHERE score = $1 ORDER BY id LIMIT 3", "SELECT count(*) FROM a WHERE id > $1"} {
			s.becomes(c, sql, 3)
			if n := s.hits(c, 5, sql, 3); n != 5 {
				t.Errorf("%s: %d of 5 are hits: %s: %s", name, n, sql, s.why("FROM a"))
			}
		}
	}
	if c := s.settled(); c.Wrong+c.Older > 0 || c.Same == 0 {
		t.Errorf("%+v", c)
	}
	t.Log(s.front.Stats())
}
