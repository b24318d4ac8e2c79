package postgres

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

func TestMain(m *testing.M) {
	waittest.SideBySide(4)
	goleak.VerifyTestMain(dbtest.Wrap(m))
}

// openSource opens the database that url names until the test ends.
func openSource(t testing.TB, url string, o Options) *Source {
	t.Helper()
	s, err := Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newSource opens a new database in which the statements have been run.
func newSource(t testing.TB, statements ...string) *Source {
	t.Helper()
	s := openSource(t, dbtest.Postgres(t), Options{})
	mustExec(t, s, statements...)
	return s
}

func mustExec(t testing.TB, s *Source, statements ...string) {
	t.Helper()
	if err := s.Exec(context.Background(), statements...); err != nil {
		t.Fatal(err)
	}
}

func mustCompile(t testing.TB, s *Source, spec *source.Spec) *plan {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "test"
	}
	p, err := s.Compile(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*plan)
}

func mustLoad(t testing.TB, p *plan, keys ...row.Key) []source.Loaded {
	t.Helper()
	loaded, err := p.Load(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) != len(keys) {
		t.Fatalf("%d documents for %d keys", len(loaded), len(keys))
	}
	return loaded
}

// jsonOf returns a document as JSON, or "absent".
func jsonOf(p *plan, l source.Loaded) string {
	if !l.Found() {
		return "absent"
	}
	return string(p.Shape().AppendJSON(nil, l.Values))
}

// scott is the schema of the examples: depts with their emps.
var scott = []string{
	`CREATE TABLE dept (deptno int PRIMARY KEY, dname text, loc text)`,
	`CREATE TABLE emp (empno int PRIMARY KEY, ename text, job text, mgr int, hiredate date,
		sal int, comm int, deptno int REFERENCES dept)`,
	`CREATE INDEX ON emp (deptno)`,
	`INSERT INTO dept VALUES (10, 'ACCOUNTING', 'NEW YORK'), (20, 'RESEARCH', NULL),
		(30, 'SALES', 'CHICAGO')`,
	`INSERT INTO emp VALUES (7839, 'KING', 'PRESIDENT', NULL, '1981-11-17', 5000, NULL, 10),
		(7782, 'CLARK', 'MANAGER', 7839, '1981-06-09', 2450, NULL, 10),
		(7788, 'SCOTT', 'ANALYST', 7566, '1982-12-09', 3000, NULL, 20)`,
}

// deptSpec is dept with its emps in it.
func deptSpec() *source.Spec {
	return &source.Spec{
		Name: "depts", Table: "dept",
		Fields: map[string]source.FieldSpec{
			"deptno": {Name: "deptNumber"},
			"dname":  {Name: "deptName", Required: true},
			"loc":    {Name: "deptLocation"},
		},
		Embeds: []source.Embed{{
			Name: "emps", On: []string{"deptno"}, Order: []string{"empno"},
			Spec: &source.Spec{
				Name: "emps", Table: "emp", Only: true,
				Fields: map[string]source.FieldSpec{
					"empno": {Name: "empNo"}, "ename": {Name: "empName"},
					"mgr": {OmitNull: true}, "hiredate": {RFC3339: true}, "sal": {},
				},
			},
		}},
	}
}
