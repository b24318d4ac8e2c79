package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A write to a file that is at its path no more would go with the file: it is refused, or its
// outcome is unknown if the file went meanwhile.
func TestWrite_ToAFileThatIsGone(t *testing.T) {
	for _, mode := range []string{"WAL", "DELETE"} {
		path, c := newFile(t, mode, "CREATE TABLE a (id integer PRIMARY KEY, n integer)")
		_ = c.Close()
		s := openTest(t, path, Options{})
		p := compile(t, s, &source.Spec{Table: "a"})
		write := func(key row.Key, during func()) error {
			in, err := p.Shape().DecodeJSON([]byte(`{"n":2}`))
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: key, Input: in,
				Touch: func([]source.Change, source.Position) { during() }})
			return err
		}
		if err := write("1", func() {}); err != nil {
			t.Fatal(err)
		}
		err := write("2", func() {
			if err := os.Rename(path, path+".gone"); err != nil {
				t.Fatal(err)
			}
		})
		if err == nil {
			t.Errorf("%s: a write was answered whose file went before COMMIT", mode)
		}
		for range 2 {
			err = write("3", func() { t.Errorf("%s: a transaction in a file that is gone", mode) })
			if !errors.Is(err, errReplaced) || source.ClassOf(err) != source.Unavailable {
				t.Errorf("%s: %v", mode, err)
			}
		}
		if err := os.Rename(path+".gone", path); err != nil {
			t.Fatal(err)
		}
		if err := write("3", func() {}); err != nil {
			t.Errorf("%s, with the file back: %v", mode, err)
		}
	}
}

// Texts in double quotes are SQLite's old habit: a schema that has them works, and a name that
// is no column is still an error.
func TestWrite_WithTextsInDoubleQuotes(t *testing.T) {
	path, c := newFile(t, "WAL",
		`CREATE TABLE a (id integer PRIMARY KEY, v text DEFAULT "it's ""d""", d text DEFAULT 'no')`,
		`CREATE TABLE log (id integer PRIMARY KEY, t text)`,
		`CREATE TRIGGER at AFTER UPDATE ON a WHEN NEW.d = "open" BEGIN INSERT INTO log (t) VALUES ("yes"); END`,
		`INSERT INTO a VALUES (1, 'x', 'y')`)
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Table: "a"})
	in, err := p.Shape().DecodeJSON([]byte(`{"d":"open"}`))
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: "1", Input: in})
	if err != nil {
		t.Fatal(err)
	}
	got := string(p.Shape().AppendJSON(nil, out.Loaded.Values))
	if want := `{"id":1,"v":"it's \"d\"","d":"open"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	n := 0
	if err := s.Query(t.Context(), "SELECT 1 FROM log WHERE t = 'yes'", nil,
		func(source.StoreRow) error { n++; return nil }); err != nil || n != 1 {
		t.Errorf("the trigger has made %d rows, %v", n, err)
	}
	if err := s.Query(t.Context(), `SELECT "nope" FROM a`, nil, nil); err == nil {
		t.Error("a query took a name for a text")
	}
	run(t, c, "ALTER TABLE a RENAME COLUMN d TO e")
	if _, err := p.Write(t.Context(),
		&source.Write{Op: source.OpReplace, Key: "1", Input: in}); err == nil {
		t.Error("a write took the name of a column that is gone for a text")
	}
}

// All who wait while another program has the file locked are told of that, not only the one
// that asks for the lock.
func TestWrite_AllAreToldOfALock(t *testing.T) {
	path, c := newFile(t, "WAL", "CREATE TABLE a (id integer PRIMARY KEY, n integer)")
	s := openTest(t, path, Options{})
	run(t, c, "BEGIN IMMEDIATE")
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				if err := s.writerNow().begin(ctx, nil); !isBusy(err) {
					t.Errorf("%v, want that the database is locked", err)
				}
			})
		}
		wg.Wait()
		cancel()
	}
	run(t, c, "ROLLBACK")
	if _, err := s.Tx(t.Context(), func(source.StoreTx) error { return nil }); err != nil {
		t.Error(err)
	}
	if busy := s.writerNow().busy.Load(); busy != nil {
		t.Errorf("after the lock: %v", *busy)
	}
}

// TestFeed_FileRewrittenFromOutside: what rewrites the file and fires no trigger makes another
// version of the schema, which is everything.
func TestFeed_FileRewrittenFromOutside(t *testing.T) {
	path, c := newFile(t, "WAL", childSchema...)
	s := openTest(t, path, Options{})
	installLog(t, s, childWatch)
	backup := filepath.Join(t.TempDir(), "backup.db")
	dbtest.SQLiteShell(t, path, ".backup '"+backup+"'")
	f := follow(t, s, childWatch)
	run(t, c, "UPDATE child SET parent = 5 WHERE id = 1")
	f.fence()
	for _, what := range []string{"VACUUM", ".restore '" + backup + "'"} {
		dbtest.SQLiteShell(t, path, what)
		if txs := f.fence(); !all(txs) {
			t.Errorf("%s was told as %+v", what, txs)
		}
	}
}
