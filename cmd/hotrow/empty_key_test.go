package main

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// TestLists_HaveTheRowWhoseKeyIsEmpty on every database, though no path can name it; a list that
// is kept follows what becomes of it.
func TestLists_HaveTheRowWhoseKeyIsEmpty(t *testing.T) {
	t.Parallel()
	const sql = "CREATE TABLE k (id varchar(20) PRIMARY KEY, note varchar(20));" +
		"INSERT INTO k VALUES ('', 'first'), ('a', 'second');"
	for name, open := range map[string]func(t *testing.T) (url string, exec func(sql string)){
		"SQLite": func(t *testing.T) (string, func(string)) {
			file := database(t, sql)
			return file, func(sql string) { dbtest.SQLiteShell(t, file, ".timeout 5000\n"+sql) }
		},
		"PostgreSQL": func(t *testing.T) (string, func(string)) {
			url := dbtest.Postgres(t, dbtest.Setup(sql))
			return url, func(sql string) { dbtest.Psql(t, url, sql) }
		},
		"MariaDB": func(t *testing.T) (string, func(string)) {
			url := dbtest.MariaDB(t, dbtest.Setup(sql))
			return strings.Replace(url, "mysql:", "mariadb:", 1),
				func(sql string) { dbtest.MariaDBShell(t, url, sql) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, exec := open(t)
			r := serve(t, url)
			for _, path := range []string{"/k", "/k?note=neq.x", "/k?limit=1"} {
				if a := r.hit(path); !strings.Contains(a.body, `"first"`) {
					t.Errorf("%s: %s", path, a.body)
				}
			}
			exec("UPDATE k SET note = 'changed' WHERE id = ''")
			until(t, r.log, func() bool { return strings.Contains(r.get("/k").body, `"changed"`) })
			exec("DELETE FROM k WHERE id = ''")
			until(t, r.log, func() bool { return !strings.Contains(r.get("/k").body, `"changed"`) })
			exec("INSERT INTO k VALUES ('', 'again')")
			until(t, r.log, func() bool { return strings.Contains(r.get("/k").body, `"again"`) })
			if a := r.get("/k?limit=1"); !strings.Contains(a.body, `"again"`) {
				t.Errorf("the first page: %s", a.body)
			}
		})
	}
}
