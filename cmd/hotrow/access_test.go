package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/links/api"
	"github.com/hotrow/hotrow/internal/ops"
)

// A reach is a line of docs/explanation/access.md: who may ask a path.
type reach struct{ method, path, who string }

// reaches returns the lines of a section whose paths begin with prefix.
func reaches(t *testing.T, heading, prefix string) (list []reach) {
	t.Helper()
	text, err := os.ReadFile("../../docs/explanation/access.md")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(section(string(text), heading)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || !strings.Contains(cells[0], "`/") {
			continue
		}
		who := strings.Split(strings.TrimPrefix(strings.Split(strings.TrimSpace(cells[2]), ";")[0], "key: "), ", ")
		for _, path := range code.FindAllStringSubmatch(cells[0], -1) {
			for i, method := range strings.Split(strings.TrimSpace(cells[1]), ", ") {
				if strings.HasPrefix(path[1], prefix) {
					list = append(list, reach{method, path[1], who[min(i, len(who)-1)]})
				}
			}
		}
	}
	if len(list) == 0 {
		t.Fatalf("no paths below %q", heading)
	}
	return list
}

// routesOf returns what a table has, with {} for every name.
func routesOf(list []reach) (routes []string) {
	for _, r := range list {
		routes = append(routes, r.method+" "+regexp.MustCompile(`\{\w+\}`).ReplaceAllString(r.path, "{}"))
	}
	return routes
}

// TestAccess_TheTableHasEveryPath: a path that is added needs a line that says who
// may reach it.
func TestAccess_TheTableHasEveryPath(t *testing.T) {
	table := reaches(t, "## The operator's port", "/")
	var port []string
	for _, r := range ops.Routes(ops.Options{Transports: func() []string { return nil },
		Transport: func(string) (map[string]uint64, bool) { return nil, false }}) {
		pattern := strings.TrimSuffix(r.Pattern, "{$}")
		port = append(port, pattern)
		i := slices.Index(routesOf(table), pattern)
		want := "operator"
		if r.Who == ops.Anybody {
			want = "anybody"
		}
		if i < 0 || table[i].who != want {
			t.Errorf("docs/explanation/access.md does not say that %s is for %s", pattern, want)
		}
	}
	for name, both := range map[string][2][]string{
		"the operator's port": {port, routesOf(table)},
		"links":               {api.Routes(), routesOf(reaches(t, "## Links", "/api/v1/"))},
	} {
		for i, problem := range []string{"lacks", "has, and nothing answers,"} {
			for _, route := range both[i] {
				if !slices.Contains(both[1-i], route) {
					t.Errorf("docs/explanation/access.md, %s: it %s %s", name, problem, route)
				}
			}
		}
	}
}

// A walk asks the paths of one listener as everybody, in every way.
type walk struct {
	t     *testing.T
	base  string
	proxy string            // the same behind a reverse proxy
	keys  map[string]string // by role
	may   func(role, who string) bool
}

// ask returns the status of a request; bodies are not waited for.
func (w *walk) ask(r reach, base, token string, headers ...string) int {
	w.t.Helper()
	path := strings.NewReplacer("{code}", "spring", "{id}", "999", "{resource}", "pay", "{key}", "1",
		"{slug}", "not-found").Replace(r.path)
	if strings.Contains(path, "pprof/profile") || strings.Contains(path, "pprof/trace") {
		path += "?seconds=1"
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, base+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Accept", "*/*")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		w.t.Fatalf("%v: %v", r, err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// all asks everything.
func (w *walk) all(list []reach) {
	roles := []string{"", "wrong"}
	for role := range w.keys {
		roles = append(roles, role)
	}
	for _, r := range list {
		for _, role := range roles {
			token := w.keys[role]
			if role == "wrong" {
				token = "hr_wrong"
			}
			may := w.may(role, r.who)
			for how, base := range map[string]string{"directly": w.base, "behind a proxy": w.proxy} {
				got := w.ask(r, base, token)
				denied := got == 401 || got == 403
				if known := w.keys[role] != ""; denied == may || !may && (got == 403) != known {
					w.t.Errorf("%s: %s %s as %q = %d, and it is for %s", how, r.method, r.path, role, got, r.who)
				}
			}
			if got := w.ask(r, w.base, token, "Host", "evil.example"); got != 421 {
				w.t.Errorf("%s %s as %q for a foreign Host = %d", r.method, r.path, role, got)
			}
			writes := r.method != "GET" && r.method != "HEAD"
			if got := w.ask(r, w.base, token, "Origin", "https://evil.example"); writes && got != 403 {
				w.t.Errorf("%s %s as %q from a foreign page = %d", r.method, r.path, role, got)
			}
		}
	}
}

// TestAccess_TheTableIsTrue asks every line of the tables as everybody.
func TestAccess_TheTableIsTrue(t *testing.T) {
	dir, db := t.TempDir(), database(t,
		"CREATE TABLE pay (id INTEGER PRIMARY KEY, sal INT); INSERT INTO pay VALUES (1, 2);")
	roles := map[string]string{"reader": "t-reader", "editor": "t-editor", "operator": "t-operator"}
	tokens := ""
	for role, secret := range roles {
		tokens += tokenLine(role, secret, role)
	}
	file := configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: 'sqlite:%s'}}\nresources:\n"+
		"  pay: {table: pay, access: {read: 'role:reader', write: 'role:editor'}}\nauth:\n  tokens:\n%s"+
		"links:\n  base_url: https://s.example\n  database: 'sqlite:%s/l.db'\n"+
		"  log: {dir: '%s/clicks', max: 64MiB, segment: 1MiB}\n", db, tokens, dir, dir))
	keys := map[string]string{}
	for _, role := range []string{"read", "write", "admin"} {
		keys[role] = strings.TrimSpace(mustCommand(t, "links", "key", "add", role, "--role="+role, "-c", file))
	}
	r := serve(t, "-c", file)
	same := func(role, who string) bool { return who == "anybody" || role == who }
	ranks := []string{"", "wrong", "anybody", "read", "write", "admin"}
	for _, w := range []struct {
		name, heading, prefix, base string
		keys                        map[string]string
		may                         func(role, who string) bool
	}{
		{"ops", "## The operator's port", "/", r.ops, roles, same},
		{"http", "## HTTP: resources", "/", r.http, roles, func(role, who string) bool {
			return same(role, strings.NewReplacer("`access.read`", "reader", "`access.write`", "editor").Replace(who))
		}},
		{"links", "## Links", "/api/v1/", r.linksAddr(), keys, func(role, who string) bool {
			return who == "anybody" || slices.Index(ranks, role) >= slices.Index(ranks, who)
		}},
	} {
		t.Run(w.name, func(t *testing.T) {
			walk := walk{t, w.base, behind(t, w.base, proxies[0]), w.keys, w.may}
			walk.all(reaches(t, w.heading, w.prefix))
		})
	}
}
