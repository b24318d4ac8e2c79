package sqlite

import (
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// SQLite makes a number of what looks like one in a column declared so, and keeps the rest.
func TestWrite_OfTypesThatAreNumbersToSQLite(t *testing.T) {
	for _, native := range []string{"LONG", "UUID", "TIMESTAMPTZ", "DATETIME", "DATE"} {
		path, c := newFile(t, "WAL", "CREATE TABLE t (k "+native+" PRIMARY KEY, v "+native+")",
			"INSERT INTO t VALUES (5, 9007199254740993), ('a', 'b'), (6, -9e999), (7, 1.5)")
		s := openTest(t, path, Options{})
		p := compile(t, s, &source.Spec{Table: "t"})
		write := func(op source.Op, key row.Key, body string) {
			in, err := p.Shape().DecodeJSON([]byte(body))
			if err == nil {
				check := func(old *source.Loaded) error {
					now := *in
					return p.Shape().Keep(in, &now, old.Values)
				}
				if op == source.OpCreate {
					check = nil
				}
				_, err = p.Write(t.Context(), &source.Write{Op: op, Key: key, Input: in, Check: check})
			}
			if err != nil {
				t.Errorf("%s: %s %s: %v", native, key, body, err)
			}
		}
		dump := func() string { return text(t, c, "SELECT group_concat(quote(k) || quote(v)) FROM t") }
		before := dump()
		for _, key := range []row.Key{"5", "a", "6", "7"} {
			loaded, err := p.Load(t.Context(), []row.Key{key})
			if err != nil || !loaded[0].Found() {
				t.Fatal(native, key, loaded, err)
			}
			write(source.OpReplace, key, string(p.Shape().AppendJSON(nil, loaded[0].Values)))
		}
		if after := dump(); after != before {
			t.Errorf("%s: written back unchanged: %s, was %s", native, after, before)
		}
		write(source.OpCreate, "", `{"k":8,"v":2}`)
		if native[0] == 'D' {
			continue // a member that is named as a date is one
		}
		write(source.OpMerge, "8", `{"v":3}`)
		if got := text(t, c, "SELECT quote(k) || quote(v) FROM t WHERE k = 8"); got != "83" {
			t.Errorf("%s: made as %s", native, got)
		}
	}
}
