package sqlite

import (
	"slices"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sourcetest"
)

// The pre-update hook has no values of virtual columns: where one of them is in the way, or
// watched, a write changes the whole table. Others may write after it.
func TestWrite_OfTablesWithVirtualColumns(t *testing.T) {
	for _, tc := range []struct {
		name, columns string
		watch         []string
		key           row.Key
		whole         bool // the table counts as changed
	}{
		{"first, a text as key", "g text AS (upper(v)), id text PRIMARY KEY, v text, n int",
			[]string{"id"}, "1", true},
		{"first, a key of two", "g text AS (upper(v)), id int, v text, n int, PRIMARY KEY (id, v)",
			[]string{"id", "v"}, "1,x", true},
		{"first, an integer as key", "g text AS (upper(v)), id integer PRIMARY KEY, v text, n int",
			[]string{"id"}, "1", true},
		{"in the middle", "id text PRIMARY KEY, g text AS (upper(v)), v text UNIQUE, n int",
			[]string{"v"}, "x", false},
		{"watched", "id text PRIMARY KEY, v text, g text AS (upper(v)) UNIQUE, n int",
			[]string{"g"}, "X", true},
		{"stored", "g text AS (upper(v)) STORED, id text PRIMARY KEY, v text, n int",
			[]string{"id"}, "1", false},
	} {
		for _, end := range []string{"", " WITHOUT ROWID"} {
			t.Run(tc.name+end, func(t *testing.T) {
				path, other := newFile(t, "WAL", "CREATE TABLE t ("+tc.columns+")"+end,
					"INSERT INTO t (id, v) VALUES (1, 'x'), (2, 'y')")
				s := openTest(t, path, Options{})
				p := compile(t, s, &source.Spec{Table: "t", Key: tc.watch})
				f := follow(t, s, []source.Watched{{Table: "t", Columns: tc.watch}})
				in, err := p.Shape().DecodeJSON([]byte(`{"n":5}`))
				if err != nil {
					t.Fatal(err)
				}
				w := &source.Write{Op: source.OpMerge, Key: tc.key, Input: in}
				if _, err := p.Write(t.Context(), w); err != nil {
					t.Fatal(err)
				}
				for _, tx := range f.fence() {
					if slices.Contains(tx.Tables, "t") != tc.whole || tc.whole == (len(tx.Changes) > 0) {
						t.Errorf("the feed has told %s", sourcetest.Text(tx))
					}
				}
				run(t, other, "UPDATE t SET n = 6") // the lock is free
			})
		}
	}
}
