package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/demo"
)

// keysSQL has keys whose spelling is not unique.
const keysSQL = `
CREATE EXTENSION citext;
CREATE TABLE thing (id uuid PRIMARY KEY, name text);
INSERT INTO thing VALUES ('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'old');
CREATE TABLE person (name citext PRIMARY KEY, mail text);
INSERT INTO person VALUES ('alice', 'old');
CREATE TABLE word (w text PRIMARY KEY, n int);
INSERT INTO word VALUES ('naïve/50%', 0);
CREATE TABLE account (id int PRIMARY KEY, name text, password text, api_key text);
INSERT INTO account VALUES (1, 'a', 'sesame', 'k');
CREATE TABLE nokey (a int);`

// A foreign change shows within 50 ms in every document that it touches,
// through every spelling of the key, for a hit and for a 404.
func TestPostgres_ServeShowsForeignChanges(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"logical", "notify"} {
		t.Run(mode, func(t *testing.T) {
			url := dbtest.Postgres(t, dbtest.Setup(demo.PostgresSQL(), keysSQL))
			mustCommand(t, "doctor", url, "--feed", mode, "--apply")
			r := serve(t, url, "--feed", mode)
			r.spells(`[0-9A-F]+/[0-9A-F]+`, "/emp/7839")
			changes(t, r, func(sql string) { dbtest.Psql(t, url, sql) })
			r.stop()
			mustCommand(t, "doctor", url, "--feed", mode, "--remove")
			left := dbtest.Psql(t, url, `SELECT count(*) FROM pg_publication;
				SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal;
				SELECT count(*) FROM pg_proc WHERE proname LIKE 'hotrow%'`)
			if strings.Join(strings.Fields(left), " ") != "0 0 0" {
				t.Errorf("doctor --remove has left something behind: %s", left)
			}
		})
	}
}

// spells fails unless positions are spelled in one way, the database's own, wherever they are
// shown to people.
func (r *running) spells(pattern, path string) {
	r.t.Helper()
	r.hit(path)
	_, feeds := get(r.t, r.ops+"/-/feed")
	_, copied := get(r.t, r.ops+"/-/inspect?path="+path)
	_, _, explained := command(r.t, "get", path, "--explain", "--server", r.http, "--ops", r.ops)
	for _, shown := range []struct{ where, text, before, after string }{
		{"the log", r.log.String(), `feed attached[^\n]*position"?[=:]"?`, `["\s,]`},
		{"/-/feed", feeds, `"position": ?"`, `"`},
		{"/-/inspect", copied, `"position": ?"`, `"`},
		{"--explain", explained, `includes  `, `, `},
	} {
		if !regexp.MustCompile(shown.before + pattern + shown.after).MatchString(shown.text) {
			r.t.Errorf("%s has no position like %s:\n%s", shown.where, pattern, shown.text)
		}
	}
}

func changes(t *testing.T, r *running, psql func(string)) {
	const id, upper = "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"
	const newID = "00000000-0000-0000-0000-00000000000A"
	steps := []struct {
		sql   string
		shows map[string]string
	}{
		{"UPDATE emp SET sal = 1234 WHERE empno = 7839",
			map[string]string{"/emp/7839": "1234", "/emp/07839": "1234", "/emp/%37839": "1234"}},
		{"INSERT INTO emp (empno, ename, deptno) VALUES (1, 'NEW', 10)",
			map[string]string{"/emp/1": "NEW", "/emp/001": "NEW"}},
		{"DELETE FROM emp WHERE empno = 1", map[string]string{"/emp/1": ""}},
		{"UPDATE thing SET name = 'new'",
			map[string]string{"/thing/" + id: "new", "/thing/" + upper: "new",
				"/thing/%7B" + upper + "%7D": "new"}},
		{"INSERT INTO thing VALUES ('" + newID + "', 'second')",
			map[string]string{"/thing/" + newID: "second", "/thing/" + strings.ToLower(newID): "second"}},
		{"UPDATE person SET mail = 'new'",
			map[string]string{"/person/alice": "new", "/person/ALICE": "new"}},
		{"INSERT INTO person VALUES ('Bob', 'new')",
			map[string]string{"/person/Bob": "new", "/person/bob": "new", "/person/BOB": "new"}},
		{"UPDATE word SET n = 5", map[string]string{"/word/na%C3%AFve%2F50%25": `"n":5`,
			"/word/na%c3%afve%2f50%25": `"n":5`}},
		{"TRUNCATE person", map[string]string{"/person/alice": "", "/person/ALICE": "",
			"/person/Bob": ""}},
		{"INSERT INTO person VALUES ('alice', 'again')", map[string]string{"/person/Alice": "again"}},
	}
	for _, s := range steps {
		for path := range s.shows {
			r.ask(path)
		}
		psql(s.sql)
		for path, part := range s.shows {
			r.shows(path, part, showBound)
		}
	}
}

// The nested documents of the demo, on PostgreSQL and from a configuration.
func TestPostgres_ServeShowsChangesOfChildren(t *testing.T) {
	t.Parallel()
	for _, identity := range []string{"DEFAULT", "FULL"} {
		t.Run("identity="+identity, func(t *testing.T) {
			url := dbtest.Postgres(t, dbtest.Setup(demo.PostgresSQL(),
				"ALTER TABLE emp REPLICA IDENTITY "+identity))
			file := configFile(t, demo.YAML(url))
			r := serve(t, "-c", file)
			steps := []struct {
				sql   string
				shows map[string]string
			}{
				{"UPDATE emp SET sal = 1234 WHERE empno = 7839",
					map[string]string{"/depts/10": `"sal":1234`, "/depts/010": `"sal":1234`}},
				{"INSERT INTO emp (empno, ename, deptno) VALUES (1, 'NEW', 20)",
					map[string]string{"/depts/20": "NEW"}},
				{"UPDATE emp SET deptno = 30 WHERE empno = 1",
					map[string]string{"/depts/30": "NEW", "/depts/20": `"ename":"SMITH"`}},
				{"DELETE FROM emp WHERE empno = 1", map[string]string{"/emps/1": ""}},
				{"INSERT INTO dept VALUES (50, 'LATE', NULL)", map[string]string{"/depts/50": "LATE"}},
				{"INSERT INTO emp (empno, ename, deptno) VALUES (2, 'SECOND', 50)",
					map[string]string{"/depts/50": "SECOND"}},
				{"UPDATE dept SET dname = 'X' WHERE deptno = 50", map[string]string{"/depts/50": `"X"`}},
				{"TRUNCATE emp", map[string]string{"/depts/50": `"emps":[]`, "/depts/10": `"emps":[]`,
					"/emps/7839": ""}},
			}
			for _, s := range steps {
				for path := range s.shows {
					r.ask(path)
				}
				dbtest.Psql(t, url, s.sql)
				for path, part := range s.shows {
					part = strings.ReplaceAll(part, `"ename"`, `"empName"`)
					r.shows(path, part, showBound)
				}
				if a := r.get("/depts/20"); strings.Contains(s.sql, "deptno = 30") &&
					strings.Contains(a.body, "NEW") {
					t.Errorf("the old parent still has the row: %s", a.body)
				}
			}
		})
	}
}

// A column that is renamed breaks the statements of its resource until the feed
// tells of it, which may take seconds: no row is said to be missing meanwhile.
func TestPostgres_ServeFollowsARenamedColumnAtOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t, dbtest.Setup(demo.PostgresSQL()))
	r := serve(t, url, "--writable")
	const patch = `{"dname":"X"}`
	r.hit("/dept/10")
	dbtest.Psql(t, url, "ALTER TABLE dept RENAME COLUMN loc TO town")
	if a := r.get("/dept/20"); a.code != 200 || !strings.Contains(a.body, `"town":"DALLAS"`) {
		t.Errorf("GET of a row that memory does not hold = %d %s", a.code, a.body)
	}
	dbtest.Psql(t, url, "ALTER TABLE dept RENAME COLUMN town TO place")
	if a := r.get("/dept?limit=1"); a.code != 200 || !strings.Contains(a.body, `"place":"NEW YORK"`) {
		t.Errorf("a list = %d %s", a.code, a.body)
	}
	dbtest.Psql(t, url, "ALTER TABLE dept RENAME COLUMN place TO loc")
	a := r.do("PATCH", "/dept/10", patch, "Content-Type: application/json")
	told := a.code == 200 && strings.Contains(a.body, `"loc"`) // the feed was faster than psql
	if !told && (a.code != 503 || a.header.Get("Retry-After") == "") {
		t.Errorf("PATCH = %d %s, want one that says to try again", a.code, a.body)
	}
	if a := r.do("PATCH", "/dept/10", patch, "Content-Type: application/json"); a.code != 200 {
		t.Errorf("PATCH again = %d %s", a.code, a.body)
	}
	dbtest.Psql(t, url, "ALTER TABLE dept RENAME TO gone")
	if a := r.get("/dept/30"); a.code != 404 || !strings.Contains(a.body, "table-missing") {
		t.Errorf("a table that is gone = %d %s", a.code, a.body)
	}
}

// A server as Debian configures it has no log that can be followed: nothing is
// cached, and the log says what mends it.
func TestPostgres_ServeWithoutFeed(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, map[string]string{"wal_level": "replica"})
	url := server.Database(t)
	dbtest.Psql(t, url, demo.PostgresSQL())
	r := serve(t, url)
	for i := range 3 {
		a := r.get("/dept/10")
		if a.code != 200 || a.header.Get("Cache-Status") != "hotrow; fwd=bypass" {
			t.Errorf("read %d = %d %s, want fwd=bypass", i, a.code, a.header.Get("Cache-Status"))
		}
	}
	if !strings.Contains(r.log.String(), "hotrow doctor") {
		t.Errorf("the log does not say how to mend it:\n%s", r.log)
	}
	r.stop()
	mustCommand(t, "doctor", url, "--feed", "notify", "--apply")
	r = serve(t, url)
	r.hit("/dept/10")
	dbtest.Psql(t, url, "UPDATE dept SET loc = 'X' WHERE deptno = 10")
	r.shows("/dept/10", `"X"`, showBound)
}

// The database is away when hotrow starts: it listens, says so, and serves
// when the database comes.
func TestPostgres_ServeStartsBeforeDatabase(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	url := server.Database(t)
	dbtest.Psql(t, url, demo.PostgresSQL())
	server.Stop(dbtest.Immediate)
	r := start(t, nil, "-c", configFile(t, demo.YAML(url)))
	if code := status(r.ops + "/readyz"); code != 503 {
		t.Errorf("/readyz = %d without a database, want 503", code)
	}
	a := r.get("/depts/10")
	if a.code != 503 || a.header.Get("Retry-After") == "" {
		t.Errorf("GET = %d %s, want 503 with Retry-After", a.code, a.body)
	}
	byURL := start(t, nil, url)
	server.Start()
	for _, r := range []*running{r, byURL} {
		until(t, r.log, r.complete)
	}
	r.hit("/depts/10")
	if a := byURL.hit("/dept/10"); a.code != 200 {
		t.Errorf("GET = %d %s", a.code, a.body)
	}
}

func TestPostgres_ServeLeavesOutSecrets(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t, dbtest.Setup(keysSQL))
	r := serve(t, url)
	a := r.get("/account/1")
	if a.body != `{"id":1,"name":"a"}` {
		t.Errorf("account = %s, want no secrets", a.body)
	}
	for _, say := range []string{"account.password", "account.api_key", "nokey"} {
		if !strings.Contains(r.log.String(), say) {
			t.Errorf("the log does not say that %s is left out:\n%s", say, r.log)
		}
	}
	put := r.do("PUT", "/account/1", `{"id":1}`, "Content-Type: application/json")
	if put.code != 405 {
		t.Errorf("PUT = %d %s; a database given by its URL is read-only", put.code, put.body)
	}
	r.stop()
	r = serve(t, url, "--writable")
	put = r.do("PATCH", "/account/1", `{"name":"b"}`, "Content-Type: application/json")
	if put.code != 200 || !strings.Contains(put.body, `"b"`) {
		t.Errorf("PATCH with --writable = %d %s", put.code, put.body)
	}
}

// What the database refuses to hotrow's user is in the log: the client is not told. A
// table whose key no path can name is left out, and does not keep the others away.
func TestPostgres_ServeLogsWhatTheDatabaseForbids(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t, dbtest.Setup(keysSQL, "CREATE TABLE doc (d jsonb PRIMARY KEY)"))
	role := fmt.Sprintf("reads_only_%d", os.Getpid())
	dbtest.Psql(t, url, "CREATE ROLE "+role+" LOGIN; GRANT SELECT ON account, doc TO "+role)
	t.Cleanup(func() { dbtest.Psql(t, url, "DROP OWNED BY "+role+"; DROP ROLE "+role) })
	r := serve(t, strings.Replace(url, "//postgres@", "//"+role+"@", 1), "--writable")
	put := r.do("PATCH", "/account/1", `{"name":"b"}`, "Content-Type: application/json")
	if put.code != 403 || strings.Contains(put.body, "permission") {
		t.Errorf("PATCH = %d %s, want 403", put.code, put.body)
	}
	for _, say := range []string{"permission denied", "its key column d is jsonb"} {
		if !strings.Contains(r.log.String(), say) {
			t.Errorf("the log does not say %q:\n%s", say, r.log)
		}
	}
}

// sumsFile serves the sums of depts, found by a column that is not emp's primary key.
func sumsFile(t *testing.T, url, mode string) string {
	t.Helper()
	return configFile(t, fmt.Sprintf(`version: 1
sources: {main: {url: %q, feed: {mode: %s}}}
resources:
  sums:
    query: "SELECT d.deptno, (SELECT sum(e.sal) FROM emp e WHERE e.deptno = d.deptno) AS sal
      FROM dept d WHERE d.deptno = :deptno"
    key: [deptno]
    depends: [{table: dept, key: deptno}, {table: emp, key: deptno}]
`, url, mode))
}

// TestPostgres_QueryFoundByAnotherColumnThanTheKey: an INSERT drops the documents that the
// new row is part of and no other, whatever the replica identity. UPDATE and DELETE do
// where the old row is known: doctor and check say what it takes.
func TestPostgres_QueryFoundByAnotherColumnThanTheKey(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t, dbtest.Setup(demo.PostgresSQL()))
	file := sumsFile(t, url, "logical")
	mustCommand(t, "doctor", "-c", file, "--apply")
	dbtest.Psql(t, url, "ALTER TABLE emp REPLICA IDENTITY DEFAULT")
	const says = "does not tell the old value of deptno of public.emp: an UPDATE or DELETE there drops every"
	check := func(want bool) {
		t.Helper()
		for _, command := range []string{"doctor", "check"} {
			out := mustCommand(t, command, "-c", file)
			if strings.Contains(out, says) != want || want &&
				!strings.Contains(out, `ALTER TABLE "public"."emp" REPLICA IDENTITY FULL`) {
				t.Errorf("%s:\n%s", command, out)
			}
		}
	}
	check(true)
	r := serve(t, "-c", file)
	precise := func(sql, part string, want bool) {
		t.Helper()
		hit := func(path, part string) { // once it is, the feed has told all of before
			t.Helper()
			until(t, r.log, func() bool {
				a := r.get(path)
				return strings.Contains(a.header.Get("Cache-Status"), "hit") &&
					strings.Contains(a.body, part)
			})
		}
		hit("/sums/10", "")
		hit("/sums/20", "")
		dbtest.Psql(t, url, sql)
		hit("/sums/10", part)
		status := r.get("/sums/20").header.Get("Cache-Status")
		if strings.Contains(status, "hit") != want {
			t.Errorf("after %s the other document is %q, want a hit: %v", sql, status, want)
		}
	}
	precise("INSERT INTO emp (empno, ename, sal, deptno) VALUES (1, 'A', 100000, 10)", "108750", true)
	precise("INSERT INTO emp (empno, ename, sal, deptno) VALUES (2, 'B', 1, 10)", "108751", true)
	precise("UPDATE emp SET sal = 2 WHERE empno = 2", "108752", false)
	precise("DELETE FROM emp WHERE empno = 2", "108750", false)
	mustCommand(t, "doctor", "-c", file, "--apply")
	check(false)
	// The first change after it tells of the identity and of what the row was.
	precise("INSERT INTO emp (empno, ename, sal, deptno) VALUES (2, 'B', 1, 10)", "108751", false)
	precise("UPDATE emp SET sal = 2 WHERE empno = 2", "108752", true)
	precise("DELETE FROM emp WHERE empno = 2", "108750", true)
	// A row that moves changes two documents.
	r.hit("/sums/20")
	dbtest.Psql(t, url, "UPDATE emp SET deptno = 20 WHERE empno = 1")
	r.shows("/sums/10", "8750", showBound)
	r.shows("/sums/20", "110875", showBound)
	r.stop()

	// Triggers tell of old and new rows.
	file = sumsFile(t, url, "notify")
	dbtest.Psql(t, url, "ALTER TABLE emp REPLICA IDENTITY DEFAULT")
	mustCommand(t, "doctor", "-c", file, "--apply")
	r = serve(t, "-c", file)
	precise("INSERT INTO emp (empno, ename, sal, deptno) VALUES (2, 'B', 1, 10)", "8751", true)
	precise("UPDATE emp SET sal = 2 WHERE empno = 2", "8752", true)
	precise("DELETE FROM emp WHERE empno = 2", "8750", true)
}

func TestPostgres_Commands(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t, dbtest.Setup(demo.PostgresSQL()))
	file := configFile(t, mustCommand(t, "init", url))
	text := mustCommand(t, "check", "-c", file)
	if !strings.Contains(text, "/dept/{deptno}") || !strings.Contains(text, "SELECT") {
		t.Errorf("check does not print routes and statements:\n%s", text)
	}
	if text = mustCommand(t, "check", "-c", file, "--dump-config"); !strings.Contains(text, "listen") {
		t.Errorf("--dump-config:\n%s", text)
	}
	if text = mustCommand(t, "doctor", url, "--sql"); !strings.Contains(text, "CREATE PUBLICATION") {
		t.Errorf("doctor --sql:\n%s", text)
	}
	mustCommand(t, "doctor", url, "--apply")
	text = mustCommand(t, "get", "dept/10", "--direct", url)
	if !strings.Contains(text, "ACCOUNTING") {
		t.Errorf("get --direct: %s", text)
	}
	r := serve(t, "-c", file)
	r.hit("/dept/10")
	code, stdout, stderr := command(t, "get", "dept/10", "--explain", "--server", r.http)
	if code != 0 || !strings.Contains(stdout, "ACCOUNTING") || !strings.Contains(stderr, "hit") ||
		!strings.Contains(stderr, "hr1.main.") {
		t.Errorf("get --explain: exit %d\n%s%s", code, stdout, stderr)
	}
	mustCommand(t, "invalidate", "dept/10", "--ops", r.ops)
	if a := r.get("/dept/10"); strings.Contains(a.header.Get("Cache-Status"), "hit") {
		t.Errorf("after invalidate: %s", a.header.Get("Cache-Status"))
	}
	r.hit("/dept/10")
	mustCommand(t, "invalidate", "dept", "--ops", r.ops)
	if a := r.get("/dept/10"); strings.Contains(a.header.Get("Cache-Status"), "hit") {
		t.Errorf("after invalidate of all: %s", a.header.Get("Cache-Status"))
	}
	if code, _, _ := command(t, "invalidate", "nope/1", "--ops", r.ops); code != 1 {
		t.Errorf("invalidate of an unknown resource: exit %d", code)
	}
}

// One document of a million: nothing is read before it is asked for.
func TestPostgres_ServeStartsFastOnManyRows(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t, dbtest.Setup(`CREATE TABLE many (id int PRIMARY KEY, v text);
		INSERT INTO many SELECT g, 'value ' || g FROM generate_series(1, 1000000) g`))
	begin := time.Now()
	r := serve(t, url)
	if a := r.get("/many/999999"); !strings.Contains(a.body, "value 999999") {
		t.Errorf("GET = %s", a.body)
	}
	t.Logf("ready after %v", time.Since(begin))
	r.stop() // with which its connections say what they have read
	until(t, r.log, func() bool {
		return dbtest.Psql(t, url, "SELECT count(*) FROM pg_stat_activity WHERE datname = "+
			"current_database() AND backend_type = 'client backend'") == "1"
	})
	if n := dbtest.Psql(t, url, "SELECT seq_tup_read FROM pg_stat_user_tables"); n != "0" {
		t.Errorf("%s rows were read by scans", n)
	}
}
