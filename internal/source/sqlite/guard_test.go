package sqlite

import (
	"errors"
	"strings"
	"testing"
	"time"

	lists "github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// A query that is run although no index answers it is given up after a time, and refused.
func TestGuard_GivesUpWhatTakesLong(t *testing.T) {
	defer func(was time.Duration) { dialect.Filters.Limit = was }(dialect.Filters.Limit)
	path, _ := newFile(t, "WAL", `CREATE TABLE large (id integer PRIMARY KEY, n integer,
		m integer AS (length(hex(zeroblob(5000 + n))) - 10000 - n) VIRTUAL)`,
		`INSERT INTO large WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL
			SELECT x + 1 FROM c WHERE x < 20000) SELECT x, x FROM c`)
	s := openTest(t, path, Options{})
	plan, err := s.Compile(t.Context(), &source.Spec{Name: "large", Table: "large", Unguarded: true})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(raw string) (*source.Selected, error) {
		q, err := lists.Parse(raw, plan.Table(), lists.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return plan.Select(t.Context(), q)
	}
	if found, err := ask("n=eq.7&select=id"); err != nil || len(found.Rows) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	dialect.Filters.Limit = 50 * time.Millisecond // all rows take a second
	_, err = ask("m=eq.7&select=id")
	dialect.Filters.Limit = time.Minute
	var refused *lists.Error
	if !errors.As(err, &refused) || refused.Code != lists.CodeUnindexed ||
		!strings.HasPrefix(refused.Message, "the query was given up: no index of large answers") {
		t.Errorf("%v", err)
	}
	if found, err := ask("n=eq.8&select=id"); err != nil || len(found.Rows) != 1 {
		t.Errorf("then: %v, %v", found, err)
	}
}
