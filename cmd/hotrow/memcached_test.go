package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// memcachedConfig serves one prefix as a reader would and, under another name,
// as a writer would; what it keeps, it keeps for longer than a test lasts.
const memcachedConfig = `
sources: {main: {url: "%s", statement_timeout: 1s}}
resources:
  users:
    ttl: 1h
    methods: [get, list, put, patch, delete]
    access: {write: public}
    memcached: {fields: [name, mail], prefix: "user:"}
  raw:
    ttl: 1h
    memcached: {prefix: "user:"}
  plain:
    memcached: {format: json}
`

func TestMemcached_ServeReadsAndKeepsForTheTTL(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMemcached(t)
	server.Set("user:42", "Alice|alice@example.org")
	server.Set("page", `[1,"ü"]`)
	r := serve(t, "-c", configFile(t, fmt.Sprintf(memcachedConfig, server.URL())))
	const alice = `{"name":"Alice","mail":"alice@example.org"}`
	if a := r.get("/users/42"); a.code != 200 || a.body != alice {
		t.Errorf("GET = %d %s", a.code, a.body)
	}
	const packed = "\x82\xa4name\xa5Alice\xa4mail\xb1alice@example.org"
	if a := r.get("/users/42", "Accept: application/vnd.msgpack"); a.body != packed {
		t.Errorf("MessagePack = %d %q", a.code, a.body)
	}
	if a := r.get("/plain/page"); a.body != `{"value":[1,"ü"]}` {
		t.Errorf("JSON = %d %s", a.code, a.body)
	}
	for path, code := range map[string]int{
		"/users/none": 404, "/users/a%20b": 400, "/users/" + strings.Repeat("k", 246): 400,
		"/users": 400,
	} {
		if a := r.get(path); a.code != code {
			t.Errorf("GET %s = %d %s, want %d", path, a.code, a.body, code)
		}
	}
	if a := r.get("/users?key=in.(42,none,7)"); a.body != "["+alice+"]" {
		t.Errorf("several = %d %s", a.code, a.body)
	}
	// Others' changes show when the ttl is over, or to whom asks for it.
	server.Set("user:42", "Bob|")
	server.Set("page", "2")
	if a := r.get("/users/42"); a.body != alice {
		t.Errorf("within the ttl = %s", a.body)
	}
	if a := r.get("/users/42", "Cache-Control: no-cache"); !strings.Contains(a.body, "Bob") {
		t.Errorf("with no-cache = %s", a.body)
	}
	if a := r.get("/plain/page"); a.body != `{"value":2}` {
		t.Errorf("without a ttl = %s", a.body)
	}
	if !strings.Contains(r.log.String(), "memcached reports no changes") {
		t.Errorf("the log does not say why there is no feed:\n%s", r.log)
	}
	server.Pause()
	if a := r.get("/users/42"); a.code != 200 {
		t.Errorf("what is kept, with the server frozen = %d %s", a.code, a.body)
	}
	if a := r.get("/plain/page"); a.code != 503 {
		t.Errorf("what is not = %d %s", a.code, a.body)
	}
	server.Resume()
}

func TestMemcached_ServeWritesUnderConditions(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMemcached(t)
	r := serve(t, "-c", configFile(t, fmt.Sprintf(memcachedConfig, server.URL())))
	const jsonType = "Content-Type: application/json"
	put := func(body string, code int, headers ...string) answer {
		t.Helper()
		a := r.do("PUT", "/users/1", body, append(headers, jsonType)...)
		if a.code != code {
			t.Errorf("PUT %s with %v = %d %s, want %d", body, headers, a.code, a.body, code)
		}
		return a
	}
	r.get("/raw/1") // that there is none is kept
	tag := put(`{"name":"Ann"}`, 201).header.Get("Etag")
	if a := r.get("/raw/1"); a.body != `{"value":"Ann"}` {
		t.Errorf("another resource of the prefix = %d %s", a.code, a.body)
	}
	put(`{"name":"Eve"}`, 412, "If-None-Match: *")
	put(`{"name":"Ann","mail":"a@b"}`, 200, "If-Match: "+tag)
	put(`{"name":"Eve"}`, 412, "If-Match: "+tag)
	put(`{"name":"a|b"}`, 400)
	if value, _, _ := server.Get("user:1"); value != "Ann|a@b" {
		t.Errorf("the value is %q", value)
	}
	r.shows("/users/1", "a@b", 0)
	if a := r.do("PATCH", "/users/1", `{"mail":null}`, jsonType); a.code != 200 {
		t.Errorf("PATCH = %d %s", a.code, a.body)
	}
	r.shows("/raw/1", `"Ann"`, 0)
	if a := r.do("DELETE", "/users/1", ""); a.code != 204 {
		t.Errorf("DELETE = %d %s", a.code, a.body)
	}
	if a := r.do("DELETE", "/users/1", ""); a.code != 404 {
		t.Errorf("DELETE again = %d %s", a.code, a.body)
	}
	if a := r.get("/raw/1"); a.code != 404 {
		t.Errorf("what was deleted = %d %s", a.code, a.body)
	}
}

func TestMemcached_ServeSurvivesARestart(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMemcached(t)
	server.Set("page", "1")
	server.Set("user:1", "Ann")
	r := serve(t, "-c", configFile(t, fmt.Sprintf(memcachedConfig, server.URL())))
	r.shows("/plain/page", "1", 0)
	r.shows("/users/1", "Ann", 0)
	server.Restart()
	if a := r.get("/plain/page"); a.code != 404 {
		t.Errorf("after the restart = %d %s", a.code, a.body)
	}
	if a := r.get("/users/1"); a.code != 404 { // though its ttl is not over
		t.Errorf("what was kept before the restart = %d %s", a.code, a.body)
	}
	server.Stop()
	if a := r.get("/plain/page"); a.code != 503 {
		t.Errorf("without a server = %d %s", a.code, a.body)
	}
	server.Start()
	server.Set("page", "2")
	r.shows("/plain/page", "2", 10*time.Second)
}

func TestMemcached_CommandsSayWhatThereIs(t *testing.T) {
	server := dbtest.NewMemcached(t)
	file := configFile(t, fmt.Sprintf(memcachedConfig, server.URL()))
	check := mustCommand(t, "check", "-c", file)
	for _, want := range []string{"/users/{key}", "get user:{key}", "answers at " + server.Addr(),
		"nothing of plain is kept"} {
		if !strings.Contains(check, want) {
			t.Errorf("check does not say %q:\n%s", want, check)
		}
	}
	if strings.Contains(check, "nothing of users is kept") {
		t.Errorf("check says that a ttl keeps nothing:\n%s", check)
	}
	for _, args := range [][]string{{"doctor", server.URL()}, {"doctor", "-c", file}} {
		out := mustCommand(t, args...)
		if !strings.Contains(out, "answers at") || !strings.Contains(out, "reports no changes") ||
			strings.Contains(out, "nothing of plain is kept") != (args[1] == "-c") {
			t.Errorf("%q says:\n%s", args, out)
		}
	}
	for _, args := range [][]string{{"serve", server.URL()}, {"init", server.URL()}} {
		code, _, stderr := command(t, args...)
		if code == 0 || !strings.Contains(stderr, "memcached has no catalogue") {
			t.Errorf("%q: exit %d: %s", args, code, stderr)
		}
	}
	server.Stop()
	if code, _, stderr := command(t, "check", "-c", file); code == 0 {
		t.Errorf("check without a server succeeds: %s", stderr)
	}
}
