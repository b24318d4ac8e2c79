package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// readLinks returns the fronts that give the link spring, or a list with it, to who has
// neither a key nor a token.
func readLinks(r *running) (open []string) {
	add := func(front, answer string) {
		if strings.Contains(answer, "example.com/spring") {
			open = append(open, front)
		}
	}
	for _, path := range []string{"/links/spring", "/links", "/links?select=code,url", "/links?code=eq.spring"} {
		add("http", r.get(path).body)
	}
	add("resp", r.dialRESP().do("GET links:spring"))
	add("resp", r.dialRESP().do("HGETALL links:spring"))
	add("memcache", r.dialMemcache().do("get links:spring"))
	add("memcache", r.dialMemcache().do("mg links:spring v"))
	body, _ := r.dialWire("").get("links", "spring")
	add("wire", body)
	slices.Sort(open)
	return slices.Compact(open)
}

// serveSpring serves a shortener with one link, on all fronts.
func serveSpring(t *testing.T, more string) (r *running, file string) {
	t.Helper()
	dir := t.TempDir()
	file = configFile(t, fmt.Sprintf("version: 1\nlinks:\n  database: 'sqlite:%s/l.db'\n"+
		"  log: {dir: '%s/clicks', max: 64MiB}\n%s", dir, dir, more))
	r = start(t, nil, "-c", file)
	until(t, r.log, r.complete)
	dbtest.SQLiteShell(t, dir+"/l.db", "INSERT INTO links (code, url, url_hash, created_at, updated_at) "+
		"VALUES ('spring', 'https://example.com/spring', x'00', 1, 1)")
	return r, file
}

// TestServe_LinksAreNotForEverybodyOnOtherFronts: as docs/explanation/access.md says it.
func TestServe_LinksAreNotForEverybodyOnOtherFronts(t *testing.T) {
	t.Parallel()
	all := []string{"http", "memcache", "resp", "wire"}
	// It waits by HTTP alone: each question over another front is a connection more.
	awaits := func(r *running, want []string) {
		until(t, r.log, func() bool {
			return strings.Contains(r.get("/links/spring").body, "example.com/spring") == (want != nil)
		})
		if got := readLinks(r); !slices.Equal(got, want) {
			t.Errorf("links are for anybody on %q, want %q", got, want)
		}
	}
	for more, want := range map[string][]string{
		"  base_url: https://s.example\n":                      nil,
		"  base_url: https://s.example\n  access: public\n":    all,
		"  access: none\n":                                     nil,
		"  trusted_proxies: [127.0.0.1/32]\n":                  nil,
		"  hosts: [s.example]\n":                               nil,
		"  open: true\n":                                       nil,
		"http: {hosts: [api.example]}\n":                       nil,
		"auth:\n  tokens:\n" + tokenLine("ana", "t", "reader"): nil,
	} {
		r, _ := serveSpring(t, more)
		if got := readLinks(r); !slices.Equal(got, want) {
			t.Errorf("with %q links are for anybody on %q, want %q", more, got, want)
		}
		if index := r.get("/").body; strings.Contains(index, `"links"`) != (want != nil) {
			t.Errorf("with %q the index has %s", more, index)
		}
		r.stop()
	}
	for _, by := range []string{"the API", "the command line"} {
		r, file := serveSpring(t, "")
		awaits(r, all)
		if by == "the API" {
			resp, err := http.Post(r.linksAddr()+"/api/v1/keys", "application/json",
				strings.NewReader(`{"name":"ana","role":"admin"}`))
			if err != nil || resp.StatusCode != http.StatusCreated {
				t.Fatal(resp, err)
			}
			_ = resp.Body.Close()
			if got := readLinks(r); got != nil {
				t.Errorf("once there is a key links are for anybody on %q", got)
			}
		} else {
			mustCommand(t, "links", "key", "add", "ana", "--role=admin", "-c", file)
			awaits(r, nil)
		}
		if code, _ := followed(t, "GET", r.linksAddr()+"/spring"); code != 302 {
			t.Errorf("a redirect is %d", code)
		}
		r.stop()
	}
}

// TestCheck_NoResourceShowsKeysOfLinks: not even one that a file names.
func TestCheck_NoResourceShowsKeysOfLinks(t *testing.T) {
	dir := t.TempDir()
	for _, table := range []string{"link_keys", "link_users", "click_salt"} {
		file := configFile(t, "version: 1\nsources: {main: {url: 'sqlite:"+dir+"/l.db'}}\nresources:\n  k: {table: "+
			table+"}\nlinks:\n  database: main\n  log: {dir: '"+dir+"/clicks', max: 64MiB}\n")
		dbtest.SQLiteShell(t, dir+"/l.db", "SELECT 1")
		for _, verb := range []string{"serve", "check"} {
			code, _, stderr := command(t, verb, "-c", file)
			if code == 0 || !strings.Contains(stderr, "resources.k.table") {
				t.Errorf("%s takes %s: %d %s", verb, table, code, stderr)
			}
		}
	}
}
