package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// warmMistakes checks that a query that says what to load is looked at before anything is served,
// over a database with the table p (id, grp).
func warmMistakes(t *testing.T, url string) {
	t.Helper()
	config := func(query string) string {
		return configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: %q}}\n"+
			"resources: {p: {table: p, warm: %q}}\n", url, query))
	}
	for _, query := range []string{"SELECT id FROM p", "SELECT id FROM p ORDER BY grp DESC;",
		"WITH q AS (SELECT id FROM p) SELECT id FROM q"} {
		mustCommand(t, "check", "-c", config(query))
	}
	for query, want := range map[string]string{"SELECT nosuch FROM p": "nosuch", "SELECT": ""} {
		file := config(query)
		code, _, stderr := command(t, "check", "-c", file)
		if code != 1 || !strings.Contains(stderr, "hotrow: resource p: warm: query for keys: ") ||
			!strings.Contains(stderr, want) {
			t.Errorf("hotrow check with warm: %s: exit %d: %s", query, code, stderr)
		}
		if _, out, _ := command(t, "doctor", "-c", file); !strings.Contains(out, "resource p: warm: ") {
			t.Errorf("hotrow doctor with warm: %s: %s", query, out)
		}
		r := begin(t, nil, "-c", file)
		until(t, r.log, func() bool { return strings.Contains(r.log.String(), "query for keys: ") })
		if code := r.stop(); code != 1 || !strings.Contains(r.log.String(), "hotrow: resource p: warm: ") {
			t.Errorf("hotrow serve with warm: %s: exit %d:\n%s", query, code, r.log)
		}
	}
}

const warmSQL = "CREATE TABLE p (id int PRIMARY KEY, grp int)"

func TestCheck_WarmQuery(t *testing.T) { warmMistakes(t, "sqlite:"+database(t, warmSQL)) }

func TestPostgres_CheckWarmQuery(t *testing.T) {
	t.Parallel()
	warmMistakes(t, dbtest.Postgres(t, dbtest.Setup(warmSQL)))
}

func TestMariaDB_CheckWarmQuery(t *testing.T) {
	t.Parallel()
	warmMistakes(t, dbtest.MariaDB(t, dbtest.Setup(warmSQL)))
}
