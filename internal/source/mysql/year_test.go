package mysql

import (
	"testing"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// TestMariaDB_YearsOfTwoDigits are refused: SQL takes 24 for 2024, and no row shows it so.
func TestMariaDB_YearsOfTwoDigits(t *testing.T) {
	s := newSource(t, "CREATE TABLE t (id int PRIMARY KEY, y year)",
		"INSERT INTO t VALUES (1, 2024), (2, 1999), (3, 0)")
	p := mustCompile(t, s, &source.Spec{Name: "t", Table: "t"})
	for filter, want := range map[string]int{
		"y=eq.2024": 1, "y=gte.2000": 1, "y=in.(1999,2024)": 2, "y=eq.0": 1, "y=eq.3000": 0,
		"y=eq.24": -1, "y=neq.24": -1, "y=gt.99": -1, "y=in.(1999,24)": -1, "y=eq(any).{24,2024}": -1,
	} {
		q, err := query.Parse(filter, p.Table(), query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		found, err := p.Select(t.Context(), q)
		switch {
		case want < 0 && source.ClassOf(err) != source.Invalid:
			t.Errorf("%s: %v, %v", filter, found, err)
		case want >= 0 && (err != nil || len(found.Rows) != want):
			t.Errorf("%s: %v, %v, want %d rows", filter, found, err, want)
		}
	}
}
