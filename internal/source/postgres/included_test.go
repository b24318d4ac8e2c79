package postgres

import (
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
)

// TestPostgres_CatalogForgetsHeirsThatAreGone: pg_class says of a table that it has or
// once had heirs, until it is vacuumed.
func TestPostgres_CatalogForgetsHeirsThatAreGone(t *testing.T) {
	s := newSource(t, "CREATE TABLE parent (a int PRIMARY KEY)",
		"CREATE TABLE heir () INHERITS (parent)", "DROP TABLE heir")
	c, err := s.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if table, ok := c.Table("parent"); !ok || table.Refused != "" {
		t.Errorf("a table without heirs is refused: %+v", table)
	}
}

// TestPostgres_IncludedColumnsAreNotLogged: of an index that is the replica identity the
// log has the old values of its key, not of what it only includes.
func TestPostgres_IncludedColumnsAreNotLogged(t *testing.T) {
	const schema = `CREATE TABLE emp (empno int PRIMARY KEY, deptno int NOT NULL, n int NOT NULL);
		CREATE UNIQUE INDEX emp_incl ON emp (empno) INCLUDE (deptno);
		INSERT INTO emp VALUES (1, 10, 1)`
	watched := []source.Watched{{Table: "public.emp", Columns: []string{"empno", "deptno"}}}
	f := follow(t, dbtest.Postgres(t), schema, source.FeedLogical, watched)
	says := func() string {
		t.Helper()
		findings, err := doctor(t.Context(), sourceOf(t, f.url), source.FeedLogical, watched)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(findings, func(f source.Finding) bool {
			return strings.Contains(f.Text, "old value of deptno")
		})
		if i < 0 {
			t.Fatalf("nothing is said of deptno: %+v", findings)
		}
		return strings.Join(findings[i].Apply, "; ")
	}
	if apply := says(); strings.Contains(apply, "emp_incl") {
		t.Errorf("an index that only includes deptno is proposed: %s", apply)
	}
	f.exec("ALTER TABLE emp REPLICA IDENTITY USING INDEX emp_incl")
	f.fence()
	says() // the identity is that index now: deptno stays unknown
	f.want("UPDATE emp SET deptno = 20", "emp U (empno=1)->(empno=1 deptno=20)")

	f.exec("CREATE UNIQUE INDEX emp_both ON emp (empno, deptno) INCLUDE (n)")
	if apply := says(); !strings.Contains(apply, "emp_both") {
		t.Errorf("an index with deptno in its key is not proposed: %s", apply)
	}
}
