package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAccess_TheTableIsTrueOfThePage asks the page of links and the endpoints of
// shortcut as everybody, and holds their paths and the table together.
func TestAccess_TheTableIsTrueOfThePage(t *testing.T) {
	dir := t.TempDir()
	file := configFile(t, fmt.Sprintf("version: 1\nlinks:\n  base_url: https://s.example\n"+
		"  database: 'sqlite:%s/l.db'\n  compat: shortcut\n  jwt_secret: 0123456789abcdef\n"+
		"  log: {dir: '%s/clicks', max: 64MiB, segment: 1MiB}\n", dir, dir))
	keys := map[string]string{}
	for _, role := range []string{"read", "write", "admin"} {
		keys[role] = strings.TrimSpace(mustCommand(t, "links", "key", "add", role, "--role="+role, "-c", file))
	}
	base := serve(t, "-c", file).linksAddr()
	resp, err := http.Post(base+"/auth/new", "application/json", strings.NewReader(
		`{"email":"a@s.example","password":"long enough","firstName":"A","lastName":"B"}`))
	if err != nil {
		t.Fatal(err)
	}
	var user struct{ JWT string }
	err = json.NewDecoder(resp.Body).Decode(&user)
	if _ = resp.Body.Close(); err != nil || user.JWT == "" {
		t.Fatalf("nobody can register: %d %v", resp.StatusCode, err)
	}
	ranks := []string{"", "wrong", "anybody", "read", "write", "admin"}
	byRank := func(role, who string) bool {
		return who == "anybody" || slices.Index(ranks, role) >= slices.Index(ranks, who)
	}
	table := reaches(t, "## Links", "/")
	for _, part := range []struct {
		file, of string
		paths    *regexp.Regexp
		walk     walk
	}{
		{"page/page.go", "^/(\\+|\\{code\\}\\+)",
			regexp.MustCompile(`"(/\+[\w./]*\w|/\+)"`), walk{t, base, "", keys, byRank}},
		{"api/compat.go", "^/(auth|api/(shortcuts|user))", regexp.MustCompile(`"(/(?:auth|api)[\w/]*)"`),
			walk{t, base, "", map[string]string{"user": user.JWT}, func(role, who string) bool { return role == who }}},
	} {
		code, err := os.ReadFile("../../internal/links/" + part.file)
		if err != nil {
			t.Fatal(err)
		}
		var said []reach
		for _, r := range table {
			if regexp.MustCompile(part.of).MatchString(r.path) {
				said = append(said, r)
			}
		}
		has := func(path string) bool {
			return slices.ContainsFunc(said, func(r reach) bool { return strings.TrimSuffix(r.path, "{id}") == path })
		}
		found := part.paths.FindAllStringSubmatch(string(code), -1)
		if len(found) < 4 {
			t.Fatalf("%s has only the paths %q", part.file, found)
		}
		for _, m := range found {
			if !has(m[1]) {
				t.Errorf("docs/explanation/access.md does not say who may reach %s", m[1])
			}
		}
		part.walk.page(said)
	}
}

// page asks every path as everybody. Who has no key, or none that is known, gets
// 401; a form without its fields may be refused for that before its role is.
func (w *walk) page(list []reach) {
	for _, r := range list {
		if strings.HasPrefix(r.path, "/auth") || r.path == "/+/session" || strings.HasPrefix(r.path, "/+/export") {
			continue // they ask for what is in their bodies, or are files, which are not asked here yet
		}
		for _, role := range append([]string{"", "wrong"}, slices.Collect(maps.Keys(w.keys))...) {
			token := w.keys[role]
			if role == "wrong" {
				token = "hr_wrong"
			}
			got, may := w.ask(r, w.base, token), w.may(role, r.who)
			if denied := got == 401 || got == 403; denied == may && (may || token == "" || role == "wrong" ||
				got < 400) {
				w.t.Errorf("%s %s as %q = %d, and it is for %s", r.method, r.path, role, got, r.who)
			}
			if got := w.ask(r, w.base, token, "Host", "evil.com"); got != 421 {
				w.t.Errorf("%s %s as %q for a foreign Host = %d", r.method, r.path, role, got)
			}
			if got := w.ask(r, w.base, token, "Origin", "https://evil.com"); r.method != "GET" && got != 403 {
				w.t.Errorf("%s %s as %q from a foreign page = %d", r.method, r.path, role, got)
			}
		}
	}
}
