package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// A column is the value of a key for the tools of Redis and for memcached, as a file says; a
// reload makes another column, and another format of documents, count.
func TestServe_KVField(t *testing.T) {
	cli := dbtest.Program(t, "redis-cli", "redis-tools")
	dir := t.TempDir()
	db, file := filepath.Join(dir, "app.db"), filepath.Join(dir, "hotrow.yaml")
	dbtest.SQLiteShell(t, db, "PRAGMA journal_mode = wal; "+
		"CREATE TABLE pages (id INTEGER PRIMARY KEY, html TEXT, title TEXT, flags INTEGER); "+
		"INSERT INTO pages VALUES (1, '<p>\"one\"</p>', 'One', 7), (2, NULL, 'Two', NULL)")
	config := func(kv, format string) {
		rewrite(t, file, fmt.Sprintf("version: 1\nsources: {main: {url: 'sqlite:%s'}}\n"+
			"resources: {pages: {table: pages, access: {write: public}, kv: {%s}}}\n"+
			"http: {listen: 127.0.0.1:0}\nops: {listen: 127.0.0.1:0}\nwire: {listen: off}\n"+
			"resp: {listen: 127.0.0.1:0}\nmemcache: {listen: 127.0.0.1:0}\nkv: {format: %s}\n",
			db, kv, format))
	}
	config("field: html, flags: flags", "json")
	r := serve(t, "-c", file)
	is := redisCLI(t, cli, r)
	is(`<p>"one"</p>`, "GET", "pages:1")
	is("", "GET", "pages:2")
	is("OK", "SET", "pages:2", "<p>2</p>")
	got := dbtest.SQLiteShell(t, db, "SELECT title, html FROM pages WHERE id = 2")
	if strings.TrimSpace(got) != "Two|<p>2</p>" {
		t.Errorf("the row is %q", got)
	}
	for i := range 3 { // another program's changes
		dbtest.SQLiteShell(t, db, fmt.Sprintf("UPDATE pages SET html = '%d' WHERE id = 1", i))
		is(fmt.Sprint(i), "GET", "pages:1")
	}
	config("field: body", "json")
	if code, out, errs := command(t, "check", "-c", file); code == 0 ||
		!strings.Contains(out+errs, `there is no column "body" in pages`) {
		t.Errorf("hotrow check of a column that is not there: %d, %s%s", code, out, errs)
	}
	config("field: title", "json")
	hangUp(t, r, "configuration reloaded")
	is("One", "GET", "pages:1")
	config("", "msgpack")
	hangUp(t, r, "configuration reloaded")
	is("\x84\xa2id\x01\xa4html\xa12\xa5title\xa3One\xa5flags\x07", "GET", "pages:1")
}

// redisCLI returns what waits until the reply of a running server to redis-cli is want.
func redisCLI(t *testing.T, cli string, r *running) (is func(want string, args ...string)) {
	ask := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), cli, append([]string{"-p", r.respPort()}, args...)...).
			CombinedOutput()
		if err != nil {
			t.Fatalf("redis-cli %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	return func(want string, args ...string) {
		t.Helper()
		until(t, r.log, func() bool { return ask(args...) == want })
	}
}
