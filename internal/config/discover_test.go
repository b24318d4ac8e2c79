package config

import (
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
	text := string(Init(catalog(), "postgres://u:hunter2@h/db?password=hunter3&sslmode=disable"))
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
	if diff := cmp.Diff([]KeyColumn{{Column: "on"}, {Column: "a b"}}, odd.Key); diff != "" {
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

func TestInit_OfAnEmptyDatabaseLoadsBack(t *testing.T) {
	for _, url := range []string{"app.db", `a "b" ${c}.db`, "postgres://h/db"} {
		text := string(Init(&source.Catalog{}, url))
		c, _, err := load("hotrow.yaml", text, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if got := c.Sources["main"].URL.Reveal(); got != NormalizeURL(url) {
			t.Errorf("got url %q, want %q", got, NormalizeURL(url))
		}
	}
}

func TestDiscover_TakesEveryTableWithAKey(t *testing.T) {
	resources, leftOut, err := Discover(catalog(), "main", false)
	if err != nil {
		t.Fatal(err)
	}
	c := Default()
	c.Sources["main"] = DefaultSource()
	c.Sources["main"].URL = "postgres://h/db"
	c.Resources = resources
	if err := c.Validate(); err != nil {
		t.Error(err)
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
	want := []string{
		"column public.emp.api_key: its name looks like a secret's",
		"column public.emp.password_hash: its name looks like a secret's",
		"table public.-: no path can have this name",
		"table public.log: no primary key",
	}
	if diff := cmp.Diff(want, leftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	resources, _, err = Discover(catalog(), "main", true)
	if err != nil || !resources["dept"].Writable() || resources["dept"].Access.Write != "public" {
		t.Errorf("--writable: got %+v, %v", resources["dept"], err)
	}
}

func TestDiscover_RefusesTwoTablesOfOneName(t *testing.T) {
	cat := &source.Catalog{Tables: []source.Table{
		{Schema: "public", Default: true, Name: "a.b", Key: []string{"id"}},
		{Schema: "a", Name: "b", Key: []string{"id"}},
	}}
	_, _, err := Discover(cat, "main", false)
	const both = `"a.b" (schema "public") and "b" (schema "a")`
	if err == nil || !strings.Contains(err.Error(), both) {
		t.Errorf("got %v", err)
	}
}
