package postgres

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
)

// TestPostgres_StatementsDoNotGrowWithTables: what compiles and checks resources asks the
// catalogue of all of them together; for a plan the server only parses and plans what is the
// plan's own.
func TestPostgres_StatementsDoNotGrowWithTables(t *testing.T) {
	count := func(tables int) int {
		var b strings.Builder
		b.WriteString("CREATE EXTENSION pg_stat_statements;")
		var specs []*source.Spec
		for i := range tables {
			fmt.Fprintf(&b, "CREATE TABLE t%d (id int PRIMARY KEY, up int REFERENCES t%d);", i,
				max(0, i-1))
			specs = append(specs, &source.Spec{Name: fmt.Sprintf("t%d", i),
				Table: fmt.Sprintf("t%d", i), Embeds: []source.Embed{{Name: "below",
					Spec: &source.Spec{Table: fmt.Sprintf("t%d", i)}, On: []string{"up"}}}})
		}
		url := dbtest.Postgres(t, dbtest.Setup(b.String()))
		s := openSource(t, url, Options{})
		plans, errs := s.CompileAll(t.Context(), specs)
		for i, err := range errs {
			if err != nil {
				t.Fatalf("%s: %v", specs[i].Name, err)
			}
		}
		findings, errs := s.CheckAll(t.Context(), plans)
		for i, err := range errs {
			if err != nil || len(findings[i]) == 0 {
				t.Fatalf("%s: %v, %v", specs[i].Name, findings[i], err)
			}
		}
		asked := dbtest.Psql(t, url, `SELECT sum(calls) FROM pg_stat_statements s
			JOIN pg_database d ON d.oid = s.dbid AND d.datname = current_database()
			WHERE query ~ 'pg_catalog|pg_class'`)
		n, err := strconv.Atoi(asked)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	// Each connection asks some of its own.
	if few, many := count(5), count(60); many > few+40 {
		t.Errorf("%d statements of the catalogue for 60 tables, and %d for 5", many, few)
	}
}
