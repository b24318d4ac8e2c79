package openapi

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
)

// world returns a resource with a member of each sort, and one that it refers to.
func world() []Resource {
	users := query.NewTable(query.Table{Name: "users", Key: []int{0}, Columns: []query.Column{
		{Name: "id", Member: "id", Compares: true, Part: row.KeyPart{Kind: row.Int, Bits: 64}}}})
	items := query.NewTable(query.Table{Name: "items", Key: []int{0, 1}, Columns: []query.Column{
		{Name: "order", Member: "order", Compares: true, Part: row.KeyPart{Kind: row.Int, Bits: 32}},
		{Name: "sku", Member: "sku", Compares: true, Matches: true, Part: row.KeyPart{Kind: row.Text}},
		{Name: "owner", Member: "owner", Compares: true, Part: row.KeyPart{Kind: row.Int, Bits: 64}},
		{Name: "data", Member: "data"},
	}})
	return []Resource{
		{Name: "users", Any: true, Table: users,
			Shape: row.NewShape([]row.Field{{Name: "id", Column: "id", Kind: row.Int, Key: true, Default: true}}),
			Key:   row.KeyType{{Column: "id", Kind: row.Int, Bits: 64}}},
		{Name: "shop.line items", Any: true, Table: items, Methods: []string{"POST", "PUT", "PATCH", "DELETE"},
			Writes: true,
			Shape: row.NewShape([]row.Field{
				{Name: "order", Column: "order", Kind: row.Int, Key: true},
				{Name: "sku", Column: "sku", Kind: row.Text, Key: true},
				{Name: "owner", Column: "owner", Kind: row.Int, NotNull: true},
				{Name: "price", Column: "price", Kind: row.Decimal, NotNull: true, Default: true},
				{Name: "made-on", Column: "made", Kind: row.Date},
				{Name: "tags", Column: "tags", Kind: row.Array, Elem: row.Text},
				{Name: "data", Column: "data", Kind: row.JSON},
				{Name: "total", Column: "total", Kind: row.Decimal, Generated: true},
				{Name: "parts", Kind: row.Rows, Shape: row.NewShape([]row.Field{
					{Name: "item", Column: "item", Kind: row.Int, Parent: true},
					{Name: "name", Column: "name", Kind: row.Text, NotNull: true}})},
			}),
			Key: row.KeyType{{Column: "order", Kind: row.Int, Bits: 32}, {Column: "sku", Kind: row.Text}},
			Relations: []query.Relation{
				{Name: "users", Table: users, One: true, From: []string{"owner"}, To: []string{"id"},
					Hints: []string{"owner", "items_owner_fkey"}},
				{Name: "users", Table: users, Back: true, From: []string{"order"}, To: []string{"id"},
					Hints: []string{"id"}},
			}},
	}
}

// TestTypes_AreThoseOfSupabase: the whole text, as tsc and supabase-js read it (make interop-openapi).
func TestTypes_AreThoseOfSupabase(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "database.ts"))
	if err != nil {
		t.Fatal(err)
	}
	if got := Types(world()); !bytes.Equal(got, want) {
		t.Errorf("types:\n%s", got)
	}
}

// TestDocument_SaysWhatMayBeSent: a key only in what makes a row, nothing that the database alone
// makes, and what may be left out.
func TestDocument_SaysWhatMayBeSent(t *testing.T) {
	doc, err := Document("/api", world())
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := Document("/api", world()); !bytes.Equal(doc, again) {
		t.Error("the same resources give other bytes")
	}
	var d struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(doc, &d); err != nil {
		t.Fatal(err)
	}
	const name = "shop.line_20items"
	for schema, want := range map[string]string{
		name + ".insert":  `"required":["order","sku","owner"]`,
		name + ".replace": `"required":["owner"]`,
		name + ".update":  `"required":[]`,
		name:              `"required":["order","sku","owner","price","made-on","tags","data","total","parts"]`,
	} {
		var text bytes.Buffer
		if err := json.Compact(&text, d.Components.Schemas[schema]); err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		if !strings.Contains(text.String(), want) {
			t.Errorf("%s has no %s: %s", schema, want, &text)
		}
		if schema != name && strings.Contains(text.String(), `"total"`) {
			t.Errorf("%s has what the database makes: %s", schema, &text)
		}
		if has := strings.Contains(text.String(), `"sku"`); has != (schema == name || schema == name+".insert") {
			t.Errorf("%s has the key: %t", schema, has)
		}
		if schema != name && strings.Contains(text.String(), `"item"`) {
			t.Errorf("%s has whose the embedded rows are: %s", schema, &text)
		}
	}
	if d.Paths["/shop.line%20items/{key}"]["put"] == nil || d.Paths["/users"]["post"] != nil {
		t.Errorf("paths: %s", doc)
	}
}

// TestDocument_FiltersAreThoseOfTheColumn: patterns take what lists take.
func TestDocument_FiltersAreThoseOfTheColumn(t *testing.T) {
	r := world()[1]
	for _, c := range []struct {
		column  int
		name    string
		yes, no []string
	}{
		{0, `"order"`, []string{"eq.5", "not.in.(1,-2)", "is.not_null", "gte.0"},
			[]string{"eq.", "eq.x", "like.5", "5", "is.true", "in.()x"}},
		{1, "sku", []string{"eq.a b", "like.*x", "not.ilike.%", "isdistinct.ä"}, []string{"eq.", "gt"}},
		{3, "data", []string{"is.null", "not.is.null"}, []string{"eq.1", "in.(1)"}},
	} {
		p := r.filter(c.column)
		if p["name"] != c.name {
			t.Errorf("the filter is called %v, want %s", p["name"], c.name)
		}
		pattern := regexp.MustCompile(strings.ReplaceAll(p["schema"].(object)["pattern"].(string), `\u0000`, `\x00`))
		for _, s := range c.yes {
			if !pattern.MatchString(s) {
				t.Errorf("%s refuses %q: %s", c.name, s, pattern)
			}
		}
		for _, s := range c.no {
			if pattern.MatchString(s) {
				t.Errorf("%s takes %q: %s", c.name, s, pattern)
			}
		}
	}
}

// TestEscaped_TwoNamesStayTwo: names of schemas are of letters, digits and "._-" alone.
func TestEscaped_TwoNamesStayTwo(t *testing.T) {
	seen := make(map[string]string)
	for _, name := range []string{"a b", "a_20b", "a_b", "a_2b", "a.b", "ä", "_C3_A4", "__20", "_5F20", "_ 0", ""} {
		got := schemaName(name)
		if other, taken := seen[got]; taken {
			t.Errorf("%q and %q are both %q", name, other, got)
		}
		if seen[got] = name; !regexp.MustCompile("^[A-Za-z0-9._-]*$").MatchString(got) {
			t.Errorf("%q is %q", name, got)
		}
	}
}
