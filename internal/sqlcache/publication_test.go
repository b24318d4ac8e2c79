package sqlcache_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestServe_PublicationChanged: of a table that somebody takes out of the publication the feed tells
// nothing more, and memory does not answer it with what was before for longer than others may be seen.
func TestServe_PublicationChanged(t *testing.T) {
	for _, sql := range []string{"ALTER PUBLICATION hotrow SET (publish = 'insert')",
		"ALTER PUBLICATION hotrow DROP TABLE a", "DROP PUBLICATION hotrow"} {
		t.Run(sql, func(t *testing.T) {
			s := newServing(t, dbtest.Postgres(t, dbtest.Setup(authors)), never, "a")
			c := connect(t, s.url, pgx.QueryExecModeExec)
			s.becomesServed(c, "SELECT score FROM a WHERE id = 3")
			direct := connect(t, s.database, pgx.QueryExecModeSimpleProtocol)
			if _, err := direct.Exec(t.Context(), sql); err != nil {
				t.Log(err)
				return
			}
			run(t, direct, "UPDATE a SET score = 4711 WHERE id = 3")
			waittest.Until(t, "the write is seen", func() bool {
				n := 0
				err := c.QueryRow(t.Context(), "SELECT score FROM a WHERE id = 3").Scan(&n)
				return err == nil && n == 4711
			})
		})
	}
}
