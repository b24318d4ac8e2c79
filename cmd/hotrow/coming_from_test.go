//go:build unix

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// pageFile returns the configuration of a page of docs/howto with another database, as
// a file, on ports of its own.
func pageFile(t *testing.T, page, url, database string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/howto/" + page)
	if err != nil {
		t.Fatal(err)
	}
	_, yaml, _ := strings.Cut(string(text), "```yaml\n")
	yaml, _, ok := strings.Cut(yaml, "```")
	if !ok || !strings.Contains(yaml, url) {
		t.Fatalf("%s has no configuration with %s", page, url)
	}
	return configFile(t, strings.Replace(yaml, url, database, 1))
}

// wants checks the body of a document.
func (r *running) wants(path, want string) {
	r.t.Helper()
	if code, body := get(r.t, r.http+path); code != http.StatusOK || strings.TrimSpace(body) != want {
		r.t.Errorf("%s: %d %s\nwant %s", path, code, body, want)
	}
}

// The page for those who come from resttest serves its documents, and a PUT leaves the
// employees that it does not list.
func TestComingFrom_Resttest(t *testing.T) {
	t.Parallel()
	db := dbtest.Postgres(t, dbtest.Setup(`
CREATE TABLE dept (deptno int PRIMARY KEY, dname text, loc text);
CREATE TABLE emp (empno int PRIMARY KEY, ename text, job text, mgr int REFERENCES emp, hiredate date, sal int,
	comm int, deptno int REFERENCES dept);
CREATE INDEX ON emp (deptno);
INSERT INTO dept VALUES (10, 'ACCOUNTING', 'NEW YORK');
INSERT INTO emp VALUES (7839, 'KING', 'PRESIDENT', NULL, '1981-11-17', 5000, NULL, 10),
	(7782, 'CLARK', 'MANAGER', 7839, '1981-06-09', 2450, NULL, 10);`))
	file := pageFile(t, "coming-from-resttest.md", "postgres://test_user@localhost/test_database", db)
	mustCommand(t, "check", "-c", file)
	r := serve(t, "-c", file)
	const clark = `{"empNo":7782,"empName":"CLARK","job":"MANAGER","mgr":7839,"hiredate":"1981-06-09T00:00:00Z",` +
		`"sal":2450,"deptNumber":10}`
	const king = `{"empNo":7839,"empName":"KING","job":"PRESIDENT","hiredate":"1981-11-17T00:00:00Z","sal":5000,` +
		`"deptNumber":10}`
	const dept = `{"deptNumber":10,"deptName":"ACCOUNTING","deptLocation":"NEW YORK","emps":[` +
		clark + `,` + king + `]}`
	for _, path := range []string{"/depts/10", "/deptemps/10", "/depts/random"} {
		r.wants(path, dept)
	}
	const nulls = `{"deptNumber":50,"deptName":"NULLS","emps":[{"empNo":9001,"deptNumber":50}]}`
	dbtest.Psql(t, db, "INSERT INTO dept VALUES (50, 'NULLS', NULL); INSERT INTO emp (empno, deptno) VALUES (9001, 50)")
	until(t, r.log, func() bool {
		_, body := get(t, r.http+"/deptemps/50")
		return strings.TrimSpace(body) == nulls // so does resttest
	})
	dbtest.Psql(t, db, "DELETE FROM emp WHERE deptno = 50; DELETE FROM dept WHERE deptno = 50")
	r.wants("/depts/emps/7782", clark)
	send := func(method, path, body string, want int) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, r.http+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s %s: %s, want %d", method, path, resp.Status, want)
		}
	}
	before := dbtest.Psql(t, db, "SELECT * FROM dept; SELECT * FROM emp ORDER BY empno")
	send("PUT", "/depts/random", "null", 200) // as its scripts do
	if after := dbtest.Psql(t, db, "SELECT * FROM dept; SELECT * FROM emp ORDER BY empno"); after != before {
		t.Errorf("a document that is written back changes the tables:\n%s\n%s", before, after)
	}
	raised := strings.Replace(clark, "2450", "2500", 1)
	send("PUT", "/depts", `{"deptNumber":10,"deptName":"BOOKS","deptLocation":null,"emps":[`+raised+`]}`, 200)
	r.wants("/depts/10", `{"deptNumber":10,"deptName":"BOOKS","emps":[`+raised+`,`+king+`]}`)
	send("PUT", "/depts", `{"deptNumber":11,"deptName":"NONE","emps":[]}`, 404)
	send("POST", "/depts", `{"deptNumber":20,"deptName":"NEW","deptLocation":null,"emps":[`+
		`{"empNo":1,"empName":"A","job":null,"mgr":7839,"hiredate":null,"sal":1,"comm":null,"deptNumber":20}]}`, 201)
	send("POST", "/depts", `{"deptNumber":20,"deptName":"NEW","emps":[]}`, 409)
	send("POST", "/depts/emps", `{"empNo":2,"empName":"B","deptNumber":20}`, 201)
	if _, body := get(t, r.http+"/deptemps/20"); strings.Count(body, "empNo") != 2 {
		t.Errorf("/deptemps/20: %s", body)
	}
}

// The page for those who come from go-rest-api-server serves its two bodies, without the
// key, and follows what others write.
func TestComingFrom_GoRestAPIServer(t *testing.T) {
	t.Parallel()
	db := dbtest.MariaDB(t, dbtest.Setup(`CREATE TABLE user (id varchar(32) PRIMARY KEY, name varchar(256),
	mail varchar(1024), c3 int, c4 bigint unsigned, c5 int);
INSERT INTO user VALUES ('1', 'name1', 'mail1@example.com', 0, 0, 0), ('2', 'name2', 'mail2@example.com', 0, 0, 0);`))
	r := serve(t, "-c", pageFile(t, "coming-from-go-rest-api-server.md", "mysql://root@localhost/test", db))
	r.wants("/user/1", `{"name":"name1","mail":"mail1@example.com"}`)
	r.wants("/user/1?format=msgpack", "\x82\xa4name\xa5name1\xa4mail\xb1mail1@example.com")
	dbtest.MariaDBShell(t, db, "UPDATE user SET name = 'new' WHERE id = '2'")
	until(t, r.log, func() bool {
		_, body := get(t, r.http+"/user/2")
		return body == `{"name":"new","mail":"mail2@example.com"}`
	})
}

// The command of the page for those who come from chocon starts, and takes its clients.
func TestComingFrom_Chocon(t *testing.T) {
	text, err := os.ReadFile("../../docs/howto/coming-from-chocon.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^    hotrow proxy (.*)$`).FindStringSubmatch(string(text))
	if line == nil {
		t.Fatal("the page has no command")
	}
	dir := t.TempDir()
	args := strings.Fields(strings.NewReplacer("-p 3000 ", "", "/var/log/chocon", dir,
		"/run/chocon.pid", filepath.Join(dir, "pid")).Replace(line[1]))
	up := strings.TrimPrefix(hello(t), "http://127.0.0.1")
	ask := func(url string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/items", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "127.0.0.1.ccnproxy.local" + up
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	url, _, stop := startProxy(t, args...)
	if code := ask(url); code != http.StatusForbidden {
		t.Errorf("an upstream on this machine: %d", code)
	}
	stop()
	url, _, _ = startProxy(t, append(args, "--allow-address", "127.0.0.0/8")...)
	if code := ask(url); code != http.StatusOK {
		t.Errorf("with --allow-address: %d", code)
	}
}

// The configuration of the page for those who come from gofast lets its perf be answered.
func TestComingFrom_Gofast(t *testing.T) {
	mustCommand(t, "check", "-c", pageFile(t, "coming-from-gofast.md", "127.0.0.1:9900", "127.0.0.1:0"))
}
