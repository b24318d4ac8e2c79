package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

func TestOpen_RefusesWhatIsNoDatabase(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	junk := []byte(strings.Repeat("not a database ", 100))
	if err := os.WriteFile(text, junk, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ path, want string }{
		{filepath.Join(dir, "missing.db"), "there is no such file"},
		{dir, "directory"},
		{text, "not an SQLite database"},
		{":memory:", "memory"},
		{"file::memory:?cache=shared", "memory"},
		{"", "memory"},
	}
	for _, test := range tests {
		s, err := Open(context.Background(), test.path, Options{})
		if err == nil {
			_ = s.Close()
			t.Errorf("Open(%q) succeeded", test.path)
			continue
		}
		if !strings.Contains(err.Error(), test.want) {
			t.Errorf("Open(%q): %v, want %q", test.path, err, test.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "missing.db")); !os.IsNotExist(err) {
		t.Error("Open made the missing file")
	}
}

func TestOpen_LeavesTheFileAsItIs(t *testing.T) {
	path, c := newFile(t, "DELETE", "CREATE TABLE a (id integer PRIMARY KEY, b text)")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path, Options{})
	w := []source.Watched{{Table: "a", Columns: []string{"id"}}}
	if _, err := s.Compile(t.Context(), &source.Spec{Name: "a", Table: "a"}); err != nil {
		t.Fatal(err)
	}
	f := follow(t, s, w)
	f.fence()
	if _, err := s.Doctor(t.Context(), source.FeedAuto, w); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("the file has changed")
	}
	if got := text(t, c, "PRAGMA journal_mode"); got != "delete" {
		t.Errorf("journal mode %s, want delete", got)
	}
}

// text returns the first column of the first row of a query.
func text(t testing.TB, c *sql.Conn, query string) string {
	t.Helper()
	var v string
	if err := c.QueryRowContext(context.Background(), query).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

func TestOpen_OwnFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.db")
	s := openTest(t, path, Options{Own: true})
	if err := s.Exec(t.Context(), "CREATE TABLE hotrow_link (id integer PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	c := foreign(t, path)
	if got := text(t, c, "PRAGMA journal_mode"); got != "wal" {
		t.Errorf("journal mode %s, want wal", got)
	}
	w := s.writerNow()
	if err := w.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	level, err := w.c.integer(t.Context(), "PRAGMA synchronous")
	store, storeErr := w.c.integer(t.Context(), "PRAGMA temp_store")
	w.unlock()
	if storeErr != nil || store != 2 {
		t.Errorf("temp_store = %d, %v, want 2 (MEMORY)", store, storeErr)
	}
	if err != nil || level != 2 {
		t.Errorf("synchronous = %d, %v, want 2 (FULL)", level, err)
	}
	cat, err := s.Catalog(t.Context())
	if err != nil || len(cat.Tables) != 0 {
		t.Errorf("catalogue %+v, %v, want none of hotrow's tables", cat, err)
	}
}

func TestSource_ReadOnly(t *testing.T) {
	path, _ := newFile(t, "WAL", "CREATE TABLE a (id integer PRIMARY KEY)",
		"INSERT INTO a VALUES (1)")
	s := openTest(t, path, Options{ReadOnly: true})
	p, err := s.Compile(t.Context(), &source.Spec{Name: "a", Table: "a"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Write(t.Context(), &source.Write{Op: source.OpDelete, Key: "1"})
	if source.ClassOf(err) != source.ReadOnly {
		t.Errorf("Write: %v, want read-only", err)
	}
	if err := s.Exec(t.Context(), "DELETE FROM a"); source.ClassOf(err) != source.ReadOnly {
		t.Errorf("Exec: %v, want read-only", err)
	}
	if out, err := p.Load(t.Context(), []row.Key{"1"}); err != nil || !out[0].Found() {
		t.Errorf("Load: %+v, %v", out, err)
	}
}

func TestVersionAtLeast(t *testing.T) {
	for version, want := range map[string]bool{
		"3.51.3": true, "3.51.2": false, "3.51.10": true, "3.52.0": true, "4.0.0": true,
		"3.9.99": false, "3.51": false, "": false, "x.y.z": false,
	} {
		if got := versionAtLeast(version, minVersion); got != want {
			t.Errorf("versionAtLeast(%q) = %v, want %v", version, got, want)
		}
	}
}

func TestSource_ErrorClasses(t *testing.T) {
	path, c := newFile(t, "WAL", "CREATE TABLE p (id integer PRIMARY KEY)",
		"CREATE TABLE a (id integer PRIMARY KEY, u integer UNIQUE, n text NOT NULL, "+
			"c integer CHECK (c > 0), f integer REFERENCES p (id)) STRICT",
		"CREATE TRIGGER no BEFORE DELETE ON a BEGIN SELECT raise(ABORT, 'not this one'); END",
		"INSERT INTO a VALUES (1, 1, 'x', 1, NULL)")
	s := openTest(t, path, Options{})
	tests := []struct {
		statement string
		class     source.Class
		message   string
	}{
		{"INSERT INTO a VALUES (1, 2, 'x', 1, NULL)", source.Conflict, "a.id"},
		{"INSERT INTO a VALUES (2, 1, 'x', 1, NULL)", source.Conflict, "a.u"},
		{"INSERT INTO a VALUES (2, 2, 'x', 1, 9)", source.Conflict, "FOREIGN KEY"},
		{"INSERT INTO a VALUES (2, 2, NULL, 1, NULL)", source.Invalid, "a.n"},
		{"INSERT INTO a VALUES (2, 2, 'x', 0, NULL)", source.Invalid, "CHECK"},
		{"INSERT INTO a VALUES (2, 'two', 'x', 1, NULL)", source.Invalid, "TEXT"},
		{"DELETE FROM a", source.Invalid, "not this one"},
		{"INSERT INTO b VALUES (1)", source.Missing, "no such table: b"},
		{"INSERT INTO a (id, n, c) VALUES (3, zeroblob(2000000000), 1)", source.TooLarge,
			"too big"},
	}
	for _, test := range tests {
		err := s.Exec(t.Context(), test.statement)
		if source.ClassOf(err) != test.class || err == nil ||
			!strings.Contains(err.Error(), test.message) {
			t.Errorf("%s: %v (class %d), want class %d with %q",
				test.statement, err, source.ClassOf(err), test.class, test.message)
		}
	}
	if err := s.Exec(t.Context(), "PRAGMA max_page_count=20"); err != nil {
		t.Fatal(err)
	}
	err := s.Exec(t.Context(), "INSERT INTO a VALUES (4, 4, hex(zeroblob(500000)), 1, NULL)")
	if source.ClassOf(err) != source.Full {
		t.Errorf("a full database: %v, want class Full", err)
	}
	run(t, c, "BEGIN IMMEDIATE")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Exec(ctx, "DELETE FROM p"); source.ClassOf(err) != source.Busy {
		t.Errorf("a locked database: %v, want class Busy", err)
	}
	run(t, c, "ROLLBACK")
	if err := s.Exec(t.Context(), "DELETE FROM p"); err != nil {
		t.Errorf("after the lock is gone: %v", err)
	}
}

// A file that was moved away can be waited for: that it cannot be written says
// nothing about the resource.
func TestSource_WriteOfAFileThatWasMovedIsUnavailable(t *testing.T) {
	path, _ := newFile(t, "DELETE", "CREATE TABLE p (id integer PRIMARY KEY)")
	s := openTest(t, path, Options{})
	if err := s.Exec(t.Context(), "INSERT INTO p VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	err := s.Exec(t.Context(), "INSERT INTO p VALUES (2)")
	if err == nil || source.ClassOf(err) != source.Unavailable {
		t.Errorf("a write of a file that was moved: %v, want class Unavailable", err)
	}
}

func TestSource_CloseEndsWhoWaits(t *testing.T) {
	path, _ := newFile(t, "WAL", "CREATE TABLE a (id integer PRIMARY KEY)")
	s, err := Open(t.Context(), path, Options{Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	err = s.readPool().use(t.Context(), func(*conn) error {
		go func() {
			waiting <- s.readPool().use(context.Background(), func(*conn) error { return nil })
		}()
		poll(t, func() bool { return s.Stats().Waiting > 0 })
		if st := s.Stats(); st.Max != 1 || st.InUse != 1 {
			t.Errorf("stats %+v, want one connection in use", st)
		}
		return s.Close()
	})
	if err != nil {
		t.Error(err)
	}
	if err := <-waiting; !errors.Is(err, errClosed) {
		t.Errorf("who waited got %v, want errClosed", err)
	}
	if err := s.Exec(t.Context(), "SELECT 1"); !errors.Is(err, errClosed) {
		t.Errorf("Exec after Close: %v, want errClosed", err)
	}
}

func TestPool_CancelledReadLeavesAGoodConnection(t *testing.T) {
	path, _ := newFile(t, "WAL", "CREATE TABLE a (id integer PRIMARY KEY)")
	s := openTest(t, path, Options{Readers: 1})
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		err := s.readPool().use(ctx, func(c *conn) error {
			return c.snapshot(ctx, func() error {
				return c.query(ctx, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL
					SELECT i + 1 FROM n) SELECT count(*) FROM n`, nil,
					func([]any) error { return nil })
			})
		})
		cancel()
		if source.ClassOf(err) != source.Busy {
			t.Fatalf("endless query: %v, want class Busy", err)
		}
		if _, err := s.Catalog(t.Context()); err != nil {
			t.Fatalf("the read after it: %v", err)
		}
	}
}
