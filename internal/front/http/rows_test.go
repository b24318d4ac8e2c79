package httpfront

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/fallback"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/tier"
)

// newRowSite starts a site with a rule about the rows of notes: that of owner, or of team where the claim
// teams names it. Its profile takes JWTs.
func newRowSite(t *testing.T) *site {
	t.Helper()
	src, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "rows.db"), sqlite.Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Exec(t.Context(), `CREATE TABLE box (id INTEGER PRIMARY KEY, name TEXT)`,
		`CREATE TABLE note (id INTEGER PRIMARY KEY, owner TEXT, text TEXT, box INTEGER REFERENCES box)`,
		`CREATE TABLE job (id INTEGER PRIMARY KEY, team INTEGER, text TEXT)`,
		`CREATE TABLE odd (id INTEGER PRIMARY KEY, owner TEXT COLLATE NOCASE)`,
		`INSERT INTO box VALUES (1, 'in'), (2, 'out')`, `INSERT INTO odd VALUES (1, 'ANN')`,
		`INSERT INTO note VALUES (1, 'ann', 'a1', 1), (2, 'bob', 'b1', 1), (3, 'ann', 'a2', 2), (4, NULL, 'n', 2)`,
		`INSERT INTO job VALUES (1, 7, 'seven'), (2, 8, 'eight'), (3, 9, 'nine')`,
		`CREATE TRIGGER away AFTER UPDATE OF text ON note WHEN new.text = 'give' BEGIN
			UPDATE note SET owner = 'bob' WHERE id = new.id; END`); err != nil {
		t.Fatal(err)
	}
	open := resource.Access{Read: "public", Write: "public"}
	shut := resource.Access{Read: "none", Write: "none"}
	own := []resource.RowTerm{{Column: "owner", Path: []string{"sub"}}}
	spec := func(table string, rule *resource.RowRule) resource.Spec {
		s := resource.Spec{Source: "main", Access: open, Writable: true, Rows: rule,
			Table: &source.Spec{Name: table + "s", Table: table}}
		if rule != nil {
			s.Access, rule.Access = shut, open
		}
		return s
	}
	teams := []resource.RowTerm{{Column: "team", Path: []string{"app", "teams"}, In: true}}
	memory := tier.NewMemory(1 << 20)
	set, err := resource.Open(t.Context(), resource.SetOptions{Memory: memory, Lists: 1 << 20,
		Sources: []resource.SourceOptions{{Name: "main", Source: src, Mode: source.FeedAuto, StaleAfter: time.Minute}},
		Resources: []resource.Spec{spec("box", nil), spec("note", &resource.RowRule{Read: own, Write: own,
			Except: []string{"admin"}}), spec("job", &resource.RowRule{Read: teams, Write: teams}),
			spec("odd", &resource.RowRule{Read: own, Write: own})}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(set.Check(), set.Close(), src.Close(), memory.Close()); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the feed is fresh", func() bool { return set.Ready() == nil })
	return newServerOf(t, set, src, withJWT(t), func(o *Options) { o.Postgrest = "/rest/v1" })
}

// user returns the header of a token of a subject.
func user(sub, more string) string {
	// The claims of newJWT have a sub, and none may be there twice: it is part of it.
	return bearer(newJWTOf(sub, time.Hour, more))
}

// A rule about rows is a condition of each list, count, embedded row and write; a row that it hides is none.
func TestRows_AreThoseOfTheClaims(t *testing.T) {
	t.Parallel()
	s := newRowSite(t)
	ann, bob, admin := user("ann", ""), user("bob", ""), user("root", `,"role":"admin"`)
	g := &grantSite{site: s}
	const rep = "Prefer: return=representation"
	g.expect("GET /notes?select=id", "", 200, `[{"id":1},{"id":3}]`, ann)
	g.expect("GET /notes?select=id", "", 200, `[{"id":2}]`, bob)
	g.expect("GET /notes?select=id", "", 200, `[{"id":1},{"id":2},{"id":3},{"id":4}]`, admin)
	g.expect("GET /notes?select=id", "", 200, `[]`)
	if a := g.expect("GET /notes?select=id", "", 200, ``, ann, "Prefer: count=exact"); a.Header.Get("Content-Range") !=
		"0-1/2" || a.Header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("the count: %v", a.Header)
	}
	g.expect("GET /notes?or=(id.eq.2,owner.eq.bob,owner.neq.ann)", "", 200, `[]`, ann)
	g.expect("GET /boxs?select=id,notes(id)", "", 200,
		`[{"id":1,"notes":[{"id":1}]},{"id":2,"notes":[{"id":3}]}]`, ann)
	g.expect("GET /boxs?select=id,notes!inner(id)", "", 200, `[{"id":1,"notes":[{"id":2}]}]`, bob)
	g.expect("GET /jobs?select=id", "", 200, `[{"id":1},{"id":3}]`, user("x", `,"app":{"teams":[7,9]}`))
	for _, claims := range []string{``, `,"app":{"teams":7}`, `,"app":{"teams":["07",7.0,true,null,[7]]}`, `,"app":7`,
		`,"user_metadata":{"teams":[7]}`} {
		g.expect("GET /jobs?select=id", "", 200, `[]`, user("x", claims))
	}
	g.expect("GET /odds", "", 500, `"code":"HR500"`, ann) // ANN and ann are the same to the database

	g.expect("POST /notes", `{"id":5,"owner":"bob"}`, 403, "42501", ann)
	g.expect("POST /notes", `[{"id":5,"owner":"ann"},{"id":6,"owner":null}]`, 403, "42501", ann)
	g.expect("POST /notes", `{"id":5,"owner":"ann","text":"x"}`, 201, `"owner":"ann"`, ann, rep)
	g.expect("PATCH /notes?id=eq.2", `{"text":"y"}`, 200, `[]`, ann, rep)
	g.expect("PATCH /notes?id=eq.5", `{"owner":"bob"}`, 403, "42501", ann)
	g.expect("PATCH /notes?id=eq.5", `{"text":"give"}`, 403, "42501", ann) // by a trigger
	g.expect("PATCH /notes?text=neq.z", `{"text":"z"}`, 204, "", ann)
	g.expect("DELETE /notes?id=gt.0", "", 204, "", bob)
	g.expect("DELETE /notes", "", 400, "21000", ann)
	g.expect("PATCH /notes", `{"text":"q"}`, 400, "21000", ann)
	g.expect("PUT /notes?id=eq.5", `{"id":5,"owner":"ann"}`, 400, "PGRST100", ann)
	for _, how := range []string{"merge", "ignore"} {
		g.expect("POST /notes", `{"id":1,"owner":"bob"}`, 400, "PGRST100", bob, "Prefer: resolution="+how+"-duplicates")
	}
	g.expect("POST /notes", `{"id":1,"owner":"bob"}`, 409, `"details":null`, bob) // that it is taken is told
	g.expect("GET /notes?select=id,owner,text", "", 200, `[{"id":1,"owner":"ann","text":"z"},`+
		`{"id":3,"owner":"ann","text":"z"},{"id":4,"owner":null,"text":"n"},{"id":5,"owner":"ann","text":"z"}]`, admin)

	// A row that is hidden and one that is not there are answered alike, and nothing else has the resource.
	alike := func(ask, hidden, none string) {
		said := func(id string) string {
			method, path, _ := strings.Cut(strings.ReplaceAll(ask, "ID", id), " ")
			body := ""
			if method == "PATCH" {
				body = `{"text":"w"}`
			}
			a := s.do(method, "/rest/v1"+path, body, bob, rep, "Accept: application/vnd.pgrst.object+json")
			a.Header.Del("Date")
			a.Header.Del("Hotrow-Position")
			return fmt.Sprint(a.StatusCode, a.Header, a.body)
		}
		if a, b := said(hidden), said(none); a != b {
			t.Errorf("%s:\n%s, where there is no row\n%s", ask, a, b)
		}
	}
	for _, ask := range []string{"GET /notes?id=eq.ID", "PATCH /notes?id=eq.ID", "DELETE /notes?id=eq.ID"} {
		alike(ask, "1", "77")
	}
	for _, path := range []string{"/notes/1", "/notes?limit=1", "/notes?id=in.(1)", "/boxs?select=*,notes(*)"} {
		for _, who := range []string{ann, admin} {
			s.want(s.do("GET", path, "", who), 403, "forbidden")
		}
	}
	s.want(s.do("PATCH", "/notes/1", `{"text":"x"}`, ann), 405, "method-not-allowed")
	if a := s.do("GET", "/-/openapi.json", "", ann); strings.Contains(a.body, "notes") {
		t.Error("the OpenAPI document of the other paths has notes")
	}
	g.expect("GET /notes", "", 401, "PGRST301", ann+"x")
	g.expect("GET /notes", "", 401, "PGRST301", bearer("a.b.c"))
}

// Two users walk beside writers who move rows between them: no answer has a row of the other.
func TestRows_WalkOfTwoUsers(t *testing.T) {
	t.Parallel()
	s := newRowSite(t)
	for i := range 40 {
		if err := s.src.Exec(t.Context(), fmt.Sprintf(
			`INSERT INTO note VALUES (%d, '%s', 't', %d)`, 10+i, []string{"ann", "bob"}[i%2], 1+i%2)); err != nil {
			t.Fatal(err)
		}
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; !stop.Load(); i++ {
			if err := s.src.Exec(t.Context(), fmt.Sprintf("UPDATE note SET owner = "+
				"CASE owner WHEN 'ann' THEN 'bob' ELSE 'ann' END WHERE id = %d", 10+rand.IntN(40))); err != nil {
				t.Error(err)
			}
		}
	})
	var asked, rows, foreign atomic.Int64
	for _, who := range []string{"ann", "bob"} {
		token := user(who, "")
		wg.Go(func() {
			for !stop.Load() {
				path := []string{"/notes", "/notes?order=id.desc&limit=7", "/notes?box=eq.1",
					"/notes?owner=not.is.null", "/notes?or=(owner.eq.ann,owner.eq.bob)"}[rand.IntN(5)]
				a := s.do("GET", "/rest/v1"+path, "", token)
				var found []struct{ Owner string }
				if err := json.Unmarshal([]byte(a.body), &found); err != nil {
					t.Errorf("%s: %s", path, a.body)
					return
				}
				asked.Add(1)
				for _, one := range found {
					if rows.Add(1); one.Owner != who {
						foreign.Add(1)
					}
				}
			}
		})
	}
	eventually(t, "five hundred lists are asked for", func() bool { return asked.Load() >= 500 })
	stop.Store(true)
	wg.Wait()
	if foreign.Load() > 0 || rows.Load() == 0 {
		t.Errorf("%d of %d rows are the other user's", foreign.Load(), rows.Load())
	}
	t.Logf("%d lists of %d rows, %d of the other user", asked.Load(), rows.Load(), foreign.Load())
}

// Rights of columns and a rule about rows hold together, of a column that the role does not see, too. The
// fallback is asked for no such table, and embeds none.
func TestRows_WithRolesAndFallback(t *testing.T) {
	t.Parallel()
	rule := []resource.RowTerm{{Column: "owner", Path: []string{"sub"}}}
	public := resource.Access{Read: "public", Write: "public"}
	s := newRuledSite(t, []resource.Spec{{Source: "main", Writable: true,
		Access: resource.Access{Read: "none", Write: "none"},
		Rows:   &resource.RowRule{Access: public, Read: rule, Write: rule},
		Table:  &source.Spec{Name: "diary", Table: "diary"}}},
		`CREATE TABLE diary (id int PRIMARY KEY, owner text NOT NULL DEFAULT auth.uid(), team int REFERENCES team)`,
		`INSERT INTO diary VALUES (1, 'ann', 1), (2, 'bob', 1)`,
		`GRANT SELECT (id, team), INSERT (id, team) ON diary TO g_user`, `GRANT DELETE ON diary TO g_user`)
	b := newBehind(t)
	u, err := fallback.Parse(b.URL + "/rest/v1")
	if err != nil {
		t.Fatal(err)
	}
	o := s.h.live.Load().Options
	o.Fallback = &Fallback{Server: fallback.New(fallback.Options{URL: u, Most: 64 << 10}), Source: "main",
		LeftOut: func(context.Context, string, string) (string, bool) { return "", false }}
	t.Cleanup(o.Fallback.Server.Close)
	s.h.Configure(o)
	ann := user("ann", `,"role":"g_user"`)
	s.expect("GET /diary", "", 200, `[{"id":1,"team":1}]`, ann)
	s.expect("GET /diary?owner=eq.bob", "", 400, "42703", ann)
	s.expect("GET /team?id=eq.1&select=id,diary(id)", "", 200, `[{"id":1,"diary":[{"id":1}]}]`, ann)
	s.expect("POST /diary", `{"id":3,"team":2}`, 201, `[{"id":3,"team":2}]`, ann, "Prefer: return=representation")
	s.expect("DELETE /diary?id=gt.0", "", 200, `[{"id":1,"team":1},{"id":3,"team":2}]`, ann,
		"Prefer: return=representation")
	s.expect("GET /diary", "", 200, `[{"id":2,"team":1}]`, user("bob", `,"role":"g_user"`))
	for ask, want := range map[string]string{"GET /diary?select=id.max()": "42501", "GET /rpc/f": "relayed",
		"GET /team?select=id.max()": "relayed", "GET /team?select=id.max(),diary(id)": "PGRST200",
		"GET /team?select=id.max(),people(id)": "PGRST200", "GET /diary?select=team(id.max())": "42501"} {
		if got := s.askedOf(b, &relayCase{ask: ask}, ann); got != want {
			t.Errorf("%s: %s, want %s", ask, got, want)
		}
	}
}
