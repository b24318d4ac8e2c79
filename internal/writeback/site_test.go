package writeback

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// A site serves the tables of a database over HTTP.
type site struct {
	t   *testing.T
	db  *database
	set *resource.Set
	h   *httpfront.Handler

	// unserved says why the source does not serve a table; "" when the database
	// does not even make it.
	unserved map[string]string
}

// on returns s for a subtest.
func (s *site) on(t *testing.T) *site {
	c := *s
	c.t = t
	return &c
}

// newSite makes the tables of every type and serves those that can be served.
func newSite(t *testing.T, d *database) *site {
	t.Helper()
	s := &site{t: t, db: d, unserved: make(map[string]string)}
	var specs []resource.Spec
	for i := range d.types {
		c := &d.types[i]
		if len(c.values) == 0 {
			continue
		}
		for _, spec := range s.specs(c, i) {
			table := spec.Name
			if _, err := d.src.Compile(t.Context(), spec); err != nil {
				s.unserved[table] = err.Error()
				continue
			}
			specs = append(specs, resource.Spec{Source: "main", Table: spec, Writable: true,
				Access: resource.Access{Read: "public", Write: "public"}})
		}
	}
	memory := tier.NewMemory(1 << 20)
	var err error
	s.set, err = resource.Open(t.Context(), resource.SetOptions{
		Memory:    memory,
		Sources:   []resource.SourceOptions{{Name: "main", Source: d.src, Mode: source.FeedNone}},
		Resources: specs,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, close := range []func() error{s.set.Close, d.src.Close, memory.Close, d.db.Close} {
			if err := close(); err != nil {
				t.Error(err)
			}
		}
	})
	s.h = httpfront.New(httpfront.Options{Resources: s.set, MaxBody: 1 << 20})
	return s
}

// tables makes the two tables of a type, that of values and that of keys, fills
// them and returns their names.
func (s *site) tables(c *columnType, i int) []string {
	values, keys := valueTable(i), keyTable(i)
	s.db.exec(s.t, fmt.Sprintf("CREATE TABLE %s (id integer PRIMARY KEY, val %s) %s",
		values, c.definition(), c.options))
	for id, v := range c.rows() {
		s.db.exec(s.t, insert(values, id, &v))
	}
	_, err := s.db.db.ExecContext(s.t.Context(), fmt.Sprintf(
		"CREATE TABLE %s (id integer NOT NULL, val %s NOT NULL, PRIMARY KEY (val)) %s", keys,
		c.definition(), c.options))
	if err != nil {
		s.unserved[keys] = ""
		return []string{values}
	}
	for id, v := range c.values {
		// Samples may be equal as keys: one of them is enough.
		_, _ = s.db.db.ExecContext(s.t.Context(), insert(keys, id, &v))
	}
	return []string{values, keys}
}

// specs returns the resources of a type: its two tables, and that of values within a
// document that has all of them.
func (s *site) specs(c *columnType, i int) []*source.Spec {
	var specs []*source.Spec
	for _, table := range s.tables(c, i) {
		specs = append(specs, &source.Spec{Name: table, Table: table})
	}
	table, kids := parentTable(i), kidTable(i)
	s.db.exec(s.t, fmt.Sprintf("CREATE TABLE %s (id integer PRIMARY KEY)", table))
	s.db.exec(s.t, fmt.Sprintf("INSERT INTO %s VALUES (1)", table))
	s.db.exec(s.t, fmt.Sprintf("CREATE TABLE %s (id integer PRIMARY KEY, val %s,"+
		" parent integer) %s", kids, c.definition(), c.options))
	for id, v := range c.rows() {
		if v.refused == "" && !v.odd { // else no document with it is taken
			s.db.exec(s.t, insert(kids, id, &v))
		}
	}
	s.db.exec(s.t, fmt.Sprintf("UPDATE %s SET parent = 1", kids))
	return append(specs, &source.Spec{Name: table, Table: table, Embeds: []source.Embed{{
		Name: "kids", On: []string{"parent"}, Spec: &source.Spec{Table: kids}}}})
}

// served fails the test when table is not served.
func (s *site) served(table string) {
	s.t.Helper()
	if why, ok := s.unserved[table]; ok {
		s.t.Fatalf("%s is not served: %s", table, why)
	}
}

// An answer is one answer over HTTP.
type answer struct {
	code           int
	body, location string
	link           string
}

// do sends a request whose body and whose answer are in format f.
func (s *site) do(method, path string, f row.Format, body string) answer {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Accept", f.MediaType()+", application/problem+json;q=0.1")
	if body != "" {
		r.Header.Set("Content-Type", f.MediaType())
	}
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, r)
	if w.Code >= 500 {
		s.t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return answer{code: w.Code, body: w.Body.String(), location: w.Header().Get("Location"),
		link: w.Header().Get("Link")}
}

// listed returns the paths that the list of a table has, by the rows' column id.
func (s *site) listed(table string) map[int]string {
	s.t.Helper()
	r, ok := s.set.Lookup(table)
	if !ok {
		s.t.Fatalf("%s is not served", table)
	}
	paths := make(map[int]string)
	ask := &resource.ListAsk{Limit: 1000, Variant: table}
	ask.Pack = func(found *resource.Page, _ row.Format) (packed resource.Packed, err error) {
		for i, d := range found.Docs {
			var doc struct{ ID int }
			if err := json.Unmarshal(d.Body(), &doc); err != nil {
				return packed, fmt.Errorf("%s: %w", d.Body(), err)
			}
			paths[doc.ID] = httpfront.DocumentPath(table, found.Keys[i], 1)
		}
		return packed, nil
	}
	if _, err := r.SelectList(s.t.Context(), ask, resource.Options{NoCache: true}); err != nil {
		s.t.Fatalf("list: %v", err)
	}
	return paths
}

var nextLink = regexp.MustCompile(`^<([^>]*)>; rel="next"$`)

// walked returns the documents of pages of one, each found by the link of the one
// before it; nil when one of them is too long to go on from.
func (s *site) walked(table string) []string {
	s.t.Helper()
	var all []string
	for path := "/" + table + "?limit=1"; path != ""; {
		a := s.do(http.MethodGet, path, row.FormatJSON, "")
		if a.code == http.StatusRequestURITooLong {
			return nil // the page ends with a key that no path can name
		}
		if a.code != 200 {
			s.t.Errorf("GET %s: %d %s", path, a.code, a.body)
			return all
		}
		if a.body != "[]" {
			all = append(all, a.body)
		}
		path = ""
		if m := nextLink.FindStringSubmatch(a.link); m != nil {
			path = m[1]
		}
		if _, err := url.Parse(path); err != nil || len(all) > 1000 {
			s.t.Fatalf("%d pages, link %q: %v", len(all), a.link, err)
		}
	}
	return all
}
