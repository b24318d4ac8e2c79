package main

import (
	"strings"
	"testing"
)

// A document has one name: what get, get --direct and a request take, invalidate
// takes, too. It says so when nothing was kept of it.
func TestInvalidate_TakesTheNamesOfGet(t *testing.T) {
	t.Parallel()
	db := database(t, `CREATE TABLE "a/b" (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO "a/b" VALUES (1, 'slash');
		CREATE TABLE city (name TEXT, state TEXT, v TEXT, PRIMARY KEY (name, state));
		INSERT INTO city VALUES ('Tulsa, or so', '50%', 'comma');
		CREATE TABLE word (w TEXT PRIMARY KEY, v TEXT); INSERT INTO word VALUES ('naïve/50%', 'percent')`)
	r := serve(t, db)
	for name, part := range map[string]string{
		"a%2Fb/1": "slash", "city/Tulsa%2C%20or%20so,50%25": "comma", "word/na%C3%AFve%2F50%25": "percent",
	} {
		if a := r.hit("/" + name); !strings.Contains(a.body, part) {
			t.Fatalf("GET /%s = %d %s", name, a.code, a.body)
		}
		if text := mustCommand(t, "get", name, "--server", r.http); !strings.Contains(text, part) {
			t.Errorf("get %s: %s", name, text)
		}
		if text := mustCommand(t, "get", name, "--direct", db); !strings.Contains(text, part) {
			t.Errorf("get %s --direct: %s", name, text)
		}
		if text := mustCommand(t, "invalidate", name, "--ops", r.ops); text != name+" is forgotten\n" {
			t.Errorf("invalidate %s: %s", name, text)
		}
		if text := mustCommand(t, "invalidate", name, "--ops", r.ops); text != "nothing was kept of "+name+"\n" {
			t.Errorf("invalidate %s again: %s", name, text)
		}
		if a := r.get("/" + name); strings.Contains(a.header.Get("Cache-Status"), "hit") {
			t.Errorf("GET /%s after invalidate: %s", name, a.header.Get("Cache-Status"))
		}
	}
	if text := mustCommand(t, "invalidate", "a%2Fb", "--ops", r.ops); text != "a%2Fb is forgotten\n" {
		t.Errorf("invalidate a%%2Fb: %s", text)
	}
	for name, says := range map[string]string{
		"a/b": "no such resource", "city/Tulsa": "key", "word/%zz": "percent sign", "/": "names no resource",
		"nope/1": "no such resource", "": "<document> is empty",
	} {
		code, stdout, stderr := command(t, "invalidate", name, "--ops", r.ops)
		if code == 0 || !strings.Contains(stderr, says) {
			t.Errorf("invalidate %q: exit %d, %s%s, want %q", name, code, stdout, stderr, says)
		}
	}
}
