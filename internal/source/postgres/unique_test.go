package postgres

import (
	"testing"

	"github.com/hotrow/hotrow/internal/source"
)

// TestPostgres_UniqueValueOfAnotherRow: a row that is made anew cannot have it, whatever the
// write; only who else makes the same row meanwhile is a reason to try again.
func TestPostgres_UniqueValueOfAnotherRow(t *testing.T) {
	s := newSource(t, "CREATE TABLE t (id int PRIMARY KEY, u int UNIQUE)", "INSERT INTO t VALUES (1, 1)")
	p := mustCompile(t, s, &source.Spec{Table: "t"})
	_, err := p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: "2",
		Input: input(t, p, `{"u":1}`)})
	if source.ClassOf(err) != source.Conflict {
		t.Errorf("a PUT with another row's value: %v", err)
	}
}
