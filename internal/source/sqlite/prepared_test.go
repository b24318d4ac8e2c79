package sqlite

import (
	"testing"

	driverpkg "modernc.org/sqlite"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// After an ANALYZE, SQLite would plan a statement anew for every other value that is compared
// with a column of an index.
func TestSQLite_KeysOfAnyValueArePreparedOnce(t *testing.T) {
	path, _ := newFile(t, "WAL",
		"CREATE TABLE parent (code text PRIMARY KEY, note text)",
		"CREATE TABLE child (id integer PRIMARY KEY, parent text, note text)",
		"CREATE INDEX child_parent ON child (parent)",
		"WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"+
			" INSERT INTO parent SELECT 'p' || i, 'note' FROM n",
		"INSERT INTO child (parent, note) SELECT 'p' || (rowid % 50 + 1), note FROM parent",
		"ANALYZE")
	s := openTest(t, path, Options{Readers: 1})
	p := compile(t, s, &source.Spec{Table: "parent", Embeds: []source.Embed{
		{Name: "children", On: []string{"parent"}, Spec: &source.Spec{Table: "child"}}}})
	write := func(key row.Key) {
		in, err := p.Shape().DecodeJSON([]byte(`{"note":"other"}`))
		if err == nil {
			w := &source.Write{Op: source.OpMerge, Key: key, Input: in}
			_, err = p.Write(t.Context(), w)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func(keys ...row.Key) {
		if all, err := p.Load(t.Context(), keys); err != nil || !all[0].Found() {
			t.Fatalf("Load: %v, %v", all, err)
		}
	}
	var prepared int
	count := func(driverpkg.AuthorizerActionCode, string, string, string,
		string) driverpkg.AuthorizerReturnCode {
		prepared++
		return driverpkg.AuthorizerOK
	}
	err := s.readers.use(t.Context(), func(c *conn) error { return c.c.RegisterAuthorizer(count) })
	if err == nil {
		err = s.writer.c.c.RegisterAuthorizer(count)
	}
	if err != nil {
		t.Fatal(err)
	}
	read("p1")
	read("p1", "p2", "p3")
	write("p1")
	if prepared == 0 {
		t.Fatal("nothing is counted")
	}
	prepared = 0
	read("p7")
	read("p8", "p9", "p1")
	write("p10")
	if prepared > 0 {
		t.Errorf("statements were prepared again: %d questions about them", prepared)
	}
}
