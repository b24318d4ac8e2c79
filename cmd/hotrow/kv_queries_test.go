package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
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
	dbtest.SQLiteShell(t, db, "UPDATE users SET age = 99 WHERE id = 1")
	until(t, r.log, func() bool { return strings.Contains(ask("by_email:ada@example.org"), "99") })
	if got := ask("older:36"); got != "" {
		t.Errorf("a name that is not known yet = %s", got)
	}
	config("by_email: '/users?email=eq.{}', older: '/users?id=gt.{}'")
	hangUp(t, r, "configuration reloaded")
	until(t, r.log, func() bool { return strings.HasPrefix(ask("older:1"), `[{"id":2,`) })
}
