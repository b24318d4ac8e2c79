package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// reloadedSQL is for every database.
const reloadedSQL = `CREATE TABLE dept (deptno INTEGER PRIMARY KEY, dname TEXT, loc TEXT);
	CREATE TABLE emp (empno INTEGER PRIMARY KEY, ename TEXT);
	INSERT INTO dept VALUES (10, 'ACCOUNTING', 'NEW YORK'), (20, 'RESEARCH', 'DALLAS');
	INSERT INTO emp VALUES (7782, 'CLARK');`

// followedSQL is for every database.
const followedSQL = reloadedSQL + `CREATE TABLE city (id INTEGER PRIMARY KEY, body TEXT);
	CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT);
	ALTER TABLE emp ADD COLUMN deptno INTEGER;
	INSERT INTO city VALUES (1, 'Tulsa'); INSERT INTO note VALUES (1, 'a note');`

// A SIGHUP that changes one resource leaves what memory has of another: the next answer is a
// hit. Beside such reloads a reader who asks for a position gets all that was written before
// it, and a change by another program shows.
func keepsOverReloads(t *testing.T, url string, shell func(sql string)) {
	config := func(limit int, rest string) string {
		return fmt.Sprintf("version: 1\nsources: {main: {url: %q}}\nresources:\n"+
			"  dept: {table: dept, access: {read: public, write: public}%s}\n"+
			"  emp: {table: emp, lists: {max_limit: %d}}\n", url, rest, limit)
	}
	file := configFile(t, config(100, ""))
	r := serve(t, "-c", file)
	reload := func(text string) {
		t.Helper()
		rewrite(t, file, text)
		hangUp(t, r, "configuration reloaded")
	}
	kept := []string{"/dept/10", "/dept/20", "/dept", "/dept?dname=eq.RESEARCH"}
	for i, rest := range []string{"", ", methods: [put]", ""} {
		for _, path := range append(kept, "/emp/7782") {
			r.hit(path)
		}
		reload(config(101+i, rest))
		for _, path := range kept {
			if a := r.get(path); !strings.Contains(a.header.Get("Cache-Status"), "hit") {
				t.Errorf("after reload %d %s is answered as %q", i, path, a.header.Get("Cache-Status"))
			}
		}
	}
	r.hit("/emp/7782")

	// Writes and reads of what was written, beside reloads.
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 200 {
			w := r.do("PUT", "/dept/10", `{"deptno":10,"dname":"ACCOUNTING","loc":"`+strconv.Itoa(n)+`"}`,
				"Content-Type: application/json")
			at := w.header.Get("Hotrow-Position")
			a := r.get("/dept/10", "Hotrow-Min-Position: "+at)
			if w.code/100 != 2 || at == "" || !strings.Contains(a.body, `"`+strconv.Itoa(n)+`"`) {
				t.Errorf("write %d: %d at %q; then %d %s", n, w.code, at, a.code, a.body)
				return
			}
		}
	}()
	for i, more := 0, true; more; i++ {
		reload(config(200+i, ""))
		select {
		case <-done:
			more = false
		default:
		}
	}
	<-done
	for _, path := range kept {
		r.hit(path)
	}
	reload(config(50, ""))
	shell("UPDATE dept SET loc = 'OSLO'")
	for _, path := range []string{"/dept/10", "/dept/20", "/dept"} {
		r.shows(path, "OSLO", showBound)
	}
}

// A SIGHUP that adds tables, or takes some away, leaves what memory has of the others, in the
// epoch that there is. What comes is kept and told of, beside its writers too; what was kept
// before it went does not come back.
func followsOverReloads(t *testing.T, url, mode string, shell func(sql string)) {
	config := func(with ...string) string {
		text := fmt.Sprintf("version: 1\nsources: {main: {url: %q}}\nresources:\n"+
			"  dept: {table: dept}\n  staff: {table: dept, embed: {emps: {table: emp, on: [deptno]}}}\n", url)
		for _, name := range with {
			text += "  " + name + ": {table: " + name + "}\n"
		}
		return text
	}
	file := configFile(t, config("city", "note"))
	mustCommand(t, "doctor", "-c", file, "--feed", mode, "--apply")
	rewrite(t, file, config())
	r := serve(t, "-c", file)
	kept := []string{"/dept/10", "/dept/20", "/dept", "/dept?dname=eq.RESEARCH", "/staff/10"}
	keep := func() {
		t.Helper()
		for _, path := range kept {
			r.hit(path)
		}
	}
	reload := func(with ...string) {
		t.Helper()
		rewrite(t, file, config(with...))
		hangUp(t, r, "configuration reloaded")
	}
	epoch := func() string {
		t.Helper()
		_, text := get(t, r.ops+"/-/feed")
		return regexp.MustCompile(`"epoch": ?[0-9]+`).FindString(text)
	}
	keep()
	begun := epoch()
	for i, with := range [][]string{{"city"}, {"city", "note"}, {"note"}, nil, {"city"}} {
		reload(with...)
		for _, name := range with {
			r.hit("/" + name + "/1")
		}
		for _, path := range kept {
			if a := r.get(path); !strings.Contains(a.header.Get("Cache-Status"), "hit") {
				t.Errorf("after reload %d %s is answered as %q", i, path, a.header.Get("Cache-Status"))
			}
		}
		text := "text " + strconv.Itoa(i)
		for _, name := range []string{"city", "note"} {
			shell("UPDATE " + name + " SET body = '" + text + "'")
		}
		for _, name := range with {
			r.shows("/"+name+"/1", text, showBound)
			r.hit("/" + name + "/1")
		}
		keep()
		if now := epoch(); now != begun || now == "" {
			t.Errorf("%s after %s", now, begun)
		}
	}
}

func TestPostgres_ReloadFollowsOtherTables(t *testing.T) {
	for _, mode := range []string{"logical", "notify"} {
		t.Run(mode, func(t *testing.T) {
			url := dbtest.Postgres(t, dbtest.Setup(followedSQL))
			followsOverReloads(t, url, mode, func(sql string) { dbtest.Psql(t, url, sql) })
		})
	}
}

func TestMariaDB_ReloadFollowsOtherTables(t *testing.T) {
	url := dbtest.MariaDB(t, dbtest.Setup(followedSQL))
	followsOverReloads(t, url, "binlog", func(sql string) { dbtest.MariaDBShell(t, url, sql) })
}

func TestSQLite_ReloadFollowsOtherTables(t *testing.T) {
	path := database(t, followedSQL)
	followsOverReloads(t, "sqlite:"+path, "sqlite", func(sql string) { dbtest.SQLiteShell(t, path, sql) })
}

func TestPostgres_ReloadKeepsOtherResources(t *testing.T) {
	for _, mode := range []string{"logical", "notify"} {
		t.Run(mode, func(t *testing.T) {
			url := dbtest.Postgres(t, dbtest.Setup(reloadedSQL))
			mustCommand(t, "doctor", url, "--feed", mode, "--apply")
			keepsOverReloads(t, url, func(sql string) { dbtest.Psql(t, url, sql) })
		})
	}
}

func TestMariaDB_ReloadKeepsOtherResources(t *testing.T) {
	url := dbtest.MariaDB(t, dbtest.Setup(reloadedSQL))
	keepsOverReloads(t, url, func(sql string) { dbtest.MariaDBShell(t, url, sql) })
}

func TestSQLite_ReloadKeepsOtherResources(t *testing.T) {
	path := database(t, reloadedSQL)
	keepsOverReloads(t, "sqlite:"+path, func(sql string) { dbtest.SQLiteShell(t, path, sql) })
}
