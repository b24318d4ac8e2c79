package sqlcache_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// never is how many hits there are at most before the server is asked for one.
const never = 1 << 40

// TestServe_AnswersFromMemory what a driver reads in each of its ways, and what was written since.
func TestServe_AnswersFromMemory(t *testing.T) {
	s := newServing(t, dbtest.Postgres(t, dbtest.Setup(authors)), never, "a")
	direct := connect(t, s.database, pgx.QueryExecModeSimpleProtocol)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec} {
		t.Run(mode.String(), func(t *testing.T) {
			c := connect(t, s.url, mode)
			read := func() (n int) {
				if err := c.QueryRow(t.Context(), "SELECT score FROM a WHERE id = $1", 3).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			before := s.front.Stats()
			waittest.Until(t, "memory answers", func() bool {
				read()
				return s.front.Stats().Hits > before.Hits+5
			})
			for i := range 20 {
				want := int(mode)*1000 + i
				run(t, c, "UPDATE a SET score = $1 WHERE id = 3", want)
				for range 3 {
					if n := read(); n != want {
						t.Fatalf("after its own write of %d the session reads %d", want, n)
					}
				}
			}
			run(t, direct, fmt.Sprintf("UPDATE a SET score = -%d WHERE id = 3", mode+1))
			waittest.Until(t, "the write of another is seen", func() bool { return read() == -int(mode+1) })
			t.Logf("%+v", s.front.Stats())
		})
	}
}
