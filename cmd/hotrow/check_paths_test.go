package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

const socialSQL = `CREATE TABLE accounts (id int PRIMARY KEY, rate decimal(9,2));
	CREATE TABLE statuses (id int PRIMARY KEY, account_id int NOT NULL, rate decimal(9,3));
	CREATE TABLE follows (account_id int NOT NULL, target_id int NOT NULL, PRIMARY KEY (account_id, target_id));
	INSERT INTO follows VALUES (1, 2); INSERT INTO statuses VALUES (1, 2, 1), (2, 3, 1);
	CREATE INDEX statuses_account ON statuses (account_id);`

// socialConfig serves how many statuses those have whom an account follows.
func socialConfig(t *testing.T, url, more string) string {
	return configFile(t, fmt.Sprintf(`version: 1
sources: {main: {url: %q}}
resources:
  statuses: {table: statuses, access: {write: public}}
  home:
    query: SELECT f.account_id, count(s.id) AS n FROM follows f LEFT JOIN statuses s ON s.account_id = f.target_id
      WHERE f.account_id = :account_id GROUP BY f.account_id
    key: account_id
    depends:
      - path: statuses.account_id -> follows.target_id -> :account_id
%s`, url, more))
}

// rated is a resource whose path compares numbers of which equal ones have several texts.
const rated = `  rated:
    query: SELECT count(s.id) AS n FROM accounts a JOIN statuses s ON s.rate = a.rate WHERE a.id = :id
    key: id
    depends:
      - path: statuses.rate -> accounts.rate -> accounts.id -> :key
`

// TestSQLite_CheckAndExplainPaths: check says what has documents read again, and the running
// server on which rows one depends.
func TestSQLite_CheckAndExplainPaths(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "social.db")
	dbtest.SQLiteShell(t, db, socialSQL)
	file := socialConfig(t, "sqlite:"+db, rated)
	wants := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("no %q in\n%s", part, text)
			}
		}
	}
	text := mustCommand(t, "check", "-c", file)
	wants(text, "read again when rows change that lead to it: statuses.account_id -> follows.target_id",
		"SELECT DISTINCT", "every change of statuses has all documents of rated read again, although depends"+
			" names statuses.rate -> accounts.rate -> accounts.id -> :key", "equal values of statuses.rate may be")
	if strings.Contains(text, "all documents of home") {
		t.Errorf("home is said to be coarse:\n%s", text)
	}

	r := serve(t, "-c", file)
	explain := func() string {
		t.Helper()
		code, out, said := command(t, "get", "home/1", "--explain", "--server", r.http, "--ops", r.ops)
		if code != 0 {
			t.Fatalf("exit %d: %s", code, said)
		}
		return said + out
	}
	wants(explain(), "stored", "depends   by statuses.account_id -> follows.target_id -> :account_id")
	wants(explain(), "hit; detail=mem", "follows account_id=1 (slot ", "rows that were read (slot ", ", still")
	_, metrics := get(t, r.ops+"/metrics")
	wants(metrics, `hotrow_cache_coarse_total{source="main"} 0`)
}

// TestPostgres_CheckAndDoctorKnowPaths: of tables on a path both propose the identity that makes an
// UPDATE and a DELETE precise, and not where the primary key is that.
func TestPostgres_CheckAndDoctorKnowPaths(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t, dbtest.Setup(socialSQL))
	file := socialConfig(t, url, "")
	for _, says := range []string{"doctor", "check"} {
		_, text, _ := command(t, says, "-c", file)
		for _, part := range []string{"does not tell the old value of account_id of public.statuses",
			"an UPDATE or DELETE there drops every document",
			`ALTER TABLE "public"."statuses" REPLICA IDENTITY FULL`} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %q in\n%s", says, part, text)
			}
		}
		if strings.Contains(text, "of public.follows") {
			t.Errorf("%s: the primary key of follows tells what is asked for:\n%s", says, text)
		}
	}
}

// TestCheck_PrintsPathsThatExist: a name is in them as a request has it.
func TestCheck_PrintsPathsThatExist(t *testing.T) {
	t.Parallel()
	db := database(t, `CREATE TABLE "a b" (id INTEGER PRIMARY KEY); CREATE TABLE "#" (id INTEGER PRIMARY KEY);`)
	file := configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: %q}}\nresources:\n"+
		"  'a b': {table: 'a b'}\n  'a,b/c': {table: 'a b'}\n  '#': {table: '#'}\n", "sqlite:"+db))
	r := serve(t, "-c", file)
	out := mustCommand(t, "check", "-c", file, "/a%20b?id=eq.1")
	for _, path := range []string{"/a%20b", "/a%2Cb%2Fc", "/%23"} {
		if !strings.Contains(out, "\n"+path+"/{id}  get list\n") && !strings.HasPrefix(out, path+"/{id}  ") {
			t.Errorf("no path %s in\n%s", path, out)
		}
		if code := r.get(path).code; code != 200 {
			t.Errorf("GET %s = %d", path, code)
		}
	}
	if !strings.Contains(out, "\n/a%20b?id=eq.1\n") {
		t.Errorf("no path of the list in\n%s", out)
	}
}
