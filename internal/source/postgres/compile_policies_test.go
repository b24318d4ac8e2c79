package postgres

import (
	"net/url"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
)

// TestPostgres_PoliciesThatChangeByThemselves: with rls: ignore a policy says which rows
// there are. With one that no change of the table goes with nothing is kept.
func TestPostgres_PoliciesThatChangeByThemselves(t *testing.T) {
	t.Parallel()
	at := dbtest.Postgres(t)
	owner := openSource(t, at, Options{})
	mustExec(t, owner, "DROP ROLE IF EXISTS policed", "CREATE ROLE policed LOGIN PASSWORD 'policed'",
		"CREATE TABLE member (name text PRIMARY KEY)",
		"CREATE FUNCTION late() RETURNS bool LANGUAGE sql STABLE AS 'SELECT now() > now()'")
	t.Cleanup(func() { mustExec(t, owner, "DROP OWNED BY policed", "DROP ROLE policed") })
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("policed", "policed")
	s := openSource(t, u.String(), Options{})
	for name, tt := range map[string]struct{ policy, want string }{
		"a": {"expires > now()", "now()"}, "b": {"expires::date > CURRENT_DATE", "time of day"},
		"c": {"EXISTS (SELECT FROM member WHERE name = owner)", "reads tables"},
		"d": {"owner = current_setting('app.user', true)", "current_setting"},
		"e": {"late()", "late"}, "f": {"random() > 0.5", "random"},
		"g": {"owner = CURRENT_USER", ""}, "h": {"id > 3 AND lower(owner) <> 'x'", ""},
	} {
		mustExec(t, owner, "CREATE TABLE "+name+" (id int PRIMARY KEY, owner text, expires timestamptz)",
			"ALTER TABLE "+name+" ENABLE ROW LEVEL SECURITY", "GRANT SELECT ON "+name+" TO policed",
			"CREATE POLICY p ON "+name+" USING ("+tt.policy+")")
		spec := &source.Spec{Name: name, Table: name, RLSIgnore: true}
		why := mustCompile(t, s, spec).ByItself()
		if (why != "") != (tt.want != "") || !strings.Contains(why, tt.want) {
			t.Errorf("%s: %q, want %q", tt.policy, why, tt.want)
		}
		if why := mustCompile(t, owner, spec).ByItself(); why != "" {
			t.Errorf("%s, of a table whose policies do not count: %q", tt.policy, why)
		}
	}
	p := mustCompile(t, s, &source.Spec{Name: "q", Query: "SELECT id FROM a WHERE id = :id",
		Depends: []source.Dep{{Table: "a"}}, RLSIgnore: true})
	if p.ByItself() == "" {
		t.Error("a query of a table with such a policy is kept")
	}
}
