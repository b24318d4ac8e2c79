package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A list says why a request for it would miss, and saying it changes nothing: it is not
// read, kept or counted.
func TestGet_ExplainsLists(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "emps.db")
	dbtest.SQLiteShell(t, db, `CREATE TABLE dept (deptno INTEGER PRIMARY KEY, dname TEXT);
		INSERT INTO dept VALUES (10, 'A'), (20, 'B');
		CREATE TABLE emp (empno INTEGER PRIMARY KEY, deptno INTEGER REFERENCES dept, sal INTEGER);
		CREATE INDEX emp_deptno ON emp (deptno);
		INSERT INTO emp VALUES (1, 10, 800), (2, 10, 900), (3, 20, 700)`)
	r := serve(t, db, "--writable")
	const list = "/emp?deptno=eq.10&order=sal"
	explain := func(path string, args ...string) string {
		t.Helper()
		return mustCommand(t, append([]string{"get", path, "--explain", "--ops", r.ops}, args...)...)
	}
	says := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("no %q in\n%s", part, text)
			}
		}
	}
	lines := func() (all []string) { // but of audits, which read the database when it is their turn
		_, metrics := get(t, r.ops+"/metrics")
		for line := range strings.Lines(metrics) {
			if strings.HasPrefix(line, "hotrow_cache_list") ||
				strings.HasPrefix(line, `hotrow_db_query_duration_seconds_count{op="list"`) {
				all = append(all, line)
			}
		}
		return all
	}
	for range 5 {
		says(explain(list), "key       ?deptno=eq.10&order=sal", "absent", "told apart from the next read",
			"not known yet")
	}
	if text := strings.Join(lines(), ""); strings.Contains(text, `op="list"`) ||
		strings.Contains(text, `result="absent",source="main"} 1`) ||
		!strings.Contains(text, `templates{source="main"} 0`) {
		t.Errorf("after explanations alone:\n%s", text)
	}
	r.get(list)
	says(explain(list), "once", "found by the index on (deptno)")
	r.hit(list)
	before := strings.Join(lines(), "")
	says(explain(list), "hit", "2 rows", "found by its bytes", "depends   on deptno=10\n",
		"emp deptno=10 (slot ")
	says(explain("emp?sal=gt.1"), "the table is small; a large one would be refused: ")
	says(explain("emp?order=sal.asc&deptno=eq.010"), "hit", "parsed first")
	if after := strings.Join(lines(), ""); after != before {
		t.Errorf("explanations are counted:\n%s\n%s", before, after)
	}
	if a := r.do("PATCH", "/emp/1", `{"sal":850}`, "Content-Type: application/json"); a.code/100 != 2 {
		t.Fatalf("PATCH: %d %s", a.code, a.body)
	}
	for end := waittest.Deadline(30 * time.Second); ; {
		text := explain(list)
		if strings.Contains(text, "memory    moved") {
			says(text, "moved\n", "still\n")
			break
		}
		if time.Now().After(end) {
			t.Fatalf("after a write:\n%s", text)
		}
	}
	says(explain("emp?sal=gt.1&order=sal"), "on any row of its table: no filter asks for equality")
	says(explain("emp?limit=2"), "it is a page of all rows")
	const embedding = "emp?deptno=eq.20&select=empno,dept(dname)"
	r.hit("/" + embedding)
	says(explain(embedding), "hit", "found by its bytes", "emp deptno=20 (slot",
		"rows of dept within its documents, by (deptno)\n", "the definition of dept")
	const inner = "emp?deptno=eq.20&select=empno,dept!inner(dname)"
	r.hit("/" + inner)
	says(explain(inner), "any row of dept: clock", "rows of dept within its documents: any row of it")
	says(explain("emp"), "it is a page of all rows")
	says(explain("emp?empno=in.(1,2)"), "documents", "/emp/1: not kept")
	for path, want := range map[string]string{
		"emp?nope=eq.1": "nope does not exist", "nope?a=eq.1": "no such resource",
		"emp?format=x": "format must be",
	} {
		code, _, stderr := command(t, "get", path, "--explain", "--ops", r.ops)
		if code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, %s", path, code, stderr)
		}
	}
}
