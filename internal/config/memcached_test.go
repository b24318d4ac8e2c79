package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

func TestMemcached_MappingBecomesASpec(t *testing.T) {
	c := mustLoad(t, `
sources: {main: {url: "memcached://localhost:11211"}}
resources:
  raw: {}
  users:
    key: id
    access: {write: public}
    memcached: {fields: [name, mail], separator: ";", prefix: "user:", expire: 1h, key_type: int}
  name:
    memcached: {format: json, fields: name}
`)
	specs, err := c.Specs()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]*source.Spec)
	methods := make(map[string][]string)
	for _, s := range specs {
		got[s.Name], methods[s.Name] = s.Spec, s.Methods
	}
	want := map[string]*source.Spec{
		"raw": {Name: "raw", Value: &source.ValueSpec{Format: source.ValueRaw, KeyKind: row.Text}},
		"users": {Name: "users", Key: []string{"id"}, Value: &source.ValueSpec{
			Format: source.ValueFields, Fields: []string{"name", "mail"}, Separator: ";",
			Prefix: "user:", KeyKind: row.Int, Expire: time.Hour}},
		"name": {Name: "name", Value: &source.ValueSpec{
			Format: source.ValueJSON, Fields: []string{"name"}, KeyKind: row.Text}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("specs (-want +got):\n%s", diff)
	}
	wantMethods := map[string][]string{
		"raw": {"get"}, "name": {"get"}, "users": {"get", "put", "patch", "delete"},
	}
	if diff := cmp.Diff(wantMethods, methods); diff != "" {
		t.Errorf("methods (-want +got):\n%s", diff)
	}
}

// A mapping is shown where there is one, and again makes the same.
func TestMemcached_MappingIsDumpedWhereThereIsOne(t *testing.T) {
	sql := mustLoad(t, "sources: {main: {url: \"sqlite:a.db\"}}\nresources: {t: {table: t}}\n")
	if text, err := sql.Dump(); err != nil || strings.Contains(string(text), "memcached") {
		t.Errorf("%v:\n%s", err, text)
	}
	c := mustLoad(t, `
sources: {main: {url: "memcached://localhost"}}
resources: {t: {memcached: {fields: [a, b], separator: ";", prefix: "t:"}}}
`)
	text, err := c.Dump()
	if err != nil {
		t.Fatal(err)
	}
	again := mustLoad(t, string(text))
	if diff := cmp.Diff(c.Resources["t"].Memcached, again.Resources["t"].Memcached); diff != "" {
		t.Errorf("loaded again (-want +got):\n%s\n%s", diff, text)
	}
}
