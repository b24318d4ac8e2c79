package httpfront

import (
	"context"
	"slices"
	"testing"

	"github.com/hotrow/hotrow/internal/fallback"
	"github.com/hotrow/hotrow/internal/source"
)

// Where the roles of the database decide, the fallback is asked for what the request's role sees
// all of, in the schema that is meant.
func TestFallback_KeepsTheRoles(t *testing.T) {
	t.Parallel()
	b := newBehind(t)
	s := newGrantSite(t, `CREATE VIEW api.seen AS SELECT 1 AS id`, `CREATE VIEW seen AS SELECT 1 AS id`)
	u, err := fallback.Parse(b.URL + "/rest/v1")
	if err != nil {
		t.Fatal(err)
	}
	o := s.h.live.Load().Options
	o.Fallback = &Fallback{Server: fallback.New(fallback.Options{URL: u, Most: 64 << 10}), Source: "main",
		LeftOut: func(ctx context.Context, schema, name string) (string, bool) {
			cat, err := s.db.Catalog(ctx)
			if err != nil {
				t.Error(err)
				return "", false
			}
			return schema, slices.ContainsFunc(LeftOut(cat, o.Resources),
				func(t *source.Table) bool { return t.ID() == schema+"."+name })
		}}
	t.Cleanup(o.Fallback.Server.Close)
	s.h.Configure(o)
	for _, tc := range []struct{ as, ask, headers, want, schema string }{
		{"g_user", "GET /team?select=id.max()", "", "relayed", "public"},
		{"g_user", "GET /people?select=id.max()", "", "PGRST100", ""}, // it sees three columns
		{"g_user", "GET /people?secret=eq.11", "", "42703", ""},
		{"g_user", "GET /team?select=id,x:people(secret),id.max()", "", "42703", ""},
		{"g_user", "GET /seen?select=people(secret)", "", "PGRST200", ""},
		{"g_clerk", "GET /people?select=id.max()", "", "relayed", "public"},
		{"g_clerk", "GET /seen?select=people(secret)", "", "relayed", "public"},
		{"g_clerk", "GET /people?select=id.max()", "Accept-Profile: api", "42501", ""},
		{"g_user", "GET /people?select=id.max()", "Accept-Profile: api", "relayed", "api"},
		{"g_user", "GET /seen", "Accept-Profile: api", "relayed", "api"},
		{"g_user", "GET /seen", "Accept-Profile: auth", "PGRST106", ""},
		{"g_user", "GET /rpc/f", "Accept-Profile: auth", "PGRST106", ""},
		{"g_user", "GET /rpc/f", "Accept-Profile: api", "relayed", "api"},
		{"g_user", "GET /notes?select=id.max()", "", "relayed", "public"},
		{"g_anon", "GET /notes?select=id.max()", "", "42501", ""},
		{"g_other", "GET /rpc/f", "", "42501", ""},
		{"g_other", "GET /seen", "", "42501", ""},
	} {
		if got := s.askedOf(b, &relayCase{ask: tc.ask, headers: tc.headers}, as(tc.as)); got != tc.want {
			t.Errorf("%s: %s %s: %s, want %s", tc.as, tc.ask, tc.headers, got, tc.want)
		}
		if r, _, _ := b.last(); tc.schema != "" && r.Header.Get("Accept-Profile") != tc.schema {
			t.Errorf("%s: %s %s: of schema %v", tc.as, tc.ask, tc.headers, r.Header)
		}
	}
}
