package sqlite

import (
	"context"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// TestSQLite_LocksAreNoOutage is about reads and writes that meet another program's lock, and
// whose caller's time runs out first.
func TestSQLite_LocksAreNoOutage(t *testing.T) {
	path, other := newFile(t, "DELETE", "CREATE TABLE a (id integer PRIMARY KEY, n integer)",
		"INSERT INTO a VALUES (1, 1)")
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Name: "a", Table: "a"}).(*plan)
	if _, err := other.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	in, err := p.Shape().DecodeJSON([]byte(`{"n":2}`))
	if err != nil {
		t.Fatal(err)
	}
	for what, fn := range map[string]func(context.Context) error{
		"load": func(ctx context.Context) error {
			_, err := p.Load(ctx, []row.Key{"1"})
			return err
		},
		"list": func(ctx context.Context) error {
			_, err := p.List(ctx, nil, 10)
			return err
		},
		"write": func(ctx context.Context) error {
			_, err := p.Write(ctx, &source.Write{Op: source.OpReplace, Key: "1", Input: in})
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if err := fn(ctx); source.ClassOf(err) != source.Busy {
			t.Errorf("%s: %v", what, err)
		}
		cancel()
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Load(t.Context(), []row.Key{"1"}); err != nil {
		t.Error(err)
	}
}
