package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// twinsSQL has each table twice: with the type en, and with domains over it.
var twinsSQL = `
CREATE TYPE en AS ENUM ('z', 'a', 'b', 'q r');
CREATE DOMAIN den AS en;
CREATE DOMAIN deep AS den CHECK (VALUE::en <> 'q r');
` + twinSQL + domainTwin(twinSQL)

const twinSQL = `
CREATE TABLE en_t (k en PRIMARY KEY, v int);
INSERT INTO en_t VALUES ('z', 1), ('a', 2), ('b', 3);
CREATE TABLE en_p (a int, k en, l en NOT NULL, v text, PRIMARY KEY (a, k, l));
INSERT INTO en_p VALUES (1, 'z', 'a', 'x'), (1, 'a', 'b', 'y'), (2, 'b', 'z', 'z');
CREATE TABLE en_x (id int PRIMARY KEY, v en, list en[], parent en);
INSERT INTO en_x VALUES (1, 'a', '{a,z}', 'a'), (2, NULL, NULL, NULL), (3, 'z', '{}', 'a'), (4, 'b', '{b}', 'b');
CREATE INDEX ON en_x (v);
CREATE INDEX ON en_x (parent);
`

// domainTwin returns statements about the tables with domains.
func domainTwin(text string) string {
	return strings.NewReplacer("en_", "den_", " en[]", " den[]", "parent en ", "parent deep ",
		"l en ", "l deep ", " en", " den").Replace(text)
}

// twinsFile serves the tables, and each t with the rows of its x and of the other's.
func twinsFile(url string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nsources: {main: {url: %q}}\nresources:\n", url)
	for _, twin := range []string{"en", "den"} {
		resource := func(name, table, key, more string) {
			fmt.Fprintf(&b, "  %[1]s_%[2]s: {table: %[1]s_%[3]s, key: [%[4]s], access: {write: public}%[5]s}\n",
				twin, name, table, key, more)
		}
		resource("t", "t", "k", "")
		resource("p", "p", "a, k, l", "")
		resource("x", "x", "id", "")
		embed := ", embed: {"
		for name, table := range map[string]string{"own": twin + "_x", "other": "en_x", "else": "den_x"} {
			embed += name + ": {resource: " + table + ", on: parent, order: id}, "
		}
		resource("nest", "t", "k", strings.TrimSuffix(embed, ", ")+"}")
	}
	return b.String()
}

// TestPostgres_DomainsOverEnums: a domain over an enum is served as the enum is. PostgreSQL's
// operators take a domain over any other type for the type, and over an enum not.
func TestPostgres_DomainsOverEnums(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t, dbtest.Setup(twinsSQL))
	r := serve(t, "-c", configFile(t, twinsFile(url)))
	same := func(method, path, body string, headers ...string) {
		t.Helper()
		want := r.do(method, strings.ReplaceAll(path, "TABLE", "en"), body, headers...)
		got := r.do(method, strings.ReplaceAll(path, "TABLE", "den"), body, headers...)
		text := strings.ReplaceAll(got.body, "den_", "en_")
		if want.code >= 500 || got.code != want.code || text != want.body {
			t.Errorf("%s %s %s: %d %s\nof the enum: %d %s", method, path, body, got.code, text, want.code,
				want.body)
		}
	}
	for _, path := range []string{
		"/TABLE_t/a", "/TABLE_t/z", "/TABLE_t/no", "/TABLE_t", "/TABLE_t?limit=1", "/TABLE_t?limit=1&after=z",
		"/TABLE_t?limit=2&order=k.desc", "/TABLE_t?k=eq.a", "/TABLE_t?k=neq.a", "/TABLE_t?k=in.(a,b)",
		"/TABLE_t?k=gt.z",
		"/TABLE_t?k=lte.a&order=k", "/TABLE_t?k=isdistinct.a", "/TABLE_t?k=eq(any).{a,b}",
		"/TABLE_t?k=not.eq.a",
		"/TABLE_t?k=eq.no", "/TABLE_t?or=(k.eq.a,v.eq.3)",
		"/TABLE_p/1,z,a", "/TABLE_p/1,z,b", "/TABLE_p", "/TABLE_p?limit=1", "/TABLE_p?limit=1&order=a,k,l",
		"/TABLE_p?k=eq.a&l=eq.b",
		"/TABLE_x?v=eq.a", "/TABLE_x?v=in.(a,z)", "/TABLE_x?v=is.null", "/TABLE_x?v=not.is.null&order=v",
		"/TABLE_x?v=gte.a",
		"/TABLE_x?order=v.desc.nullslast,id&limit=1", "/TABLE_x/1", "/TABLE_x/3", "/TABLE_x?v=eq.a&v=neq.b",
		"/TABLE_x?parent=eq.a&order=id",
		"/TABLE_nest/a", "/TABLE_nest/z", "/TABLE_nest", "/TABLE_nest?k=in.(a,b)",
	} {
		same("GET", path, "")
	}
	// Each page is that of the enum's table which follows its own page.
	pages := func(path string) {
		t.Helper()
		next := [2]string{path, path}
		for range 6 {
			var pages [2]answer
			for i, twin := range []string{"en", "den"} {
				pages[i] = r.get(strings.ReplaceAll(next[i], "TABLE", twin))
				_, after, ok := strings.Cut(pages[i].header.Get("Link"), "after=")
				if next[i] = ""; ok {
					next[i] = path + "&after=" + after[:strings.IndexAny(after, "&>")]
				}
			}
			if pages[0].code != 200 || pages[0].body != pages[1].body {
				t.Errorf("%s: %s\nof the enum: %s", path, pages[1].body, pages[0].body)
			}
			if next[0] == "" || next[1] == "" {
				return
			}
		}
		t.Errorf("%s has no end", path)
	}
	pages("/TABLE_t?limit=1")
	pages("/TABLE_p?limit=1")
	pages("/TABLE_x?limit=1&order=v,id")
	pages("/TABLE_x?limit=1&order=v.desc,id.desc")
	for _, w := range [][3]string{
		{"PUT", "/TABLE_t/a", `{"k":"a","v":20}`}, {"PATCH", "/TABLE_t/a", `{"v":21}`}, {"PATCH",
			"/TABLE_t/b", `{"k":"q r"}`},
		{"POST", "/TABLE_t", `{"k":"a","v":1}`}, {"DELETE", "/TABLE_t/z", ""}, {"POST", "/TABLE_t",
			`{"k":"z","v":7}`},
		{"PUT", "/TABLE_p/2,b,b", `{"v":"new"}`}, {"PATCH", "/TABLE_p/1,z,a", `{"v":"w"}`}, {"DELETE",
			"/TABLE_p/1,a,b", ""},
		{"PATCH", "/TABLE_x/1", `{"v":"z","list":["b","a",null],"parent":"z"}`}, {"PUT", "/TABLE_x/9",
			`{"id":9,"v":"b","parent":"a"}`},
		{"PATCH", "/TABLE_x/2", `{"v":null,"list":null}`},
	} {
		same(w[0], w[1], w[2], "Content-Type: application/json", "Prefer: return=representation")
		for _, path := range []string{"/TABLE_t", "/TABLE_p", "/TABLE_x", "/TABLE_nest"} {
			same("GET", path, "", "Cache-Control: no-cache")
		}
	}
	for _, twin := range []string{"en", "den"} {
		r.do("PUT", "/"+twin+"_nest/a", `{"v":4,"own":[{"id":11,"v":"b","list":["a"]}]}`,
			"Content-Type: application/json")
	}
	same("GET", "/TABLE_nest/a", "")
	r.hit("/den_t/a")
	r.hit("/den_x?parent=eq.a")
	r.hit("/den_nest/a")
	dbtest.Psql(t, url, `INSERT INTO den_x VALUES (78, 'b', NULL, 'a');
		UPDATE den_t SET v = 99 WHERE k::en = 'a'; UPDATE den_x SET id = 77 WHERE id = 78`)
	until(t, r.log, func() bool { return strings.Contains(r.get("/den_t/a").body, "99") })
	until(t, r.log, func() bool { return strings.Contains(r.get("/den_x?parent=eq.a").body, "77") })
	until(t, r.log, func() bool { return strings.Contains(r.get("/den_nest/a").body, "77") })
}

// TestPostgres_ServeLeavesOutWhatDoesNotCompile: a table whose statements the database refuses
// is named, and does not keep the others away. In a configuration it is an error.
func TestPostgres_ServeLeavesOutWhatDoesNotCompile(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t, dbtest.Setup(`CREATE EXTENSION hstore; CREATE TABLE odd (k hstore PRIMARY KEY);
		CREATE TABLE ok1 (id int PRIMARY KEY); INSERT INTO ok1 VALUES (1)`))
	r := serve(t, url)
	if a := r.get("/ok1/1"); a.code != 200 {
		t.Errorf("GET = %d %s", a.code, a.body)
	}
	if log := r.log.String(); !strings.Contains(log, `msg="left out" what="table odd" err=`) ||
		!strings.Contains(log, "has no operator >") {
		t.Errorf("the log does not say that odd is left out, and why:\n%s", log)
	}
	r.stop()
	file := configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: %q}}\nresources:\n"+
		"  odd: {table: odd, key: [k]}\n  ok1: {table: ok1, key: [id]}\n", url))
	var out, log output
	if code := run(t.Context(), []string{"serve", "-c", file}, &out, &log, os.Environ()); code == 0 {
		t.Errorf("a configuration with it is served:\n%s", &log)
	}
}
