package sqlite

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// SQLite takes a quoted name that is no column for a text: a statement for the
// row of one key would then be one for every row.
func TestPlan_RenamedKeyTouchesNoRow(t *testing.T) {
	path, other := newFile(t, "WAL", "CREATE TABLE t (k TEXT PRIMARY KEY, a)",
		"INSERT INTO t VALUES ('k', 1), ('x', 2), ('y', 3)")
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Table: "t"})
	if _, err := other.ExecContext(t.Context(), "ALTER TABLE t RENAME k TO kk"); err != nil {
		t.Fatal(err)
	}
	if found, err := p.Load(t.Context(), []row.Key{"k"}); err == nil {
		t.Errorf("Load of a column that is gone = %+v, want an error", found)
	}
	_, err := p.Write(t.Context(), &source.Write{Op: source.OpDelete, Key: "k"})
	if err == nil {
		t.Error("a delete by a column that is gone has succeeded")
	}
	var n int
	if err := other.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil || n != 3 {
		t.Errorf("%d rows are left, %v; want 3", n, err)
	}
}

func TestPlan_ListedRowOfAnotherDocumentIsRefused(t *testing.T) {
	path, _ := newFile(t, "WAL", "CREATE TABLE d (id INTEGER PRIMARY KEY)",
		"CREATE TABLE e (id INTEGER PRIMARY KEY, d INTEGER)", "INSERT INTO d VALUES (1), (2)")
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Table: "d", Embeds: []source.Embed{
		{Name: "es", Spec: &source.Spec{Table: "e"}, On: []string{"d"}}}})
	in, err := p.Shape().DecodeJSON([]byte(`{"id":1,"es":[{"id":7,"d":2}]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: "1", Input: in})
	if source.ClassOf(err) != source.Invalid || !strings.Contains(err.Error(), "cannot be") {
		t.Errorf("Write = %v, want that d cannot be 2 here", err)
	}
}
