package sqlcache_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestServe_TerminatedWhileMemoryAnswers: a session whose server process is ended hears so, though
// memory alone answers it, and is not answered from then on.
func TestServe_TerminatedWhileMemoryAnswers(t *testing.T) {
	s := newServing(t, dbtest.Postgres(t, dbtest.Setup(authors)), never, "a")
	admin := connect(t, s.database, pgx.QueryExecModeSimpleProtocol)
	g := group(t, &pgproto3.Query{String: "SELECT score FROM a WHERE id = 3"})
	everyWay(t, s, func(t *testing.T, url string) {
		c := connect(t, url, pgx.QueryExecModeExec)
		pid := c.PgConn().PID()
		h, err := c.PgConn().Hijack()
		if err != nil {
			t.Fatal(err)
		}
		w := &wire{t, h.Conn}
		t.Cleanup(func() { _ = w.Close() })
		waittest.Until(t, "memory answers", func() bool {
			before := s.front.Stats().Hits
			w.says(g, 1)
			return s.front.Stats().Hits > before
		})
		run(t, admin, fmt.Sprintf("SELECT pg_terminate_backend(%d)", pid))
		all, _ := io.ReadAll(w)
		if !bytes.Contains(all, []byte("C57P01\x00")) {
			t.Errorf("the client hears %q", all)
		}
	})
}

// TestServe_RightsOfThreeRoles: what is taken from a role beside readers of three, from outside, it
// reads no more once that was seen, and others as before: also by SET ROLE.
func TestServe_RightsOfThreeRoles(t *testing.T) {
	s := newServing(t, dbtest.Postgres(t, dbtest.Setup(authors+`DO $$ BEGIN
		CREATE ROLE serve_one; CREATE ROLE serve_two; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
		GRANT SELECT ON a TO serve_one, serve_two;`)), never, "a")
	admin := connect(t, s.database, pgx.QueryExecModeSimpleProtocol)
	c := connect(t, s.url, pgx.QueryExecModeExec)
	read := func(role string) string {
		run(t, c, "SET ROLE "+role)
		said := ""
		for i := range 3 {
			var n int
			now := "row"
			if err := c.QueryRow(t.Context(), "SELECT score FROM a WHERE id = 3").Scan(&n); err != nil {
				now = err.Error()
			}
			if i == 0 {
				said = now
			} else if now != said {
				said = "changing"
			}
		}
		return said
	}
	waittest.Until(t, "memory answers all", func() bool {
		before := s.front.Stats().Hits
		return read("serve_one")+read("serve_two")+read("postgres") == "rowrowrow" && s.front.Stats().Hits >= before+6
	})
	for _, tt := range []struct{ sql, one, two string }{
		{"REVOKE SELECT ON a FROM serve_one", "ERROR: permission denied for table a (SQLSTATE 42501)", "row"},
		{"GRANT SELECT ON a TO serve_one", "row", "row"},
		{"ALTER TABLE a ENABLE ROW LEVEL SECURITY", "no rows in result set", "no rows in result set"},
		{"CREATE POLICY p ON a TO serve_two USING (true)", "no rows in result set", "row"},
	} {
		run(t, admin, tt.sql)
		waittest.Until(t, "it is seen: "+tt.sql, func() bool {
			return read("serve_one") == tt.one && read("serve_two") == tt.two
		})
		for range 20 {
			if one, two, own := read("serve_one"), read("serve_two"), read("postgres"); one != tt.one ||
				two != tt.two || own != "row" {
				t.Errorf("after %s: %s, %s, %s", tt.sql, one, two, own)
			}
		}
	}
}
