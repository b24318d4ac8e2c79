package httpfront

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/waittest"
)

// grantTables are what a database of roles has. Roles are the whole server's.
var grantTables = []string{
	`DO $$ BEGIN
		CREATE ROLE g_anon; CREATE ROLE g_user; CREATE ROLE g_clerk; CREATE ROLE g_none;
	EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`,
	`CREATE SCHEMA auth`, `CREATE SCHEMA api`, `GRANT USAGE ON SCHEMA auth, api, public TO PUBLIC`,
	`CREATE FUNCTION auth.uid() RETURNS text LANGUAGE sql STABLE AS
		$$ SELECT nullif(current_setting('request.jwt.claims', true), '')::json ->> 'sub' $$`,
	`CREATE TABLE team (id int PRIMARY KEY, name text)`,
	`CREATE TABLE people (id int PRIMARY KEY, name text, secret int UNIQUE, wage int NOT NULL DEFAULT 1,
		team int REFERENCES team, boss_team int REFERENCES team)`,
	`CREATE TABLE notes (id serial PRIMARY KEY, text text, owner_id text DEFAULT auth.uid())`,
	`CREATE TABLE audit (id serial PRIMARY KEY, who text, what text)`,
	`CREATE TABLE guarded (id int PRIMARY KEY)`, `CREATE TABLE api.people (id int PRIMARY KEY, nick text)`,
	`CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
		INSERT INTO audit (who, what) VALUES (auth.uid() || ' ' || current_setting('role'), TG_OP);
		RETURN NULL; END $$`,
	`CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON notes FOR EACH ROW EXECUTE FUNCTION audit()`,
	`INSERT INTO team VALUES (1, 'red'), (2, 'blue')`,
	`INSERT INTO people VALUES (1, 'ann', 11, 100, 1, 2), (2, 'bob', 12, 200, 2, 1)`,
	`INSERT INTO api.people VALUES (7, 'seven')`,
	`ALTER TABLE guarded ENABLE ROW LEVEL SECURITY`,
	`GRANT SELECT ON team TO g_anon, g_user, g_clerk`,
	`GRANT SELECT (id, name, team) ON people TO g_user`, `GRANT SELECT ON people TO g_clerk`,
	`GRANT SELECT ON api.people, guarded TO g_user`,
	`GRANT INSERT (id, name, team), UPDATE (name) ON people TO g_user`,
	`GRANT INSERT, UPDATE, DELETE ON people TO g_clerk`,
	`GRANT SELECT, INSERT, UPDATE, DELETE ON notes TO g_user`, `GRANT USAGE ON SEQUENCE notes_id_seq TO g_user`,
}

// A grantSite is a site in front of a database with roles.
type grantSite struct {
	*site
	db *postgres.Source
}

// newGrantSite starts one. more are statements behind grantTables.
func newGrantSite(t *testing.T, more ...string) *grantSite {
	t.Helper()
	return newRuledSite(t, nil, more...)
}

// newRuledSite is newGrantSite with further resources.
func newRuledSite(t *testing.T, rules []resource.Spec, more ...string) *grantSite {
	t.Helper()
	url := dbtest.Postgres(t, dbtest.Setup(append(grantTables, more...)...))
	db, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	public := resource.Access{Read: "public", Write: "public"}
	spec := func(name, table string) resource.Spec {
		return resource.Spec{Source: "main", Access: public, Writable: true,
			Table: &source.Spec{Name: name, Table: table, RLSIgnore: true}}
	}
	memory := tier.NewMemory(1 << 20)
	set, err := resource.Open(t.Context(), resource.SetOptions{Memory: memory, Lists: 1 << 20,
		Sources: []resource.SourceOptions{{Name: "main", Source: db, Mode: source.FeedAuto,
			StaleAfter: time.Minute}},
		Resources: append(rules, spec("people", "people"), spec("team", "team"), spec("notes", "notes"),
			spec("guarded", "guarded"), spec("api.people", "api.people"), spec("audit", "audit"))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(set.Close(), db.Close(), memory.Close()); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the feed is fresh", func() bool { return set.Ready() == nil })
	return &grantSite{db: db, site: newServerOf(t, set, nil, withJWT(t), func(o *Options) {
		o.Postgrest, o.Schemas = "/rest/v1", []string{"public", "api"}
		o.Roles, o.Anon, o.Anonymous = []string{"g_user", "g_clerk", "g_member", "g_none", "g_anon"}, "g_anon", "g_anon"
	})}
}

// as returns the header of a token of a role.
func as(role string) string { return bearer(newJWT(time.Hour, `,"role":"`+role+`"`)) }

// expect asks the profile, for a case of which the answer holds a text.
func (s *grantSite) expect(ask, body string, code int, want string, headers ...string) reply {
	s.t.Helper()
	method, path, _ := strings.Cut(ask, " ")
	a := s.do(method, "/rest/v1"+path, body, headers...)
	if a.StatusCode != code || !strings.Contains(a.body, want) {
		s.t.Errorf("%s %s: %d %s, want %d %s", ask, body, a.StatusCode, a.body, code, want)
	}
	return a
}

// A role gets the tables and columns that it holds SELECT on. Another column is one that there is not:
// in filters, orders, members, embedded rows, bodies and errors.
func TestProfile_RolesSeeWhatTheyAreGranted(t *testing.T) {
	t.Parallel()
	s := newGrantSite(t)
	user, clerk := as("g_user"), as("g_clerk")
	s.expect("GET /team?id=eq.1", "", 200, `[{"id":1,"name":"red"}]`)
	s.expect("GET /people", "", 401, `"code":"42501"`)
	s.expect("GET /people", "", 403, `"code":"42501"`, as("g_none"))
	s.expect("GET /people", "", 403, `"code":"42501"`, as("stranger"))
	s.expect("GET /people?id=eq.1", "", 200, `[{"id":1,"name":"ann","team":1}]`, user)
	s.expect("GET /people?id=eq.1", "", 200,
		`[{"id":1,"name":"ann","secret":11,"wage":100,"team":1,"boss_team":2}]`, clerk)
	s.expect("GET /people?id=eq.1&select=*,team(name)", "", 300, "PGRST201", clerk)
	s.expect("GET /people?id=eq.1&select=id,name,team(name)", "", 200, // of the two keys one is known
		`[{"id":1,"name":"ann","team":{"name":"red"}}]`, user)
	s.expect("GET /people?id=eq.1&select=id,team!boss_team(name)", "", 400, "PGRST200", user)
	s.expect("GET /team?id=eq.1&select=id,people(*)", "", 200,
		`[{"id":1,"people":[{"id":1,"name":"ann","team":1}]}]`, user)
	s.expect("GET /team?select=id,people(*)", "", 400, "PGRST200")
	s.expect("GET /guarded", "", 403, "42501", user)
	s.expect("GET /people", "", 200, `[{"id":7,"nick":"seven"}]`, user, "Accept-Profile: api")
	s.expect("GET /people", "", 406, "PGRST106", user, "Accept-Profile: auth")
	s.expect("GET /api.people", "", 404, "PGRST205", user)
	for _, ask := range []string{"GET /people?%s=eq.11", "GET /people?order=%s", "GET /people?select=%s",
		"GET /people?or=(id.eq.1,%s.gt.1)", "GET /people?select=*,%s::text", "PATCH /people?%s=eq.11",
		"GET /team?select=id,people(*)&people.%s=eq.11", "GET /team?select=id,people(%s)",
		"PATCH /people?id=eq.9&select=%s", "DELETE /people?%s=eq.1"} {
		said := func(name string) string {
			method, path, _ := strings.Cut(fmt.Sprintf(ask, name), " ")
			body := ""
			if method == "PATCH" {
				body = `{"name":"x"}`
			}
			a := s.do(method, "/rest/v1"+path, body, user, "Prefer: return=representation")
			return fmt.Sprint(a.StatusCode, strings.ReplaceAll(a.body, name, "NAME"))
		}
		if hidden, none := said("secret"), said("nosuch"); hidden != none {
			t.Errorf("%s: %s, where there is no column: %s", ask, hidden, none)
		}
	}
	for _, body := range []string{`{"id":3,"NAME":"x"}`, `[{"id":3,"NAME":null}]`, `{"id":3,"NAME":{}}`} {
		said := func(name string) string {
			a := s.do("POST", "/rest/v1/people", strings.ReplaceAll(body, "NAME", name), user)
			return fmt.Sprint(a.StatusCode, strings.ReplaceAll(a.body, name, "NAME"))
		}
		if hidden, none := said("secret"), said("nosuch"); hidden != none {
			t.Errorf("%s: %s, where there is no column: %s", body, hidden, none)
		}
	}
	// Documents are whole: elsewhere a role must see all of them.
	s.want(s.do("GET", "/people/1", "", user), 403, "forbidden")
	s.want(s.do("GET", "/people?limit=1", "", user), 403, "forbidden")
	s.want(s.do("GET", "/people/1", "", clerk), 200, "")
	s.want(s.do("GET", "/people/1", ""), 401, "unauthorized")
	s.want(s.do("GET", "/team/1", ""), 200, "")
	s.want(s.do("GET", "/team?select=*,people!team(*)", ""), 401, "unauthorized")
}

// A right that is revoked is gone within 250 ms: of a table, of a column, of a role in another.
func TestProfile_RevokedRightsAreGone(t *testing.T) {
	t.Parallel()
	s := newGrantSite(t, `DO $$ BEGIN CREATE ROLE g_member; EXCEPTION WHEN duplicate_object THEN NULL; END $$`,
		`GRANT g_clerk TO g_member`)
	user, none := as("g_user"), as("g_member")
	for _, c := range []struct{ token, sql, want string }{
		{user, "REVOKE SELECT (name) ON people FROM g_user", `[{"id":1,"team":1}]`},
		{user, "GRANT SELECT (wage) ON people TO g_user", `[{"id":1,"wage":100,"team":1}]`},
		{user, "REVOKE SELECT (id, team, wage) ON people FROM g_user", "42501"},
		{none, "REVOKE g_clerk FROM g_member", "42501"},
		{as("g_clerk"), "REVOKE USAGE ON SCHEMA public FROM PUBLIC, g_clerk", "42501"},
	} {
		s.do("GET", "/rest/v1/people?id=eq.1", "", c.token)
		if err := s.db.Exec(t.Context(), c.sql); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		waittest.Until(t, c.sql, func() bool {
			a := s.do("GET", "/rest/v1/people?id=eq.1", "", c.token)
			return strings.Contains(a.body, c.want)
		})
		t.Logf("%s: after %v", c.sql, time.Since(begun))
	}
}

// What is written is written as the role, with the claims: defaults and triggers know who it is. The
// connection is clean for whoever is next.
func TestProfile_WritesAreTheRoles(t *testing.T) {
	t.Parallel()
	s := newGrantSite(t)
	user, clerk := as("g_user"), as("g_clerk")
	s.expect("POST /notes", `{"text":"a"}`, 201, `[{"id":1,"text":"a","owner_id":"subject-of-ann"}]`, user,
		"Prefer: return=representation")
	s.want(s.do("POST", "/notes", `{"text":"b"}`, user), 201, "")
	s.expect("PATCH /notes?id=eq.1", `{"text":"c"}`, 204, "", user)
	s.expect("DELETE /notes?id=eq.1", "", 204, "", user)
	s.expect("POST /notes", `{"text":"a"}`, 401, "42501")
	s.expect("POST /people", `{"id":3,"name":"eve","team":1}`, 201, `[{"id":3,"name":"eve","team":1}]`, user,
		"Prefer: return=representation")
	s.expect("POST /people", `{"id":4,"name":"eve"}`, 201, "", user, `Prefer: return=headers-only`)
	s.expect("PATCH /people?id=eq.3", `{"name":"eva"}`, 200, `[{"id":3,"name":"eva","team":1}]`, user,
		"Prefer: return=representation")
	s.expect("PATCH /people?id=eq.3", `{"team":2}`, 403, "42501", user) // seen, and not to be written
	s.expect("DELETE /people?id=eq.3", "", 403, "42501", user)
	s.expect("DELETE /people?id=eq.3", "", 204, "", clerk)
	s.expect("POST /people", `{"id":1,"name":"x"}`, 409, `"details":null`, user)
	s.expect("POST /people", `{"id":9,"secret":11}`, 409, `Key (secret)=(11) already exists.`, clerk)
	if a := s.expect("PATCH /people?id=eq.1", `{"wage":null}`, 400, "23502", clerk); strings.Contains(a.body, "ann") {
		t.Errorf("the detail has the row: %s", a.body)
	}
	var a reply
	if err := s.db.Exec(t.Context(), "GRANT SELECT ON audit TO g_clerk"); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the clerk may read the audit", func() bool {
		a = s.do("GET", "/rest/v1/audit?order=id&select=who,what", "", clerk)
		return a.StatusCode == 200
	})
	const who = `"who":"subject-of-ann g_user","what":`
	if a.body != `[{`+who+`"INSERT"},{`+who+`"INSERT"},{`+who+`"UPDATE"},{`+who+`"DELETE"}]` {
		t.Errorf("the audit: %s", a.body)
	}
	// Every connection of the pool is this user's again, after commits and after failures.
	var wg sync.WaitGroup
	for range 16 { // at a time: on several connections
		wg.Go(func() {
			if err := s.db.Exec(t.Context(), `DO $$ BEGIN PERFORM pg_sleep(0.05);
				ASSERT current_setting('role') = 'none' AND current_user = session_user;
				ASSERT coalesce(current_setting('request.jwt.claims', true), '') = ''; END $$`); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// What a role may select is what PostgreSQL itself lets it, after random grants to and among three roles.
func TestProfile_RightsAsOfSetRole(t *testing.T) {
	t.Parallel()
	s := newGrantSite(t, `DO $$ BEGIN CREATE ROLE g_r0; CREATE ROLE g_r1; CREATE ROLE g_r2;
		EXCEPTION WHEN duplicate_object THEN NULL; END $$`, `GRANT SELECT (id) ON people TO g_r0, g_r1, g_r2`)
	o := s.h.live.Load().Options
	roles := []string{"g_r0", "g_r1", "g_r2"}
	o.Roles = append(o.Roles, roles...)
	s.h.Configure(o)
	columns := []string{"name", "secret", "wage", "team", "boss_team"}
	asked := 0
	for round := range 25 {
		do, to := "GRANT", "TO"
		if rand.IntN(2) == 0 {
			do, to = "REVOKE", "FROM"
		}
		role := roles[rand.IntN(3)]
		sql := fmt.Sprintf("%s SELECT (%s) ON people %s %s", do, columns[rand.IntN(len(columns))], to, role)
		switch rand.IntN(6) {
		case 0:
			sql = fmt.Sprintf("%s g_r0 %s g_r1", do, to)
		case 1:
			sql = fmt.Sprintf("%s SELECT ON people %s %s", do, to, role)
		}
		if err := s.db.Exec(t.Context(), sql, "GRANT SELECT (id) ON people TO g_r0, g_r1, g_r2"); err != nil {
			t.Fatal(err)
		}
		differs := ""
		same := func() bool {
			for _, role := range roles {
				for _, column := range columns {
					asked++
					said := s.db.Exec(t.Context(), "SET LOCAL ROLE "+role, "SELECT "+column+" FROM people")
					a := s.do("GET", "/rest/v1/people?select="+column, "", as(role))
					if (said == nil) != (a.StatusCode == 200) {
						differs = fmt.Sprint(role, " ", column, ": ", said, ", and ", a.StatusCode, " ", a.body)
						return false
					}
				}
			}
			return true
		}
		begun := time.Now()
		for !same() { // a right that is granted is there, and one that is revoked is gone, in time
			if time.Since(begun) > waittest.Limit(time.Second) {
				t.Fatalf("round %d: %s: %s", round, sql, differs)
			}
		}
	}
	t.Logf("%d questions beside SET ROLE", asked)
}
