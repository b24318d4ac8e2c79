package postgres

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
)

// TestPostgres_CompilesManyByOneLookAtTheCatalogue: the catalogue is not asked more often for
// more tables, and each gets what it would get alone: a plan, or its own error.
func TestPostgres_CompilesManyByOneLookAtTheCatalogue(t *testing.T) {
	const tables = 100
	statements := []string{"CREATE EXTENSION pg_stat_statements", "CREATE SCHEMA other",
		"CREATE TABLE other.t1 (id text PRIMARY KEY)", "CREATE VIEW v AS SELECT 1 AS id"}
	for i := range tables {
		statements = append(statements, fmt.Sprintf("CREATE TABLE t%d (id int PRIMARY KEY, v int)", i))
	}
	s := newSource(t, statements...)
	var specs []*source.Spec
	for i := range tables {
		specs = append(specs, &source.Spec{Name: fmt.Sprint("t", i), Table: fmt.Sprint("t", i)})
	}
	specs = append(specs, &source.Spec{Name: "other", Table: "other.t1"},
		&source.Spec{Name: "public", Table: "public.t1"}, &source.Spec{Name: "none", Table: "none"},
		&source.Spec{Name: "v", Table: "v"}, &source.Spec{Name: "bad", Table: "t2",
			Key: []string{"nothing"}})
	looks := func() (n int) {
		t.Helper()
		err := s.read(t.Context(), func(ctx context.Context, conn *pgx.Conn) error {
			return conn.QueryRow(ctx, `SELECT coalesce(sum(calls), 0)::int FROM pg_stat_statements
				WHERE query LIKE '%pg_catalog.pg_class%' AND query NOT LIKE '%pg_stat_statements%'`).Scan(&n)
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := looks()
	plans, errs := s.CompileAll(t.Context(), specs)
	// What cannot be compiled is looked up once more by itself.
	if n := looks() - before; n == 0 || n > 40 {
		t.Errorf("the catalogue was asked %d times for %d tables", n, len(specs))
	}
	for i, spec := range specs {
		p, err := s.Compile(t.Context(), spec)
		if fmt.Sprint(err) != fmt.Sprint(errs[i]) {
			t.Errorf("%s: %v, and alone %v", spec.Name, errs[i], err)
		}
		if err != nil {
			continue
		}
		one, all := p.(*plan), plans[i].(*plan)
		if one.one.SQL != all.one.SQL || one.many.SQL != all.many.SQL || one.Deps()[0].Table != all.Deps()[0].Table {
			t.Errorf("%s: %s, and alone %s", spec.Name, all.one.SQL, one.one.SQL)
		}
	}
	if errs[tables] != nil || errs[tables+2] == nil || errs[tables+4] == nil {
		t.Errorf("errors: %v", errs[tables:])
	}
}
