package httpfront

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/fallback"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/tier"
)

// A server that stands behind, which tells what it was asked.
type behind struct {
	*httptest.Server
	mu     sync.Mutex // guards what follows
	asked  []*http.Request
	bodies []string
}

func newBehind(t *testing.T) *behind {
	t.Helper()
	b := new(behind)
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		b.asked, b.bodies = append(b.asked, r), append(b.bodies, string(body))
		b.mu.Unlock()
		h := w.Header()
		for _, line := range []string{"Server: postgrest/16", "Access-Control-Allow-Origin: *", "Vary: Prefer, Accept",
			"Set-Cookie: a=b", "Content-Range: 0-0/*", "Location: /people?id=eq.4", "Connection: X-Hop", "X-Hop: 1",
			"Content-Location: /people?select=id", "Hotrow-Position: hr1.x.y.1", "X-Own: 2"} {
			name, value, _ := strings.Cut(line, ": ")
			h.Set(name, value)
		}
		switch r.URL.Path {
		case "/rest/v1/rpc/public":
			h.Set("Cache-Control", "public, max-age=60")
		case "/rest/v1/rpc/nothing":
			w.WriteHeader(http.StatusNoContent)
			return
		case "/rest/v1/rpc/made":
			w.WriteHeader(http.StatusCreated)
			return
		case "/rest/v1/rpc/large":
			_, _ = io.WriteString(w, strings.Repeat("x", 100<<10))
			return
		case "/rest/v1/rpc/broken":
			panic(http.ErrAbortHandler)
		case "/rest/v1/rpc/refused":
			h.Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"code":"42501","details":null,"hint":null,"message":"no"}`)
			return
		}
		h.Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, `["behind"]`)
	}))
	t.Cleanup(b.Close)
	return b
}

// last returns what was asked last, and how often anything was.
func (b *behind) last() (r *http.Request, body string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n = len(b.asked); n == 0 {
		return nil, "", 0
	}
	return b.asked[n-1], b.bodies[n-1], n
}

// behindTables are what the tests of the fallback are about.
var behindTables = []string{
	`CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, age INTEGER)`,
	`INSERT INTO people VALUES (1,'ann',30), (2,'bob',40)`,
	`CREATE TABLE notes (id INTEGER PRIMARY KEY, person INTEGER REFERENCES people, text TEXT)`,
	`INSERT INTO notes VALUES (1,1,'a')`,
	`CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, password TEXT)`,
	`INSERT INTO users VALUES (1,'ann','secret')`,
	`CREATE TABLE staff (id INTEGER PRIMARY KEY, pay INTEGER)`,
	`CREATE TABLE shut (id INTEGER PRIMARY KEY)`,
	`CREATE TABLE closed (id INTEGER PRIMARY KEY)`,
	`CREATE TABLE renamed (id INTEGER PRIMARY KEY, a TEXT)`,
	`CREATE TABLE unlisted (id INTEGER PRIMARY KEY)`,
	`CREATE TABLE pairs (a INTEGER REFERENCES people, b INTEGER REFERENCES notes, PRIMARY KEY (a, b))`,
	`CREATE VIEW elders AS SELECT * FROM people WHERE age > 35`,
}

func behindResources() []resource.Spec {
	spec := func(name, read, write string, writable bool) resource.Spec {
		return resource.Spec{Source: "main", Writable: writable,
			Access: resource.Access{Read: resource.Rule(read), Write: resource.Rule(write)},
			Table:  &source.Spec{Name: name, Table: name}}
	}
	users := spec("users", "public", "none", false)
	users.Table.Fields = map[string]source.FieldSpec{"password": {Hide: true}}
	renamed := spec("renamed", "public", "none", false)
	renamed.Table.Fields = map[string]source.FieldSpec{"a": {Name: "b"}}
	return []resource.Spec{spec("people", "public", "none", false), spec("notes", "public", "public", true),
		users, spec("staff", "role:reader", "none", false), spec("shut", "public", "none", false), renamed,
		spec("closed", "none", "none", false)}
}

// newFallbackSite starts a site in front of b.
func newFallbackSite(t *testing.T, b *behind, change ...func(*Options)) *site {
	t.Helper()
	return newFallbackSiteOf(t, b, behindResources(), change...)
}

// newFallbackSiteOf is newFallbackSite of other resources.
func newFallbackSiteOf(t *testing.T, b *behind, specs []resource.Spec, change ...func(*Options)) *site {
	t.Helper()
	ctx := t.Context()
	src, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "site.db"), sqlite.Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Exec(ctx, behindTables...); err != nil {
		t.Fatal(err)
	}
	memory := tier.NewMemory(1 << 20)
	set, err := resource.Open(ctx, resource.SetOptions{Memory: memory, Lists: 1 << 20,
		Sources: []resource.SourceOptions{{Name: "main", Source: src, Mode: source.FeedAuto,
			StaleAfter: time.Minute}}, Resources: specs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(set.Check(), set.Close(), src.Close(), memory.Close()); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the feed is fresh", func() bool { return set.Ready() == nil })
	u, err := fallback.Parse(b.URL + "/rest/v1")
	if err != nil {
		t.Fatal(err)
	}
	f := &Fallback{Server: fallback.New(fallback.Options{URL: u, Most: 64 << 10}), Source: "main",
		Headers: []string{"x-tenant"}, Shut: map[string]bool{"shut": true},
		LeftOut: func(ctx context.Context, schema, name string) (string, bool) {
			cat, err := src.Catalog(ctx)
			if err != nil {
				t.Error(err)
				return "", false
			}
			return "", slices.ContainsFunc(LeftOut(cat, set), func(t *source.Table) bool { return t.Name == name })
		}}
	t.Cleanup(f.Server.Close)
	return newServerOf(t, set, src, append([]func(*Options){func(o *Options) {
		o.Postgrest, o.Fallback = "/rest/v1", f
	}}, change...)...)
}

// A relayCase is a request, and who answers it: "ours", "relayed", or the code with which it is
// refused.
type relayCase struct {
	what    string // for docs/reference/fallback.md
	ask     string
	headers string // with | between them
	body    string
	want    string
}

var relayCases = []relayCase{
	{"a list, a filter, an order", "GET /people?age=gt.35&order=name", "", "", "ours"},
	{"rows of a table that is embedded", "GET /notes?select=text,people(name)", "", "", "ours"},
	{"a write of a resource that takes it", "POST /notes", "", `{"id":9,"text":"b"}`, "ours"},
	{"a function", "POST /rpc/f?select=id", "", `{"a":1}`, "relayed"},
	{"a function that only reads", "GET /rpc/f?a=1", "", "", "relayed"},
	{"an aggregate", "GET /people?select=age.sum()", "", "", "relayed"},
	{"the number of rows", "GET /people?select=count()", "", "", "relayed"},
	{"an operator that hotrow does not have on this database", "GET /people?name=match.^a", "", "", "relayed"},
	{"members twice", "GET /people?select=*,id", "", "", "relayed"},
	{"a representation that hotrow does not have", "GET /people", "Accept: application/geo+json", "", "relayed"},
	{"a preference that hotrow does not have", "GET /people", "Prefer: timezone=Europe/Rome", "", "relayed"},
	{"a view, or a table without a primary key", "GET /elders?select=name", "", "", "relayed"},
	{"a write of such a table", "PATCH /elders?id=eq.2", "", `{"age":41}`, "relayed"},
	{"an embedded view", "GET /notes?select=*,elders(name)", "", "", "relayed"},
	{"a write of a resource that takes none", "POST /people", "", `{"id":3}`, "relayed"},
	{"the same with rows in the answer", "PATCH /people?id=eq.1&select=id,notes(text)", "Prefer: return=representation",
		`{"age":31}`, "relayed"},

	{"a column that does not exist", "GET /people?nope=eq.1", "", "", "42703"},
	{"a value that is none of its type", "GET /people?id=eq.x", "", "", "22P02"},
	{"a schema but public", "GET /people?select=count()", "Accept-Profile: other", "", "PGRST106"},
	{"another method in a header", "GET /people?select=count()", "X-HTTP-Method-Override: DELETE", "", "PGRST122"},
	{"anything of a resource with a hidden column", "GET /users?select=id.sum()", "", "", "PGRST100"},
	{"a hidden column by its name", "GET /users?password=like.s*", "", "", "42703"},
	{"a write of such a resource", "PATCH /users?id=eq.1", "", `{"password":"x"}`, "PGRST117"},
	{"such a resource, embedded", "GET /people?select=count(),users(password)", "", "", "PGRST200"},
	{"the same by a function", "GET /rpc/f?select=*,x:users!inner(*)", "", "", "PGRST200"},
	{"the same by a view", "GET /elders?select=*,...users(password)", "", "", "PGRST200"},
	{"the same by the name of a foreign key", "GET /people?select=*,notes_person_fkey(*)", "", "", "PGRST200"},
	{"the same in quotes", `GET /elders?select=*,"users"(*)`, "", "", "PGRST100"},
	{"the same behind a semicolon", "GET /elders?a=1;select=*,users(*)", "", "", "PGRST100"},
	{"a resource whose columns have other names here", "GET /renamed?select=id.sum()", "", "", "PGRST100"},
	{"a resource of which `access` keeps the client", "GET /staff?select=count()", "", "", "PGRST301"},
	{"the same, embedded", "GET /elders?select=*,staff(pay)", "", "", "PGRST301"},
	{"a write of it", "PATCH /staff?id=eq.1", "", `{"pay":1}`, "PGRST301"},
	{"a resource that is closed to all", "GET /closed?select=count()", "", "", "42501"},
	{"a resource with `fallback: false`", "GET /shut?select=id.sum()", "", "", "PGRST100"},
	{"a table that is not served and could be", "GET /unlisted", "", "", "PGRST205"},
	{"the same, embedded", "GET /elders?select=*,unlisted(*)", "", "", "PGRST200"},
	{"a table that does not exist", "GET /nope", "", "", "PGRST205"},
	{"a write that hotrow does not have, of a resource that takes writes", "PATCH /notes?id=eq.1&limit=1", "",
		`{"text":"b"}`, "PGRST100"},
	{"a write without a filter", "DELETE /notes", "", "", "21000"},
	{"more values than `in` takes", "GET /people?age=in.(" + strings.Repeat("1,", 200) + "1)", "", "", "PGRST100"},
	{"a body that is too large", "POST /rpc/f", "", strings.Repeat("x", 5000), "HR413"},
	{"a page of another site", "POST /rpc/f", "Origin: http://evil.example", `{}`, "HR403"},
	{"the same, reading", "GET /rpc/f", "Origin: http://evil.example", "", "HR403"},
	{"another method", "QUERY /people", "", "", "PGRST117"},
	{"the list of all tables", "GET /", "", "", "PGRST125"},
}

// ask asks what tc says, and returns who has answered.
func (s *site) askedOf(b *behind, tc *relayCase, more ...string) string {
	s.t.Helper()
	method, path, _ := strings.Cut(tc.ask, " ")
	var headers []string
	if tc.body != "" {
		headers = append(headers, "Content-Type: application/json")
	}
	if tc.headers != "" {
		headers = append(headers, strings.Split(tc.headers, "|")...)
	}
	_, _, before := b.last()
	a := s.do(method, "/rest/v1"+path, tc.body, append(headers, more...)...)
	_, _, after := b.last()
	switch {
	case after == before+1 && a.StatusCode == 200 && a.body == `["behind"]`:
		return "relayed"
	case after != before:
		return fmt.Sprintf("%d %s", a.StatusCode, a.body)
	case a.StatusCode < 300:
		return "ours"
	}
	var e struct{ Code string }
	if err := json.Unmarshal([]byte(a.body), &e); err != nil {
		s.t.Errorf("%s: %d %q", tc.ask, a.StatusCode, a.body)
	}
	return e.Code
}

// What is relayed is what the table says, over every road.
func TestFallback_RelaysWhatItMay(t *testing.T) {
	for _, road := range []string{"", "loop", "h2"} {
		t.Run("road="+road, func(t *testing.T) {
			t.Setenv("HOTROW_TEST_ROAD", road)
			b := newBehind(t)
			s := newFallbackSite(t, b)
			for i := range relayCases {
				tc := &relayCases[i]
				if got := s.askedOf(b, tc); got != tc.want {
					t.Errorf("%s, %s: %s, want %s", tc.what, tc.ask, got, tc.want)
				}
			}
		})
	}
}

// The table in the docs is that of the test.
func TestFallback_TableOfTheDocs(t *testing.T) {
	t.Parallel()
	const page = "../../../docs/reference/fallback.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	table := "| request | such as | |\n|---|---|---|\n"
	for i := range relayCases {
		tc := &relayCases[i]
		ask := front.Clip(tc.ask, 60)
		if tc.headers != "" {
			ask += ", " + tc.headers
		}
		who := "`" + tc.want + "`"
		if tc.want == "ours" || tc.want == "relayed" {
			who = tc.want
		}
		table += "| " + tc.what + " | `" + strings.ReplaceAll(ask, "|", ", ") + "` | " + who + " |\n"
	}
	_, rest, _ := strings.Cut(string(text), "<!-- relayed -->\n\n")
	if got, _, _ := strings.Cut(rest, "\n<!-- /relayed -->"); got != table {
		t.Errorf("%s has another table than this:\n%s", page, table)
	}
}

// Who may read may have the rest from the fallback.
func TestFallback_AfterAccess(t *testing.T) {
	t.Parallel()
	b := newBehind(t)
	s := newFallbackSite(t, b)
	reader, token := newToken(t, "r", "reader")
	s.tokens.Set([]front.Token{token})
	for _, ask := range []string{"GET /staff?select=count()", "GET /elders?select=*,staff(pay)",
		"PATCH /staff?id=eq.1"} {
		if got := s.askedOf(b, &relayCase{ask: ask}, "apikey: "+reader); got != "relayed" {
			t.Errorf("%s: %s", ask, got)
		}
	}
}

// A table of pairs joins two others without being named: who may not read it gets no embedded rows.
func TestFallback_HiddenPairs(t *testing.T) {
	t.Parallel()
	for read, want := range map[resource.Rule]string{"public": "relayed", "role:reader": "PGRST200",
		"none": "PGRST200"} {
		b := newBehind(t)
		pairs := resource.Spec{Source: "main", Access: resource.Access{Read: read, Write: "none"},
			Table: &source.Spec{Name: "pairs", Table: "pairs"}}
		s := newFallbackSiteOf(t, b, append(behindResources(), pairs))
		for _, ask := range []string{"GET /people?select=id.max(),notes(text)", "GET /rpc/f?select=id,notes(*)"} {
			if got := s.askedOf(b, &relayCase{ask: ask}); got != want {
				t.Errorf("pairs are %s: %s: %s, want %s", read, ask, got, want)
			}
		}
		if got := s.askedOf(b, &relayCase{ask: "GET /people?select=id.max()"}); got != "relayed" {
			t.Errorf("pairs are %s: without embedded rows: %s", read, got)
		}
	}
}

// Lists that no index answers are relayed if that is wanted.
func TestFallback_Costly(t *testing.T) {
	t.Parallel()
	b := newBehind(t)
	for _, costly := range []bool{false, true} {
		s := newFallbackSite(t, b, func(o *Options) { o.Fallback.Costly = costly })
		c := &call{h: s.h, o: s.h.live.Load(), r: &request{}}
		c.r.Method = "GET"
		c.res, _ = c.o.find("people")
		refused := &query.Error{Code: query.CodeUnindexed}
		if got := c.lacking(&target{kind: pathList}, refused); got != costly {
			t.Errorf("costly %v: %v", costly, got)
		}
	}
}

// The fallback gets the headers of a closed list, and the client those that are not ours.
func TestFallback_Headers(t *testing.T) {
	for _, road := range []string{"", "loop", "h2"} {
		t.Run("road="+road, func(t *testing.T) {
			t.Setenv("HOTROW_TEST_ROAD", road)
			b := newBehind(t)
			s := newFallbackSite(t, b)
			a := s.do("POST", "/rest/v1/rpc/f?a=%2C&select=id", `{"a":1}`, "Content-Type: application/json",
				"Prefer: params=single-object", "Range-Unit: items", "X-Client-Info: js/2", "X-Tenant: 7",
				"Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "apikey: k",
				"Authorization: Bearer t", "Cookie: key=1", "X-Forwarded-For: 1.2.3.4", "Forwarded: for=a",
				"Accept-Profile: public",
				"X-Other: 1", "Hotrow-Min-Position: hr1.main.x.1")
			r, body, _ := b.last()
			if body != `{"a":1}` || r.URL.RawQuery != "a=%2C&select=id" || r.RequestURI[:15] != "/rest/v1/rpc/f?" {
				t.Errorf("%s %s", r.RequestURI, body)
			}
			want := []string{"Accept-Profile", "Apikey", "Authorization", "Content-Length", "Content-Type", "Prefer",
				"Range-Unit", "Traceparent", "User-Agent", "X-Client-Info", "X-Tenant"}
			var got []string
			for name := range r.Header {
				if name != "Accept-Encoding" && name != "Accept" { // of net/http's client
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) || r.Header.Get("X-Tenant") != "7" ||
				r.Header.Get("Authorization") != "Bearer t" {
				t.Errorf("it has got %v, want %v", r.Header, want)
			}
			for name, want := range map[string]string{"Server": "hotrow", "Access-Control-Allow-Origin": "",
				"Set-Cookie": "", "X-Hop": "", "X-Own": "2", "Content-Range": "0-0/*",
				"Location": "/rest/v1/people?id=eq.4", "Content-Location": "/rest/v1/people?select=id",
				"Cache-Control": "private, no-store", "Cache-Status": "hotrow; fwd=bypass; detail=fallback",
				"Content-Type":           "application/json; charset=utf-8",
				"X-Content-Type-Options": "nosniff"} {
				if got := a.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			vary := strings.Join(a.Header.Values("Vary"), "; ")
			if !strings.HasSuffix(vary, "Authorization, apikey, Prefer") {
				t.Errorf("Vary: %s", vary)
			}
			if at := a.Header.Get("Hotrow-Position"); !strings.HasPrefix(at, "hr1.main.") {
				t.Errorf("after a write the position is %q", at)
			}
			open := s.do("GET", "/rest/v1/rpc/public", "")
			if open.Header.Get("Cache-Control") != "public, max-age=60" || open.Header.Get("Hotrow-Position") != "" {
				t.Errorf("%v", open.Header)
			}
			b2 := s.do("GET", "/rest/v1/rpc/f", "", "Hotrow-Min-Position: "+a.Header.Get("Hotrow-Position"))
			if !strings.HasPrefix(b2.Header.Get("Hotrow-Position"), "hr1.main.") {
				t.Errorf("%v", b2.Header)
			}
			head := s.do("HEAD", "/rest/v1/rpc/f", "")
			if head.StatusCode != 200 || head.Header.Get("Content-Type") == "" {
				t.Errorf("%d %v", head.StatusCode, head.Header)
			}
			for path, want := range map[string]int{"nothing": 204, "made": 201, "refused": 403} {
				got := s.do("POST", "/rest/v1/rpc/"+path, "{}", "Content-Type: application/json")
				if got.StatusCode != want || want != 403 && got.body != "" {
					t.Errorf("%s: %d %q", path, got.StatusCode, got.body)
				}
			}
			for path, want := range map[string]int{"large": 502, "broken": 502} {
				s.profile(&profileCase{"POST /rpc/" + path, "", "{}", want, "HR502", ""})
			}
		})
	}
}

// A table's schema is named, whatever the client calls it.
func TestFallback_NamesTheSchema(t *testing.T) {
	t.Parallel()
	b := newBehind(t)
	s := newFallbackSite(t, b, func(o *Options) {
		o.Fallback.LeftOut = func(_ context.Context, _, name string) (string, bool) { return "app", name == "elders" }
	})
	for method, header := range map[string]string{"GET": "Accept-Profile", "POST": "Content-Profile"} {
		s.do(method, "/rest/v1/elders", "", "Accept-Profile: public", "Content-Profile: public")
		r, _, _ := b.last()
		if r == nil || len(r.Header.Values("Accept-Profile"))+len(r.Header.Values("Content-Profile")) != 1 ||
			r.Header.Get(header) != "app" {
			t.Errorf("%s: %v", method, r)
		}
	}
}

// A page of another origin whose name is known asks as others do, and writes with a token.
func TestFallback_Pages(t *testing.T) {
	t.Parallel()
	b := newBehind(t)
	s := newFallbackSite(t, b, func(o *Options) { o.Origins = []string{"https://app.example"} })
	page := "Origin: https://app.example"
	for _, tc := range []struct {
		relayCase
		headers []string
	}{
		{relayCase{ask: "GET /rpc/f", want: "relayed"}, []string{page}},
		{relayCase{ask: "POST /rpc/f", body: "{}", want: "PGRST301"}, []string{page}},
		{relayCase{ask: "POST /rpc/f", body: "{}", want: "relayed"}, []string{page, "Authorization: Bearer t"}},
		{relayCase{ask: "GET /rpc/f", want: "HR403"}, []string{"Origin: https://evil.example"}},
		{relayCase{ask: "GET /rpc/f", want: "HR403"}, []string{"Sec-Fetch-Site: cross-site"}},
	} {
		if got := s.askedOf(b, &tc.relayCase, tc.headers...); got != tc.want {
			t.Errorf("%s %v: %s, want %s", tc.ask, tc.headers, got, tc.want)
		}
	}
	a := s.do("GET", "/rest/v1/rpc/f", "", page)
	if got := a.Header.Values("Access-Control-Allow-Origin"); len(got) != 1 || got[0] != "https://app.example" {
		t.Errorf("%v", a.Header)
	}
}
