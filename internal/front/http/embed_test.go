package httpfront

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/tier"
)

// staffTables are tables of which not everybody may read all.
var staffTables = []string{
	`CREATE TABLE teams (id INTEGER PRIMARY KEY, name TEXT)`,
	`CREATE TABLE wages (id INTEGER PRIMARY KEY, amount INTEGER)`,
	`CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT, password TEXT,
		team INTEGER REFERENCES teams, wage INTEGER REFERENCES wages,
		desk INTEGER REFERENCES rooms, home INTEGER REFERENCES rooms)`,
	`CREATE TABLE rooms (id INTEGER PRIMARY KEY, floor INTEGER)`,
	`CREATE TABLE skills (id INTEGER PRIMARY KEY, name TEXT)`,
	`CREATE TABLE rated (staff INTEGER REFERENCES staff, skill INTEGER REFERENCES skills,
		PRIMARY KEY (staff, skill))`,
	`CREATE TABLE files (id INTEGER PRIMARY KEY, staff INTEGER REFERENCES staff, text TEXT)`,
	`INSERT INTO teams VALUES (1, 'red')`,
	`INSERT INTO wages VALUES (1, 4711)`,
	`INSERT INTO rooms VALUES (1, 3)`,
	`INSERT INTO staff VALUES (1, 'ann', 'hunter2', 1, 1, 1, 1), (2, 'bob', 'x', 1, NULL, 1, NULL)`,
	`INSERT INTO skills VALUES (1, 'go')`,
	`INSERT INTO rated VALUES (1, 1)`,
	`INSERT INTO files VALUES (1, 1, 'closed')`,
}

// openStaff opens resources over staffTables: wages and rated are for readers only, files
// for nobody.
func openStaff(t *testing.T) func(*Options) {
	t.Helper()
	src, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "staff.db"),
		sqlite.Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Exec(t.Context(), staffTables...); err != nil {
		t.Fatal(err)
	}
	var specs []resource.Spec
	for name, rule := range map[string]resource.Rule{"teams": "public", "staff": "public",
		"rooms": "public", "skills": "public", "wages": "role:reader", "rated": "role:reader",
		"files": "none"} {
		specs = append(specs, resource.Spec{Source: "main", Writable: true,
			Access: resource.Access{Read: rule, Write: "public"},
			Table:  &source.Spec{Name: name, Table: name, Hide: true}})
	}
	memory := tier.NewMemory(1 << 20)
	set, err := resource.Open(t.Context(), resource.SetOptions{Memory: memory, Lists: 1 << 20,
		Sources:   []resource.SourceOptions{{Name: "main", Source: src, Mode: source.FeedAuto}},
		Resources: specs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range []func() error{set.Close, src.Close, memory.Close} {
			if err := c(); err != nil {
				t.Error(err)
			}
		}
	})
	eventually(t, "the feed is fresh", func() bool { return set.Ready() == nil })
	return func(o *Options) { o.Resources = set }
}

func TestEmbed_AnswersInEveryFormat(t *testing.T) {
	s := newServer(t, openStaff(t))
	const path = "/teams?select=name,staff(name,room:rooms!desk(floor),off:rooms!home(floor))"
	const want = `[{"name":"red","staff":[{"name":"ann","room":{"floor":3},"off":{"floor":3}},` +
		`{"name":"bob","room":{"floor":3},"off":null}]}]`
	a := s.do("GET", path, "")
	if s.want(a, 200, ""); a.body != want {
		t.Errorf("%s, want %s", a.body, want)
	}
	var inJSON, other any
	if err := json.Unmarshal([]byte(want), &inJSON); err != nil {
		t.Fatal(err)
	}
	for name, decode := range map[string]func([]byte) error{
		"application/vnd.msgpack": func(b []byte) error { return msgpack.Unmarshal(b, &other) },
		"application/cbor":        func(b []byte) error { return cbor.Unmarshal(b, &other) },
	} {
		other = nil
		a := s.do("GET", path, "", "Accept: "+name)
		if s.want(a, 200, ""); decode([]byte(a.body)) != nil || !reflect.DeepEqual(plain(other), inJSON) {
			t.Errorf("%s: %v, want %v", name, plain(other), inJSON)
		}
	}
	a = s.do("GET", "/staff?select=name,rooms(floor)", "")
	s.want(a, 300, "ambiguous-relation")
	if !strings.Contains(a.body, `"code":"PGRST201"`) || !strings.Contains(a.body, "rooms!desk, rooms!home") {
		t.Error(a.body)
	}
	a = s.do("GET", "/teams?select=name,rooms(floor)", "")
	s.want(a, 400, "bad-query")
	if !strings.Contains(a.body, `"code":"PGRST200"`) || !strings.Contains(a.body, "related are staff") {
		t.Error(a.body)
	}
}

// plain returns what a decoder has made in the words of JSON's.
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[any]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k.(string)] = plain(e)
		}
		return m
	case map[string]any:
		for k, e := range v {
			v[k] = plain(e)
		}
	case int8:
		return float64(v)
	case uint64:
		return float64(v)
	}
	return v
}

// Who may not read a resource gets none of its rows by way of another, nor the names of its
// columns; nor what memory holds for those who may.
func TestEmbed_AccessOfWhatIsEmbedded(t *testing.T) {
	t.Setenv("HOTROW_TEST_ROAD", "loop")
	s := newServer(t, openStaff(t))
	reader, rt := newToken(t, "r", "reader")
	other, ot := newToken(t, "o", "other")
	s.tokens.Set([]front.Token{rt, ot})
	as := func(token string) string { return "Authorization: Bearer " + token }
	protected := []string{
		"/staff?select=name,wages(amount)",
		"/staff?select=name,w:wages!wage!inner(amount)&w.amount=gt.1",
		"/staff?select=name,skills(name)", // through a table for readers
		"/skills?select=name,staff(name)",
		"/skills?select=name,rated(staff(name))",
		"/teams?select=name,staff(name,wages(amount))",
		"/teams?select=name,staff!inner(name,wages!inner(id))&staff.wages.amount=eq.4711",
	}
	refused := func(when string) {
		t.Helper()
		for _, path := range append(protected, "/staff?select=name,wages(nope)",
			"/staff?select=name,wages!nope(id)", "/staff?select=name,wages(id)&wages.nope=eq.1") {
			for _, tt := range []struct {
				status  int
				slug    string
				headers []string
			}{{401, "unauthorized", nil}, {401, "unauthorized", []string{as("wrong")}},
				{403, "forbidden", []string{as(other)}}} {
				a := s.do("GET", path, "", tt.headers...)
				s.want(a, tt.status, tt.slug)
				if strings.Contains(a.body, "4711") || strings.Contains(a.body, "amount") &&
					!strings.Contains(path, "amount") || a.Header.Get("Etag") != "" {
					t.Errorf("%s, %s: %v %s", when, path, a.Header, a.body)
				}
			}
		}
	}
	refused("before")
	for _, path := range protected {
		for range 4 {
			a := s.do("GET", path, "", as(reader))
			s.want(a, 200, "")
			if got := a.Header.Get("Cache-Control"); !strings.HasPrefix(got, "private") {
				t.Errorf("%s: Cache-Control %q", path, got)
			}
		}
		eventually(t, path+" is in memory", func() bool {
			a := s.do("GET", path, "", as(reader))
			return strings.Contains(a.Header.Get("Cache-Status"), "hit")
		})
	}
	refused("while memory has them")

	s.want(s.do("GET", "/staff?select=name,files(text)", "", as(reader)), 403, "forbidden")
	for _, path := range []string{"/teams?select=staff(password)", "/teams?select=staff(name)&" +
		"staff.password=eq.hunter2", "/teams?select=staff(name)&staff.order=password"} {
		a := s.do("GET", path, "", as(reader))
		s.want(a, 400, "bad-query")
		if !strings.Contains(a.body, `"code":"42703"`) {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	if a := s.do("GET", "/staff?select=*&limit=1", ""); strings.Contains(a.body, "hunter2") {
		t.Error(a.body)
	}
	if a := s.do("GET", "/teams?select=staff(*)", ""); strings.Contains(a.body, "hunter2") {
		t.Error(a.body)
	}
	// What there is besides is told to those who may read it.
	a := s.do("GET", "/staff?select=nothing(id)", "")
	if s.want(a, 400, "bad-query"); strings.Contains(a.body, "wages") ||
		strings.Contains(a.body, "rated") || strings.Contains(a.body, "skills") ||
		!strings.Contains(a.body, "teams") {
		t.Error(a.body)
	}
}

// A list with rows embedded that everybody may read is answered by the event loop, and
// follows writes to each of its tables.
func TestEmbed_LoopFollowsEveryTable(t *testing.T) {
	t.Setenv("HOTROW_TEST_ROAD", "loop")
	s := newServer(t, openStaff(t))
	const path = "/teams?select=name,staff(name,rooms!desk(floor))&id=eq.1"
	want := func(body string) {
		t.Helper()
		if a := s.do("GET", path, ""); a.body != body {
			t.Errorf("%s, want %s (%s)", a.body, body, a.Header.Get("Cache-Status"))
		}
		s.keepList(path)
	}
	want(`[{"name":"red","staff":[{"name":"ann","rooms":{"floor":3}},{"name":"bob","rooms":{"floor":3}}]}]`)
	s.want(s.do("PATCH", "/rooms/1", `{"floor":4}`), 200, "")
	want(`[{"name":"red","staff":[{"name":"ann","rooms":{"floor":4}},{"name":"bob","rooms":{"floor":4}}]}]`)
	s.want(s.do("PATCH", "/staff/2", `{"desk":null}`), 200, "")
	want(`[{"name":"red","staff":[{"name":"ann","rooms":{"floor":4}},{"name":"bob","rooms":null}]}]`)
	s.want(s.do("PATCH", "/staff/1", `{"team":null}`), 200, "")
	want(`[{"name":"red","staff":[{"name":"bob","rooms":null}]}]`)
	s.want(s.do("PATCH", "/teams/1", `{"name":"blue"}`), 200, "")
	want(`[{"name":"blue","staff":[{"name":"bob","rooms":null}]}]`)
}

// TestEmbed_AfterWrites: the profile embeds rows in those that were written, for who may read them.
func TestEmbed_AfterWrites(t *testing.T) {
	open := openStaff(t)
	s := newServer(t, func(o *Options) { open(o); o.Postgrest = "/rest/v1" })
	whole := "Prefer: return=representation"
	for _, tc := range []profileCase{
		{"PATCH /staff?id=eq.1&select=name,teams(name)", whole + "|" + asObject, `{"name":"Ann"}`, 200,
			`{"name":"Ann","teams":{"name":"red"}}`, ""},
		{"POST /staff?select=id,teams(name)", whole, `[{"id":9,"team":1},{"id":8,"team":null}]`, 201,
			`[{"id":9,"teams":{"name":"red"}},{"id":8,"teams":null}]`, ""},
		{"PATCH /staff?id=in.(8,9)&select=id&order=id", whole, `{"name":"x"}`, 200, `[{"id":8},{"id":9}]`, ""},
		{"PATCH /staff?id=eq.1&select=name,wages(amount)", whole, `{"name":"y"}`, 401, "PGRST301", ""},
		{"PATCH /staff?id=eq.1&select=name,files(text)", whole, `{"name":"y"}`, 403, "42501", ""},
		{"DELETE /staff?id=eq.8&select=id,teams(name)", whole, "", 400, "PGRST100", ""},
		{"GET /staff?id=eq.1&select=name", "", "", 200, `[{"name":"Ann"}]`, ""}, // nothing was written
		{"PATCH /staff?id=eq.99&select=name,teams(name)", whole, `{"name":"y"}`, 200, "[]", ""},
	} {
		s.profile(&tc)
	}
}

// TestEmbed_OrdersRows: a list in the order of embedded rows depends on all of these, for others
// may come before those that it has.
func TestEmbed_OrdersRows(t *testing.T) {
	s := newServer(t, openStaff(t))
	s.want(s.do("POST", "/teams", `{"id":2,"name":"blue"}`, "Content-Type: application/json"), 201, "")
	s.want(s.do("POST", "/staff", `{"id":3,"name":"cat","team":2}`, "Content-Type: application/json"), 201, "")
	s.want(s.do("POST", "/staff", `{"id":4,"name":"dan"}`, "Content-Type: application/json"), 201, "")
	for _, tt := range []struct{ query, want string }{
		{"select=name,teams(name)&order=teams(name).desc&limit=1", `[{"name":"ann","teams":{"name":"red"}}]`},
		{"select=id,t:teams(id)&order=t(name),id.desc&limit=3",
			`[{"id":4,"t":null},{"id":3,"t":{"id":2}},{"id":2,"t":{"id":1}}]`},
		{"select=id,teams(id)&order=teams(name).nullslast&limit=2&id=gt.1",
			`[{"id":3,"teams":{"id":2}},{"id":2,"teams":{"id":1}}]`},
		{"select=id,teams!inner(id)&teams.name=neq.blue&order=teams(name)",
			`[{"id":1,"teams":{"id":1}},{"id":2,"teams":{"id":1}}]`},
	} {
		for range 4 {
			if a := s.do("GET", "/staff?"+tt.query, ""); a.StatusCode != 200 || a.body != tt.want {
				t.Errorf("%s: %d %s, want %s", tt.query, a.StatusCode, a.body, tt.want)
			}
		}
	}
	s.want(s.do("PATCH", "/teams/2", `{"name":"zinc"}`, "Content-Type: application/json"), 200, "")
	const first = `[{"name":"cat","teams":{"name":"zinc"}}]`
	if a := s.do("GET", "/staff?select=name,teams(name)&order=teams(name).desc&limit=1", ""); a.body != first {
		t.Errorf("the first is %s, want %s", a.body, first)
	}
	a := s.do("GET", "/staff?select=id,teams(name)&order=teams(name)&limit=2", "")
	if _, next, _ := strings.Cut(a.Header.Get("Link"), "?"); !strings.Contains(next, "offset=2") {
		t.Errorf("the next page is %s", next)
	}
	for _, query := range []string{"select=id&order=teams(name)", "select=name,staff(id)&order=staff(id)",
		"select=id,teams(id)&order=teams(nope)", "select=id,teams(id)&teams.id=gt.1&order=teams(name)"} {
		path := "/staff?"
		if strings.Contains(query, "staff(") {
			path = "/teams?"
		}
		s.want(s.do("GET", path+query, ""), 400, "bad-query")
	}
}
