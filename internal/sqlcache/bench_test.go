package sqlcache_test

import (
	"io"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// BenchmarkHit is one caller whose prepared statement memory answers. What it allocates is hotrow's:
// the caller reads and writes the same bytes each time.
func BenchmarkHit(b *testing.B) {
	s := newServing(b, dbtest.Postgres(b, dbtest.Setup(authors)), never, "a")
	c := connect(b, s.url, pgx.QueryExecModeExec)
	if _, err := c.Prepare(b.Context(), "s", "SELECT score FROM a WHERE id = $1"); err != nil {
		b.Fatal(err)
	}
	h, err := c.PgConn().Hijack()
	if err != nil {
		b.Fatal(err)
	}
	defer h.Conn.Close()
	ask := group(b, &pgproto3.Bind{PreparedStatement: "s", Parameters: [][]byte{[]byte("3")}},
		&pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}, &pgproto3.Sync{})
	w := &wire{b, h.Conn}
	answer := w.says(ask, 1)
	waittest.Until(b, "memory answers", func() bool {
		w.says(ask, 1)
		return s.front.Stats().Hits > 10
	})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Write(ask); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(w, answer); err != nil {
			b.Fatal(err)
		}
	}
}
