package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

const postSQL = `CREATE TABLE post (id int PRIMARY KEY, author int NOT NULL, price double precision);
	CREATE INDEX post_author ON post (author);
	INSERT INTO post VALUES (1, 1, 1.5), (2, 1, 2), (3, 2, 3);`

// postConfig serves the table, and a list of it by name.
func postConfig(t *testing.T, url string) string {
	t.Helper()
	return configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: %q}}\n"+
		"resources: {post: {table: post}}\n"+
		"kv: {queries: {by_author: '/post?author=eq.{}&order=id.desc'}}\n", url))
}

// TestPostgres_DoctorTellsWhatListsNeed: of lists that are named, and of those that a running
// server was asked for. What is proposed makes them precise, and is taken back.
func TestPostgres_DoctorTellsWhatListsNeed(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t, dbtest.Setup(postSQL))
	file := postConfig(t, url)
	const paged = "post?author=eq.1&order=id&offset=1"
	wants := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("no %q in\n%s", part, text)
			}
		}
	}
	identity := func() string {
		return strings.TrimSpace(dbtest.Psql(t, url,
			"SELECT relreplident FROM pg_class WHERE relname = 'post'"))
	}
	wants(mustCommand(t, "check", "-c", file, paged),
		"/post?author=eq.{}&order=id.desc  (kv.queries.by_author)",
		"read again when a row changes that it finds, by (author)", "only what names it",
		"found by the index on (author)", "when any row of public.post changes: with offset",
		"REPLICA IDENTITY FULL of public.post would have it stay in memory")
	wants(mustCommand(t, "check", "-c", file, "post?price=eq.1"), "equal values of price")
	if code, _, text := command(t, "check", "-c", file, "nope?a=eq.1"); code != 1 {
		t.Errorf("check of what is not served: exit %d, %s", code, text)
	}

	mustCommand(t, "doctor", "-c", file, "--apply") // nobody has asked for pages yet
	if identity() != "d" {
		t.Fatal("the identity was changed unasked")
	}
	r := serve(t, "-c", file)
	r.get("/" + paged)
	_, found := get(t, r.ops+"/-/doctor")
	wants(found, "lists of public.post with an offset or a count are", "REPLICA IDENTITY FULL")
	r.stop()

	sql := mustCommand(t, "doctor", "-c", file, "--list", paged, "--sql")
	wants(sql, `ALTER TABLE "public"."post" REPLICA IDENTITY FULL;`)
	wants(mustCommand(t, "doctor", "-c", file, "--list", paged), "writes the whole old row to the log")
	mustCommand(t, "doctor", "-c", file, "--list", paged, "--apply")
	if identity() != "f" {
		t.Fatalf("--apply: the identity is %s", identity())
	}
	wants(mustCommand(t, "check", "-c", file, paged), "what a row was: yes")

	r = serve(t, "-c", file)
	r.hit("/" + paged)
	until(t, r.log, func() bool { // it may have been read before its template counted
		r.get("/"+paged, "Cache-Control: no-cache")
		r.hit("/" + paged)
		text := mustCommand(t, "get", paged, "--explain", "--ops", r.ops)
		return strings.Contains(text, "public.post author=1 (slot") &&
			!strings.Contains(text, "any row of public.post")
	})
	_, found = get(t, r.ops+"/-/doctor")
	wants(found, "lists of public.post are told apart by (author)")
	r.stop()
	mustCommand(t, "doctor", "-c", file, "--remove")
	if identity() != "d" {
		t.Errorf("--remove: the identity is %s", identity())
	}
}

// TestMariaDB_CheckSaysWhatListsDependOn: the binary log tells what a row was.
func TestMariaDB_CheckSaysWhatListsDependOn(t *testing.T) {
	t.Parallel()
	url := dbtest.MariaDB(t, dbtest.Setup(strings.ReplaceAll(postSQL, "double precision", "double")))
	text := mustCommand(t, "check", "-c", postConfig(t, url), "post?author=eq.1&offset=1",
		"post?price=eq.1")
	for _, want := range []string{
		"(kv.queries.by_author)\n    read again when a row changes that it finds, by (author)",
		"?author=eq.1&offset=1\n    read again when a row changes that it finds, by (author)",
		"the feed tells what a row was: yes", "equal values of price", "found by the index on (author)",
		"no index answers these filters and this order: it is refused once the table is large"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "REPLICA IDENTITY") {
		t.Errorf("what MariaDB has not:\n%s", text)
	}
}
