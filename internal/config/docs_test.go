package config

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

const page = "../../docs/reference/config.md"

// A pageRow is one key as the reference page has it.
type pageRow struct{ fallback, apply, env, meaning string }

var pageKey = regexp.MustCompile("^\\| `([^`]+)` \\| (.*) \\|$")

// readPage returns the rows of the page's tables of keys.
func readPage(t *testing.T) map[string]pageRow {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, keys, _ := strings.Cut(string(text), "\n## Keys\n")
	keys, _, _ = strings.Cut(keys, "\n## ")
	rows := make(map[string]pageRow)
	for line := range strings.SplitSeq(keys, "\n") {
		m := pageKey.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		cells := strings.Split(m[2], "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		r := pageRow{fallback: cells[0], apply: cells[1], meaning: cells[len(cells)-1]}
		if len(cells) == 4 {
			r.env = strings.Trim(cells[2], "`")
		}
		if _, twice := rows[m[1]]; twice {
			t.Errorf("%s has %s twice", page, m[1])
		}
		rows[m[1]] = r
	}
	return rows
}

// TestReference_HasEveryKeyAndNoOther holds the page and the structs together.
func TestReference_HasEveryKeyAndNoOther(t *testing.T) {
	rows := readPage(t)
	for _, k := range Keys() {
		r, ok := rows[k.Path]
		if !ok {
			t.Errorf("%s does not have %s", page, k.Path)
			continue
		}
		delete(rows, k.Path)
		if r.apply != k.Apply || r.env != k.Env {
			t.Errorf("%s: the page says %q and %q, the structs %q and %q",
				k.Path, r.apply, r.env, k.Apply, k.Env)
		}
		if low, high, ok := strings.Cut(k.Range, ".."); ok &&
			!strings.Contains(r.meaning, low+" to "+high) {
			t.Errorf("%s: the page does not say that it is %s to %s", k.Path, low, high)
		}
		for _, w := range k.OneOf {
			if !strings.Contains(r.meaning, "`"+w+"`") {
				t.Errorf("%s: the page does not say that it may be %s", k.Path, w)
			}
		}
	}
	for path := range rows {
		t.Errorf("%s has %s, which is not a key", page, path)
	}
}

// TestReference_HasTheDefaults compares the page with what an empty file means.
func TestReference_HasTheDefaults(t *testing.T) {
	rows := readPage(t)
	c := Default()
	c.Sources["NAME"] = DefaultSource()
	c.Resources["NAME"] = DefaultResource()
	for _, k := range Keys() {
		r, ok := rows[k.Path]
		if !ok {
			continue // TestReference_HasEveryKeyAndNoOther says so
		}
		v, ok := valueAt(reflect.ValueOf(c).Elem(), k.Path)
		if !ok || v.IsZero() && !strings.HasPrefix(r.fallback, "`") {
			continue
		}
		b, err := yaml.MarshalWithOptions(v.Interface(), yaml.Flow(true))
		if err != nil {
			t.Fatal(err)
		}
		if got := "`" + strings.Trim(string(b), "\"\n") + "`"; got != r.fallback {
			t.Errorf("%s: the default is %s, the page says %s", k.Path, got, r.fallback)
		}
	}
}

// valueAt returns the value at a path, and false within lists and maps that
// are empty.
func valueAt(v reflect.Value, path string) (reflect.Value, bool) {
	for _, name := range strings.Split(path, ".") {
		if v.Kind() == reflect.Map {
			v = v.MapIndex(reflect.ValueOf(name))
			if !v.IsValid() {
				return v, false
			}
			v = v.Elem()
			continue
		}
		if strings.HasSuffix(name, "[]") {
			return v, false
		}
		f, ok := fieldByName(v.Type(), name)
		if !ok {
			return v, false
		}
		v = v.FieldByIndex(f.Index)
	}
	return v, true
}

// TestKeys_BoundsAreReadable checks the tags that checkRange goes by.
func TestKeys_BoundsAreReadable(t *testing.T) {
	bounded := 0
	for _, typ := range []reflect.Type{reflect.TypeFor[HTTP](), reflect.TypeFor[Wire](), reflect.TypeFor[Cache](),
		reflect.TypeFor[Source](), reflect.TypeFor[Pool](), reflect.TypeFor[Feed](),
		reflect.TypeFor[Resource](), reflect.TypeFor[Lists](),
		reflect.TypeFor[Log](), reflect.TypeFor[Disk](), reflect.TypeFor[Memcached](),
		reflect.TypeFor[Links](), reflect.TypeFor[ClickLog](), reflect.TypeFor[Retention](),
		reflect.TypeFor[LinkRate](), reflect.TypeFor[KV](), reflect.TypeFor[SQL](), reflect.TypeFor[Trace](),
		reflect.TypeFor[JWT]()} {
		for i := range typ.NumField() {
			f := typ.Field(i)
			low, high, ok := strings.Cut(f.Tag.Get("range"), "..")
			if !ok {
				continue
			}
			bounded++
			a, b := parseBound(f.Type, low, -1), parseBound(f.Type, high, -1)
			if a < 0 || b <= a {
				t.Errorf("%s.%s: bounds %s and %s are %d and %d", typ, f.Name, low, high, a, b)
			}
		}
	}
	all := 0
	for _, k := range Keys() {
		if k.Range != "" {
			all++
		}
	}
	if bounded != all {
		t.Errorf("%d of %d bounds checked", bounded, all)
	}
}

func TestExample_Loads(t *testing.T) {
	c, warnings, err := Load("../../hotrow.example.yaml", nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, warnings %v", err, warnings)
	}
	if _, err := c.Specs(); err != nil {
		t.Error(err)
	}
	if err := c.CheckExposure(false); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"depts", "emps", "users"}, sortedKeys(c.Resources)); diff != "" {
		t.Error(diff)
	}
}
