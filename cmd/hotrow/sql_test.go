package main

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// sqlURL returns the URL of a database through the listener of SQL.
func (r *running) sqlURL(database string) string {
	r.t.Helper()
	m := regexp.MustCompile(`proto=sql addr=(\S+)`).FindStringSubmatch(r.log.String())
	if m == nil {
		r.t.Fatalf("SQL is not served:\n%s", r.log)
	}
	u, err := url.Parse(database)
	if err != nil {
		r.t.Fatal(err)
	}
	u.Host = m[1]
	return u.String()
}

// TestServe_SQL: psql sees the database through hotrow, and hotrow counts it.
func TestServe_SQL(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t, dbtest.Setup("CREATE TABLE t (a int PRIMARY KEY, b text);"))
	r := start(t, []string{"HOTROW_SQL_LISTEN=127.0.0.1:0"}, database)
	until(t, r.log, r.complete)
	through := r.sqlURL(database)
	dbtest.Psql(t, through, "INSERT INTO t VALUES (1, 'one'), (2, 'two'); \\copy t TO STDOUT")
	if got := strings.TrimSpace(dbtest.Psql(t, through, "SELECT b FROM t ORDER BY a;")); got != "one\ntwo" {
		t.Errorf("psql reads %q", got)
	}
	until(t, r.log, func() bool {
		_, metrics := get(t, r.ops+"/metrics")
		return strings.Contains(metrics, "hotrow_sql_sessions 0\n") &&
			strings.Contains(metrics, `hotrow_sql_logins_total{result="open"} 2`) &&
			strings.Contains(metrics, `hotrow_sql_statements_total{reason="eligible"} 1`) &&
			strings.Contains(metrics, `hotrow_connections_refused_total{listener="sql",why="connections"} 0`)
	})
	_, page := get(t, r.ops+"/-/sql?name=order")
	if !strings.Contains(page, `"shape": "SELECT b FROM t ORDER BY a"`) || !strings.Contains(page, `"found": 1`) {
		t.Errorf("/-/sql: %s", page)
	}
	if code := r.stop(); code != 0 {
		t.Errorf("it ends with %d:\n%s", code, r.log)
	}
}

// TestServe_SQLFromMemory: with sql.mode serve psql is answered from memory, and reads what it has
// written.
func TestServe_SQLFromMemory(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t, dbtest.Setup("CREATE TABLE t (a int PRIMARY KEY, b text);"+
		"INSERT INTO t VALUES (1, 'one');"))
	r := start(t, []string{"HOTROW_SQL_LISTEN=127.0.0.1:0", "HOTROW_SQL_MODE=serve"}, database)
	until(t, r.log, r.complete)
	through := r.sqlURL(database)
	until(t, r.log, func() bool {
		dbtest.Psql(t, through, "SELECT b FROM t WHERE a = 1;\nSELECT b FROM t WHERE a = 1;")
		_, metrics := get(t, r.ops+"/metrics")
		return !strings.Contains(metrics, `hotrow_sql_groups_total{result="hit"} 0`)
	})
	if _, page := get(t, r.ops+"/-/sql"); !strings.Contains(page, `"mode": "serve"`) {
		t.Errorf("/-/sql: %s", page)
	}
	got := dbtest.Psql(t, through, "UPDATE t SET b = 'two'; SELECT b FROM t WHERE a = 1;")
	if got = strings.TrimSpace(got); got != "two" {
		t.Errorf("psql reads %q", got)
	}
	if code := r.stop(); code != 0 {
		t.Errorf("it ends with %d:\n%s", code, r.log)
	}
}

// TestServe_SQLFollowsNewTables: a table that is made while hotrow runs, by whomever, is soon answered
// from memory, and so is what changes in it.
func TestServe_SQLFollowsNewTables(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t, dbtest.Setup("CREATE TABLE t (a int PRIMARY KEY);"))
	r := start(t, []string{"HOTROW_SQL_LISTEN=127.0.0.1:0", "HOTROW_SQL_MODE=serve"}, database)
	until(t, r.log, r.complete)
	through := r.sqlURL(database)
	for name, by := range map[string]string{"mine": through, "theirs": database} {
		dbtest.Psql(t, by, "CREATE TABLE "+name+" (id int PRIMARY KEY, b text); INSERT INTO "+name+" VALUES (1, 'one')")
		sql := "SELECT b FROM " + name + " WHERE id = 1;\n"
		until(t, r.log, func() bool {
			dbtest.Psql(t, through, sql+sql)
			_, page := get(t, r.ops+"/-/sql?name="+name)
			return regexp.MustCompile(`"hits": [1-9]`).MatchString(page)
		})
		for _, by := range []string{through, database} {
			dbtest.Psql(t, by, "UPDATE "+name+" SET b = b || '+'")
		}
		until(t, r.log, func() bool { return strings.TrimSpace(dbtest.Psql(t, through, sql)) == "one++" })
	}
	if code := r.stop(); code != 0 {
		t.Errorf("it ends with %d:\n%s", code, r.log)
	}
}

// TestServe_SQLWantsOneHost: a relay leads to one server.
func TestServe_SQLWantsOneHost(t *testing.T) {
	r := begin(t, []string{"HOTROW_SQL_LISTEN=127.0.0.1:0"}, "postgres://u@127.0.0.1,127.0.0.2/d?sslmode=disable")
	<-r.ended
	if code := r.stop(); code == 0 || !strings.Contains(r.log.String(), "several hosts") {
		t.Errorf("it ends with %d:\n%s", code, r.log)
	}
}
