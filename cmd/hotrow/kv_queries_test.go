package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// Keys of kv.queries are lists for the tools of Redis, as fresh as over HTTP; a reload
// makes a name known.
func TestServe_KVQueries(t *testing.T) {
	cli := dbtest.Program(t, "redis-cli", "redis-tools")
	dir := t.TempDir()
	db, file := filepath.Join(dir, "app.db"), filepath.Join(dir, "hotrow.yaml")
	dbtest.SQLiteShell(t, db, "PRAGMA journal_mode = wal; "+
		"CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, age INTEGER); "+
		"INSERT INTO users VALUES (1, 'ada@example.org', 36), (2, 'x&id=gt.0', 1)")
	config := func(queries string) {
		text := fmt.Sprintf("version: 1\nsources: {main: {url: 'sqlite:%s'}}\nresources: {users: {table: users}}\n"+
			"http: {listen: 127.0.0.1:0}\nops: {listen: 127.0.0.1:0}\nwire: {listen: off}\n"+
			"resp: {listen: 127.0.0.1:0}\nkv: {queries: {%s}}\n", db, queries)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config("by_email: '/users?email=eq.{}'")
	r := serve(t, "-c", file)
	ask := func(key string) string {
		out, err := exec.CommandContext(t.Context(), cli, "-p", r.respPort(), "GET", key).CombinedOutput()
		if err != nil {
			t.Fatalf("redis-cli GET %s: %v: %s", key, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	for i := range 5 {
		dbtest.SQLiteShell(t, db, fmt.Sprintf("UPDATE users SET age = %d WHERE id = 1", i))
		want := fmt.Sprintf(`[{"id":1,"email":"ada@example.org","age":%d}]`, i)
		until(t, r.log, func() bool { return ask("by_email:ada@example.org") == want })
		// HTTP has a copy of its own, which may be that of before until the feed has looked.
		until(t, r.log, func() bool {
			_, got := get(t, r.http+"/users?email=eq.ada@example.org")
			return got == want
		})
	}
	if got := ask("by_email:x&id=gt.0"); got != `[{"id":2,"email":"x&id=gt.0","age":1}]` {
		t.Errorf("a value with & = %s", got)
	}
	explain := func(key string, wants ...string) {
		t.Helper()
		var out []byte
		deadline := waittest.Deadline(10 * time.Second)
		missing := func(want string) bool { return !strings.Contains(string(out), want) }
		for ok := false; !ok; ok = !slices.ContainsFunc(wants, missing) {
			if time.Now().After(deadline) {
				t.Fatalf("redis-cli HOTROW.EXPLAIN %s has not %q:\n%s", key, wants, out)
			}
			var err error
			out, err = exec.CommandContext(t.Context(), cli, "-p", r.respPort(), "HOTROW.EXPLAIN", key).
				CombinedOutput()
			if err != nil {
				t.Fatalf("redis-cli HOTROW.EXPLAIN %s: %v: %s", key, err, out)
			}
		}
	}
	explain("by_email:nobody@example.org", "state\nabsent\n", "depends\nemail=nobody@example.org")
	until(t, r.log, func() bool { // the feed may tell of the last change yet
		ask("by_email:ada@example.org")
		out, err := exec.CommandContext(t.Context(), cli, "-p", r.respPort(), "HOTROW.EXPLAIN",
			"by_email:ada@example.org").CombinedOutput()
		return err == nil && strings.Contains(string(out), "state\nhit\n")
	})
	explain("by_email:ada@example.org", "resource\nusers\n", "state\nhit\n", "kept\ngood\nrows\n1\n",
		"index\nfound by the index on (email)")
	dbtest.SQLiteShell(t, db, "UPDATE users SET age = 99 WHERE id = 1")
	explain("by_email:ada@example.org", "kept\noutdated\nrows\n1\n")
	explain("users:1", "key\nusers:1\n", "state\nabsent\n")
	if got := ask("older:36"); got != "" {
		t.Errorf("a name that is not known yet = %s", got)
	}
	config("by_email: '/users?email=eq.{}', older: '/users?id=gt.{}'")
	hangUp(t, r, "configuration reloaded")
	until(t, r.log, func() bool { return strings.HasPrefix(ask("older:1"), `[{"id":2,`) })
}
