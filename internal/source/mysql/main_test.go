package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A link that breaks off while it passes something on leaves what reads and passes on
// behind: toxiproxy's, which waits for a receiver that has gone.
func TestMain(m *testing.M) {
	waittest.SideBySide(4)
	const toxiproxy = "github.com/Shopify/toxiproxy/v2"
	goleak.VerifyTestMain(dbtest.Wrap(m),
		goleak.IgnoreAnyFunction(toxiproxy+"/toxics.(*NoopToxic).Pipe"),
		goleak.IgnoreAnyFunction(toxiproxy+".(*ToxicLink).read"))
}

// exactTexts makes the database's texts equal only to themselves, as those of
// the other databases are.
const exactTexts = "ALTER DATABASE CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;"

// openSource opens the database that url names until the test ends.
func openSource(t testing.TB, url string, o Options) *Source {
	t.Helper()
	s, err := Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newSource opens a new database in which the statements have been run. Its
// texts are compared as the server does by default: by letters, not by case.
func newSource(t testing.TB, statements ...string) *Source {
	t.Helper()
	s := openSource(t, dbtest.MariaDB(t), Options{})
	mustExec(t, s, statements...)
	return s
}

func mustExec(t testing.TB, s *Source, statements ...string) {
	t.Helper()
	if err := s.Exec(context.Background(), dbtest.SQLs(statements...)...); err != nil {
		t.Fatal(err)
	}
}

func mustCompile(t testing.TB, s *Source, spec *source.Spec) *plan {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "test"
	}
	p, err := s.Compile(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*plan)
}

func mustLoad(t testing.TB, p *plan, keys ...row.Key) []source.Loaded {
	t.Helper()
	loaded, err := p.Load(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) != len(keys) {
		t.Fatalf("%d documents for %d keys", len(loaded), len(keys))
	}
	return loaded
}

func mustWrite(t testing.TB, p *plan, op source.Op, key row.Key, body string) *source.Written {
	t.Helper()
	out, err := tryWrite(t, p, op, key, body)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tryWrite(
	t testing.TB, p *plan, op source.Op, key row.Key, body string,
) (*source.Written, error) {
	t.Helper()
	w := &source.Write{Op: op, Key: key}
	if body != "" {
		var err error
		if w.Input, err = p.Shape().DecodeJSON([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	return p.Write(t.Context(), w)
}

// jsonOf returns a document as JSON, or "absent".
func jsonOf(p *plan, l source.Loaded) string {
	if !l.Found() {
		return "absent"
	}
	return string(p.Shape().AppendJSON(nil, l.Values))
}

// foreign returns a connection that hotrow knows nothing of, with the names in
// double quotes that the suite's statements have.
func foreign(t testing.TB, url string) *sql.Conn {
	t.Helper()
	cfg, err := parseURL(url, "", "")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("mysql", cfg.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	run(t, c, "SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')")
	return c
}

// run executes statements on c.
func run(t testing.TB, c *sql.Conn, statements ...string) {
	t.Helper()
	for _, s := range dbtest.SQLs(statements...) {
		if _, err := c.ExecContext(context.Background(), s); err != nil {
			t.Fatalf("%s: %v", firstLine(s), err)
		}
	}
}

// userOf returns the URL for another user of the same database, who is made.
func userOf(t testing.TB, url, name string, grants ...string) string {
	t.Helper()
	statements := []string{
		fmt.Sprintf("CREATE OR REPLACE USER '%s'@'127.0.0.1' IDENTIFIED BY 'secret'", name),
	}
	for _, g := range grants {
		statements = append(statements, fmt.Sprintf("GRANT %s TO '%s'@'127.0.0.1'", g, name))
	}
	run(t, foreign(t, url), statements...)
	return strings.Replace(url, "//root@", "//"+name+":secret@", 1)
}
