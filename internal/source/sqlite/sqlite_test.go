package sqlite

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// foreign opens the file as another program would.
func foreign(t testing.TB, path string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path, "rwc", "busy_timeout(5000)"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// run executes statements on c.
func run(t testing.TB, c *sql.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := c.ExecContext(context.Background(), s); err != nil {
			t.Fatalf("%s: %v", firstLine(s), err)
		}
	}
}

// newFile returns the path of a new database in the journal mode, made by
// another program, and that program's connection.
func newFile(t testing.TB, mode string, statements ...string) (string, *sql.Conn) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "app%20 é?.db")
	c := foreign(t, path)
	run(t, c, "PRAGMA journal_mode="+mode, "CREATE TABLE made (id integer PRIMARY KEY)",
		"DROP TABLE made")
	run(t, c, statements...)
	return path, c
}

// openTest opens a source that ends with the test.
func openTest(t testing.TB, path string, o Options) *Source {
	t.Helper()
	s, err := Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func TestSQLite(t *testing.T) {
	for _, mode := range []string{"WAL", "DELETE"} {
		t.Run(mode, func(t *testing.T) {
			sourcetest.Run(t, func(t *testing.T) sourcetest.Env {
				path, c := newFile(t, mode)
				return sourcetest.Env{
					Source: openTest(t, path, Options{}),
					Exec: func(t testing.TB, statements ...string) {
						t.Helper()
						run(t, c, statements...)
					},
					Dialect: suiteDialect,
				}
			})
		})
	}
}

var suiteDialect = sourcetest.Dialect{
	Name:      "sqlite",
	Empty:     "DELETE FROM %s",
	Generated: "integer PRIMARY KEY",
	Feeds: []sourcetest.FeedCase{
		{Mode: source.FeedSQLite, Coarse: true},
		{Mode: source.FeedSQLite, Doctor: true},
	},
	Types: []sourcetest.TypeCase{
		{Type: "integer", Literal: "9223372036854775807", JSON: "9223372036854775807",
			MsgPack: "\xcf\x7f\xff\xff\xff\xff\xff\xff\xff"},
		{Type: "integer", Literal: "NULL", JSON: "null", MsgPack: "\xc0"},
		{Type: "integer", Literal: "'not a number'", JSON: `"not a number"`},
		{Type: "integer", Literal: "1.5", JSON: "1.5"},
		{Type: "boolean", Literal: "1", JSON: "true", MsgPack: "\xc3"},
		{Type: "boolean", Literal: "false", JSON: "false", MsgPack: "\xc2"},
		{Type: "boolean", Literal: "7", JSON: "7"},
		{Type: "boolean", Literal: "'yes'", JSON: `"yes"`},
		{Type: "real", Literal: "0.1", JSON: "0.1",
			MsgPack: "\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a"},
		{Type: "double precision", Literal: "9e999", JSON: `"Infinity"`},
		{Type: "decimal(10,2)", Literal: "1.50", JSON: "1.5"},
		{Type: "decimal(10,2)", Literal: "3", JSON: "3"},
		{Type: "numeric", Literal: "'abc'", JSON: `"abc"`},
		{Type: "text", Literal: "'ä\"'", JSON: `"ä\""`},
		{Type: "text", Literal: "'1.50'", JSON: `"1.50"`},
		{Type: "text", Literal: "CAST(x'61ff' AS text)", JSON: `"Yf8="`, MsgPack: "\xc4\x02a\xff"},
		{Type: "varchar(3)", Literal: "'longer than three'", JSON: `"longer than three"`},
		{Type: "blob", Literal: "x'00ff'", JSON: `"AP8="`, MsgPack: "\xc4\x02\x00\xff"},
		{Type: "blob", Literal: "x''", JSON: `""`, MsgPack: "\xc4\x00"},
		{Type: "blob", Literal: "'text'", JSON: `"text"`},
		{Type: "date", Literal: "'1981-06-09'", JSON: `"1981-06-09"`},
		{Type: "date", Literal: "'9 June 1981'", JSON: `"9 June 1981"`},
		{Type: "date", Literal: "361238400", JSON: "361238400"},
		{Type: "datetime", Literal: "'2024-01-02 03:04:05'", JSON: `"2024-01-02 03:04:05"`},
		{Type: "timestamp", Literal: "'2024-01-02T03:04:05.250'",
			JSON: `"2024-01-02T03:04:05.250"`},
		{Type: "time", Literal: "'03:04:05'", JSON: `"03:04:05"`},
		{Type: "json", Literal: `'{"a": [1, null]}'`, JSON: `{"a": [1, null]}`},
		{Type: "json", Literal: `'{broken'`, JSON: `"{broken"`},
		{Type: "uuid", Literal: "'6BA7B810-9dad-11d1-80b4-00c04fd430c8'",
			JSON: `"6BA7B810-9dad-11d1-80b4-00c04fd430c8"`},
		{Type: "", Literal: "'untyped'", JSON: `"untyped"`},
		{Type: "", Literal: "5", JSON: "5"},
	},
}
