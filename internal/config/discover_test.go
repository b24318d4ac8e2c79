package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hotrow/hotrow/internal/source"
)

// catalog has the tables of the demo, and what makes a configuration hard to
// write.
func catalog() *source.Catalog {
	column := func(names ...string) (list []source.Column) {
		for _, n := range names {
			list = append(list, source.Column{Name: n})
		}
		return list
	}
	return &source.Catalog{Server: "PostgreSQL 15.18\nsources: {}", Tables: []source.Table{
		{Schema: "public", Default: true, Name: "dept", Key: []string{"deptno"},
			Comment: "all\nour: departments", Columns: column("deptno", "dname")},
		{Schema: "public", Default: true, Name: "emp", Key: []string{"empno"},
			Columns: column("empno", "deptno", "password_hash", "api_key"),
			Foreign: []source.ForeignKey{{Columns: []string{"deptno"}, Table: "public.dept",
				References: []string{"deptno"}}}},
		{Schema: "crm", Name: "city", Key: []string{"name", "state"}},
		{Schema: "public", Default: true, Name: "log", Refused: "no primary key"},
		{Schema: "public", Default: true, Name: "odd: \"name\" ${X} #1",
			Key: []string{"on", "a b"}},
		{Schema: "public", Default: true, Name: "true", Key: []string{"null"}},
		{Schema: "public", Default: true, Name: "-", Key: []string{"id"}},
		{Schema: "public", Default: true, Name: "a/b?", Key: []string{"id"}},
		{Schema: "public", Default: true, Name: "123", Key: []string{"1.5"}},
	}}
}

func TestInit_LoadsBack(t *testing.T) {
	text := string(Init(catalog(), "postgres://u:hunter2@h/db?password=hunter3&sslmode=disable", ""))
	if strings.Contains(text, "hunter") {
		t.Errorf("the password is written down:\n%s", text)
	}
	c, warnings, err := load("hotrow.yaml", text, nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, warnings %v\n%s", err, warnings, text)
	}
	want := []string{"123", "a/b?", "crm.city", "dept", "emp", `odd: "name" ${X} #1`, "true"}
	if diff := cmp.Diff(want, sortedKeys(c.Resources)); diff != "" {
		t.Errorf("resources (-want +got):\n%s\n%s", diff, text)
	}
	odd := c.Resources[`odd: "name" ${X} #1`]
	if odd.Table != `odd: "name" ${X} #1` {
		t.Errorf("table: got %q", odd.Table)
	}
	if diff := cmp.Diff([]string{"on", "a b"}, odd.Key); diff != "" {
		t.Errorf("key (-want +got):\n%s", diff)
	}
	if f := c.Resources["emp"].Fields["password_hash"]; f == nil || !f.Hide {
		t.Errorf("a column that looks like a secret is shown:\n%s", text)
	}
	const embed = "    # embed:\n    #   emp: {resource: emp, on: deptno, order: empno}\n"
	if !strings.Contains(text, embed) {
		t.Errorf("no embed is suggested:\n%s", text)
	}
	uncommented := strings.NewReplacer("    # embed:", "    embed:", "    #   emp:", "      emp:").
		Replace(text)
	if c, _, err = load("hotrow.yaml", uncommented, nil); err != nil {
		t.Fatalf("with its suggestions: %v\n%s", err, uncommented)
	}
	if c.Resources["dept"].Embed["emp"] == nil {
		t.Errorf("the suggestion embeds nothing:\n%s", uncommented)
	}
}

// TestInit_NamesTheVariableWithThePassword: what is printed works where the variable is.
func TestInit_NamesTheVariableWithThePassword(t *testing.T) {
	const url = "postgres://u:hunter2@h/db"
	text := string(Init(catalog(), url, "DATABASE_URL"))
	if strings.Contains(text, "hunter") {
		t.Errorf("the password is written down:\n%s", text)
	}
	c, _, err := load("hotrow.yaml", text, []string{"DATABASE_URL=" + url})
	if err != nil || c.Sources["main"].URL.Reveal() != url {
		t.Errorf("%v; the source of:\n%s", err, text)
	}
	if text := string(Init(catalog(), "postgres://u@h/db", "DATABASE_URL")); strings.Contains(text, "${DATABASE_URL}") {
		t.Errorf("a URL without a password is not written down:\n%s", text)
	}
}

func TestInit_OfAnEmptyDatabaseLoadsBack(t *testing.T) {
	for _, url := range []string{"app.db", `a "b" ${c}.db`, "postgres://h/db"} {
		text := string(Init(&source.Catalog{}, url, ""))
		c, _, err := load("hotrow.yaml", text, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if got := c.Sources["main"].URL.Reveal(); got != NormalizeURL(url) {
			t.Errorf("got url %q, want %q", got, NormalizeURL(url))
		}
	}
}

// ofURL is the configuration of a URL.
func ofURL(t *testing.T, url string) *Config {
	t.Helper()
	c, _, err := FromURL(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDiscover_TakesEveryTableWithAKey(t *testing.T) {
	c, leftOut, err := ofURL(t, "postgres://h/db").Discover(catalog(), "main", false)
	if err != nil {
		t.Fatal(err)
	}
	specs, err := c.Specs()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range specs {
		if s.Writable || !s.Spec.Hide || s.Source != "main" {
			t.Errorf("%s: writable %v, hides secrets %v, source %q", s.Name, s.Writable,
				s.Spec.Hide, s.Source)
		}
	}
	want := []Omission{
		{What: "column public.emp.api_key", Why: "its name looks like a secret's"},
		{What: "column public.emp.password_hash", Why: "its name looks like a secret's"},
		{What: "table public.-", Why: "no path can have this name"},
		{What: "table public.log", Why: "no primary key"},
	}
	if diff := cmp.Diff(want, leftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	c, _, err = ofURL(t, "postgres://h/db").Discover(catalog(), "main", true)
	if err != nil || !c.Resources["dept"].Writable() ||
		c.Resources["dept"].Access.Write != "public" {
		t.Errorf("--writable: got %+v, %v", c.Resources["dept"], err)
	}
}

// A URL is served as the file that Init writes for it is, whatever has a default:
// but for columns that look like secrets, which a file names, and which are hidden
// for a URL when they are made later, too.
func TestDiscover_IsWhatInitWrites(t *testing.T) {
	const url = "postgres://h/db"
	byURL, _, err := ofURL(t, url).Discover(catalog(), "main", false)
	if err != nil {
		t.Fatal(err)
	}
	byFile := mustLoad(t, string(Init(catalog(), url, "")))
	for name, r := range byURL.Resources {
		if !r.HideSecrets {
			t.Errorf("%s does not hide secrets", name)
		}
		r.HideSecrets = false
	}
	for _, r := range byFile.Resources {
		for column, f := range r.Fields {
			if *f != (Field{Hide: true}) {
				t.Errorf("init writes of column %s %+v", column, *f)
			}
		}
		r.Fields = nil
	}
	if diff := cmp.Diff(byFile, byURL, ignoreDoc); diff != "" {
		t.Errorf("(-file +URL):\n%s", diff)
	}
}

// Resources that nobody has completed have zeros for defaults: a setting of the
// source would not count.
func TestSpecs_RefusesWhatIsNotComplete(t *testing.T) {
	c := ofURL(t, "postgres://h/db")
	c.Resources["t"] = DefaultResource()
	c.Resources["t"].Source, c.Resources["t"].Table = "main", "t"
	if specs, err := c.Specs(); err == nil {
		t.Errorf("got %+v", specs)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	specs, err := c.Specs()
	if err != nil || specs[0].OnLag != "stale" {
		t.Errorf("got %+v, %v", specs, err)
	}
}

// Of two tables of one name the one whose schema is part of the name is served,
// in both forms, and the other is told.
func TestDiscover_LeavesOutATableWhoseNameIsTaken(t *testing.T) {
	tables := []source.Table{
		{Schema: "public", Default: true, Name: "other.t", Key: []string{"id"}},
		{Schema: "public", Default: true, Name: "u", Key: []string{"id"}},
		{Schema: "other", Name: "t", Key: []string{"k"}},
	}
	const url = "postgres://h/db"
	for range 2 {
		cat := &source.Catalog{Tables: tables}
		c, leftOut, err := ofURL(t, url).Discover(cat, "main", false)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"other.t", "u"}, sortedKeys(c.Resources)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := c.Resources["other.t"].Key[0]; got != "k" {
			t.Errorf("other.t has the key %s: it is the wrong table", got)
		}
		want := []Omission{{What: "table public.other.t", Conflict: true,
			Why: `"other.t" (schema "public") would be the resource "other.t", which "t" ` +
				`(schema "other") is: give it another name in a configuration file`}}
		if diff := cmp.Diff(want, leftOut); diff != "" {
			t.Errorf("left out (-want +got):\n%s", diff)
		}
		text := string(Init(cat, url, ""))
		if !strings.Contains(text, want[0].Why) {
			t.Errorf("init does not say so:\n%s", text)
		}
		byFile := mustLoad(t, text)
		if diff := cmp.Diff(byFile.Resources["other.t"].Key, c.Resources["other.t"].Key); diff != "" {
			t.Errorf("(-file +URL):\n%s", diff)
		}
		slices.Reverse(tables)
	}
}
