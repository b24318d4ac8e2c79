package httpfront

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front"
)

// An apiDocument is what the tests look at of an OpenAPI document.
type apiDocument struct {
	OpenAPI string
	Servers []struct{ URL string }
	Paths   map[string]map[string]struct {
		Parameters []struct {
			Name   string
			Schema struct {
				Pattern string
				Enum    []string
				Items   struct{ Enum []string }
			}
		}
		Security []map[string][]string
	}
	Components struct{ Schemas map[string]apiSchema }
}

type apiSchema struct {
	Properties map[string]struct{ Type any }
	Required   []string
}

// openAPI returns the document for who sends these headers.
func (s *site) openAPI(headers ...string) (a reply, doc apiDocument) {
	s.t.Helper()
	a = s.do("GET", "/-/openapi.json", "", headers...)
	s.want(a, 200, "")
	// A path's own parameters stand among its operations.
	var raw map[string]any
	if err := json.Unmarshal([]byte(a.body), &raw); err != nil {
		s.t.Fatalf("%v: %s", err, a.body)
	}
	for _, item := range raw["paths"].(map[string]any) {
		delete(item.(map[string]any), "parameters")
	}
	text, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return a, doc
}

// parameter returns the schema's pattern, or its values, of a parameter of a list; false: there is
// none.
func (d *apiDocument) parameter(path, name string) (pattern string, items []string, ok bool) {
	for _, p := range d.Paths[path]["get"].Parameters {
		if p.Name == name {
			return p.Schema.Pattern, append(p.Schema.Enum, p.Schema.Items.Enum...), true
		}
	}
	return "", nil, false
}

// TestOpenAPI_SaysWhatTheRequestMayUse: paths and methods are those that the token opens, members
// those of documents.
func TestOpenAPI_SaysWhatTheRequestMayUse(t *testing.T) {
	s := newServer(t)
	secret, token := newToken(t, "bob", "reader")
	s.tokens.Set([]front.Token{token})
	a, all := s.openAPI()
	wantHeaders(t, a, map[string]string{"Content-Type": "application/openapi+json",
		"Cache-Control": "private, no-cache", "Vary": "Accept, Authorization, apikey"})
	if all.OpenAPI != "3.1.0" || len(all.Servers) != 1 || all.Servers[0].URL != "/" {
		t.Errorf("openapi %q of %v", all.OpenAPI, all.Servers)
	}
	methods := func(d apiDocument, path string) string {
		return strings.Join(slices.Sorted(maps.Keys(d.Paths[path])), " ")
	}
	for path, want := range map[string]string{
		"/depts": "get post", "/depts/{key}": "delete get patch put",
		"/log": "get", "/log/{key}": "get", "/pay": "", "/pay/{key}": "",
	} {
		if got := methods(all, path); got != want {
			t.Errorf("everybody is told of %q at %s, want %q", got, path, want)
		}
	}
	if strings.Contains(a.body, `"pay`) {
		t.Error("everybody is told of pay")
	}
	_, mine := s.openAPI("Authorization: Bearer " + secret)
	if got := methods(mine, "/pay/{key}"); got != "get" {
		t.Errorf("a reader is told of %q at /pay/{key}", got)
	}
	if got := mine.Paths["/pay"]["get"].Security; len(got) != 2 {
		t.Errorf("/pay needs a token: %v", got)
	}
	dept := all.Components.Schemas["depts"]
	if got := slices.Sorted(maps.Keys(dept.Properties)); !slices.Equal(got,
		[]string{"deptNumber", "dname", "loc"}) {
		t.Errorf("members of depts: %q", got)
	}
	s.want(s.do("GET", "/-/openapi.json", "", "If-None-Match: "+a.Header.Get("Etag")), 304, "")
	s.want(s.do("POST", "/-/openapi.json", "{}"), 405, "method-not-allowed")
	root := s.do("GET", "/", "", "Accept: application/openapi+json")
	if s.want(root, 200, ""); root.body != a.body {
		t.Error("/ has another document")
	}
}

// TestOpenAPI_HasTheFiltersThatAreRun: of a table that is large those that an index answers.
func TestOpenAPI_HasTheFiltersThatAreRun(t *testing.T) {
	small := newServer(t)
	_, doc := small.openAPI()
	if _, orders, _ := doc.parameter("/depts", "order"); !slices.Contains(orders, "loc.desc") {
		t.Errorf("orders of a small table: %q", orders)
	}
	s := newServer(t)
	var rows strings.Builder
	for i := range 10_500 {
		fmt.Fprintf(&rows, ",(%d, 'name %[1]d', 'here')", 1000+i)
	}
	if err := s.src.Exec(t.Context(), "INSERT INTO dept (deptno, dname, loc) VALUES "+
		rows.String()[1:]); err != nil {
		t.Fatal(err)
	}
	_, doc = s.openAPI()
	_, orders, _ := doc.parameter("/depts", "order")
	if slices.Contains(orders, "loc.desc") || !slices.Contains(orders, "dname.desc") {
		t.Errorf("orders of a large table: %q", orders)
	}
	if _, _, ok := doc.parameter("/depts", "loc"); ok {
		t.Error("there is a filter by a column without an index")
	}
	for _, name := range []string{"deptNumber", "dname"} {
		if pattern, _, ok := doc.parameter("/depts", name); !ok || !strings.Contains(pattern, "eq") {
			t.Errorf("the filter by %s: %q, %t", name, pattern, ok)
		}
	}
	s.want(s.do("GET", "/depts?order=dname.desc&dname=not.eq.x", ""), 400, "unindexed-filter")
	if pattern, _, _ := doc.parameter("/depts", "dname"); strings.Contains(pattern, "not") {
		t.Errorf("what is refused is described: %s", pattern)
	}
}
