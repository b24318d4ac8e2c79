package sqlite

import (
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	lists "github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// TestSQLite_EncodingsOfFiles reads, finds, writes and follows texts of files that do not store
// UTF-8.
func TestSQLite_EncodingsOfFiles(t *testing.T) {
	for _, encoding := range []string{"UTF-8", "UTF-16le", "UTF-16be"} {
		path := dbtest.SQLite(t)
		dbtest.SQLiteShell(t, path, "PRAGMA encoding = '"+encoding+"'; PRAGMA journal_mode = wal;"+
			`CREATE TABLE "té" (k text PRIMARY KEY, "cü" text COLLATE NOCASE, j json);
			INSERT INTO "té" VALUES ('日é', 'É😀x', '{"a":"é"}');`)
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		p := compile(t, s, &source.Spec{Name: "t", Table: "té"}).(*plan)
		f := follow(t, s, []source.Watched{{Table: "té", Columns: []string{"k", "cü"}}})
		const want = `{"k":"日é","cü":"É😀x","j":{"a":"é"}}`
		if _, got := load(t, p, "日é"); got != want {
			t.Errorf("%s: %s", encoding, got)
		}
		for _, filter := range []string{"c%C3%BC=eq.%C3%89%F0%9F%98%80X", "c%C3%BC=like.*%F0%9F%98%80*"} {
			q, err := lists.Parse(filter, p.Table(), lists.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if found, err := p.Select(t.Context(), q); err != nil || len(found.Rows) != 1 {
				t.Errorf("%s: %s: %v, %v", encoding, filter, found, err)
			}
		}
		in, err := p.Shape().DecodeJSON([]byte(`{"k":"日é","cü":"ü日","j":null}`))
		if err != nil {
			t.Fatal(err)
		}
		done, err := p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: "日é", Input: in})
		if err != nil || done.Loaded.Key != "日é" {
			t.Errorf("%s: %v", encoding, err)
		}
		if told := keys(f.fence(), "k"); !told[row.Key("日é")] {
			t.Errorf("%s: told %v", encoding, told)
		}
		if got := dbtest.SQLiteShell(t, path, `SELECT "cü" FROM "té"`); got != "ü日" {
			t.Errorf("%s: stored %q", encoding, got)
		}
	}
}
