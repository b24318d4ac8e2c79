package main

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestServe_KVName: keys have another name for a resource, in reads, writes, walks and what
// clients are told, and after a reload.
func TestServe_KVName(t *testing.T) {
	cli := dbtest.Program(t, "redis-cli", "redis-tools")
	dir := t.TempDir()
	db, file := filepath.Join(dir, "app.db"), filepath.Join(dir, "hotrow.yaml")
	dbtest.SQLiteShell(t, db, "PRAGMA journal_mode = wal; "+
		"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE posts (id INTEGER PRIMARY KEY, t TEXT); "+
		"INSERT INTO users VALUES (1, 'Ada'), (2, 'Ben'); INSERT INTO posts VALUES (1, 'x')")
	text := func(users, posts, kv string) string {
		return fmt.Sprintf("version: 1\nsources: {main: {url: 'sqlite:%s'}}\nresources:\n"+
			"  users: {table: users, access: {write: public}, kv: {%s}}\n  posts: {table: posts, kv: {%s}}\n"+
			"http: {listen: 127.0.0.1:0}\nops: {listen: 127.0.0.1:0}\nwire: {listen: off}\n"+
			"resp: {listen: 127.0.0.1:0}\nmemcache: {listen: off}\nkv: {%s}\n", db, users, posts, kv)
	}
	rewrite(t, file, text("name: user", "", ""))
	r := serve(t, "-c", file)
	is := redisCLI(t, cli, r)
	is(`{"id":1,"name":"Ada"}`, "GET", "user:1")
	is("", "GET", "users:1")
	is("", "HGET", "users:1", "name")
	is("Ada", "HGET", "user:1", "name")
	is("OK", "SET", "user:2", `{"name":"Bob"}`)
	is(`{"id":2,"name":"Bob"}`, "GET", "user:2")
	is("user:1\nuser:2", "--scan", "--pattern", "user:*")
	is("", "--scan", "--pattern", "users:*")
	is("posts:1\nuser:1\nuser:2", "--scan")
	keeps, err := net.Dial("tcp", "127.0.0.1:"+r.respPort())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = keeps.Close() }()
	_ = keeps.SetDeadline(waittest.Deadline(time.Minute))
	lines := bufio.NewScanner(keeps)
	told := func(text string) {
		for lines.Scan() {
			if lines.Text() == text {
				return
			}
		}
		t.Fatalf("a client that keeps copies waits for %q: %v", text, lines.Err())
	}
	_, _ = keeps.Write([]byte("HELLO 3\r\nCLIENT TRACKING ON\r\nGET user:1\r\n"))
	told(`{"id":1,"name":"Ada"}`)
	is("OK", "SET", "user:1", `{"name":"Eve"}`)
	told("invalidate")
	told("user:1")
	is(`{"id":1,"name":"Eve"}`, "GET", "user:1")

	for _, bad := range []struct{ users, posts, kv, want string }{
		{"name: posts", "", "", "keys of resource posts have this name"},
		{"name: u", "name: u", "", "keys of resource posts have this name"},
		{"name: 'a:b'", "", "", "has the separator of keys"},
		{"name: 'a b'", "", "", "has a blank"},
		{"name: u", "", "queries: {u: '/posts?t=eq.{}'}", "kv.queries has this name"},
	} {
		rewrite(t, file, text(bad.users, bad.posts, bad.kv))
		code, stdout, stderr := command(t, "check", "-c", file)
		if code == 0 || !strings.Contains(stdout+stderr, bad.want) {
			t.Errorf("%s: %d, %s%s, want %q", bad.users, code, stdout, stderr, bad.want)
		}
	}
	rewrite(t, file, text("name: posts", "name: users", "")) // they may swap names
	hangUp(t, r, "configuration reloaded")
	is(`{"id":1,"name":"Eve"}`, "GET", "posts:1")
	is(`{"id":1,"t":"x"}`, "GET", "users:1")
}
