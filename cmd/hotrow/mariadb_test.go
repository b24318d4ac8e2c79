package main

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// mariadbSQL has keys whose spelling is not unique, and what is not shown.
const mariadbSQL = `
CREATE TABLE dept (deptno int PRIMARY KEY, dname text);
CREATE TABLE emp (empno int PRIMARY KEY, ename text, sal int, deptno int REFERENCES dept (deptno));
INSERT INTO dept VALUES (10, 'ACCOUNTING'), (20, 'RESEARCH');
INSERT INTO emp VALUES (7839, 'KING', 5000, 10);
CREATE TABLE thing (id uuid PRIMARY KEY, name text);
INSERT INTO thing VALUES ('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'old');
CREATE TABLE person (name varchar(40) PRIMARY KEY, mail text, password text);
INSERT INTO person VALUES ('alice', 'old', 'sesame');
CREATE TABLE nokey (a int);`

// A foreign change shows soon in every document that it touches, through every
// spelling of the key, for a hit and for a 404.
func TestMariaDB_ServeShowsForeignChanges(t *testing.T) {
	t.Parallel()
	url := strings.Replace(dbtest.MariaDB(t, dbtest.Setup(mariadbSQL)), "mysql:", "mariadb:", 1)
	out := mustCommand(t, "doctor", url)
	if !strings.Contains(out, "binlog_format is ROW") {
		t.Errorf("doctor says %s", out)
	}
	if out := mustCommand(t, "init", url); !strings.Contains(out, "person") {
		t.Errorf("init says %s", out)
	}
	r := serve(t, url)
	r.spells(`[\w-]+\.\d{6}:\d+`, "/emp/7839")
	const id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
	steps := []struct {
		sql   string
		shows map[string]string
	}{
		{"UPDATE emp SET sal = 1234 WHERE empno = 7839",
			map[string]string{"/emp/7839": "1234", "/emp/07839": "1234"}},
		{"INSERT INTO emp (empno, ename, deptno) VALUES (1, 'NEW', 10)",
			map[string]string{"/emp/1": "NEW", "/emp/001": "NEW"}},
		{"DELETE FROM emp WHERE empno = 1", map[string]string{"/emp/1": ""}},
		{"UPDATE thing SET name = 'new'",
			map[string]string{"/thing/" + id: "new", "/thing/" + strings.ToUpper(id): "new"}},
		{"UPDATE person SET mail = 'new'",
			map[string]string{"/person/alice": "new", "/person/ALICE": "new"}},
		{"INSERT INTO person VALUES ('Bob', 'new', '')",
			map[string]string{"/person/Bob": "new", "/person/bob": "new", "/person/BOB": "new"}},
		{"TRUNCATE person", map[string]string{"/person/alice": "", "/person/ALICE": "",
			"/person/Bob": ""}},
		{"ALTER TABLE dept ADD COLUMN loc text DEFAULT 'OSLO'",
			map[string]string{"/dept/10": "OSLO"}},
	}
	for _, s := range steps {
		for path := range s.shows {
			r.ask(path)
		}
		dbtest.MariaDBShell(t, url, s.sql)
		for path, part := range s.shows {
			r.shows(path, part, 10*showBound)
		}
	}
	if a := r.get("/person/alice"); strings.Contains(a.body, "sesame") {
		t.Errorf("a password is shown: %s", a.body)
	}
}
