package sqlcache_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

const foreignTable = `(id int PRIMARY KEY, tenant int, name text, f float8)`

var changes = flag.Int("changes", 0, "so many changes beside which TestServe_NeverForeign reads")

// foreignRows fills a new table with rows that are told from those of another.
const foreignRows = ` SELECT i, i %% 3, '%s' || i, i / 7.0 FROM generate_series(1, 9) i`

var foreignSetup = `CREATE SCHEMA s1; CREATE SCHEMA s2; GRANT USAGE ON SCHEMA s1, s2 TO PUBLIC;
	CREATE ROLE r1 LOGIN; CREATE ROLE r2 LOGIN; CREATE ROLE r3 LOGIN;
	CREATE TABLE a ` + foreignTable + `; INSERT INTO a` + fmt.Sprintf(foreignRows, "first ") + `;
	CREATE TABLE other ` + foreignTable + `; INSERT INTO other` + fmt.Sprintf(foreignRows, "other ") + `;
	GRANT SELECT ON a, other TO r1, r2, r3;`

// foreignChanges are what another program does to rights, policies and definitions. Most are undone by
// another one. None gives a member of a role the use of a schema: PostgreSQL's sessions before 17 notice
// that at different times.
var foreignChanges = []string{
	"REVOKE SELECT ON a FROM r1", "GRANT SELECT ON a TO r1",
	"REVOKE ALL ON a FROM r2", "GRANT SELECT (id, name) ON a TO r2", "GRANT SELECT ON a TO r2",
	"GRANT SELECT ON a TO PUBLIC", "REVOKE ALL ON a FROM PUBLIC",
	"GRANT r2 TO r1", "REVOKE r2 FROM r1", "ALTER ROLE r1 NOINHERIT", "ALTER ROLE r1 INHERIT",
	"ALTER ROLE r3 SUPERUSER", "ALTER ROLE r3 NOSUPERUSER", "ALTER ROLE r2 BYPASSRLS", "ALTER ROLE r2 NOBYPASSRLS",
	"REVOKE USAGE ON SCHEMA s1 FROM PUBLIC", "GRANT USAGE ON SCHEMA s1 TO PUBLIC",
	"ALTER TABLE a ENABLE ROW LEVEL SECURITY", "ALTER TABLE a DISABLE ROW LEVEL SECURITY",
	"DROP POLICY IF EXISTS p ON a; CREATE POLICY p ON a" +
		" USING (tenant = nullif(current_setting('app.tenant', true), '')::int)",
	"DROP POLICY IF EXISTS p ON a", "ALTER TABLE a FORCE ROW LEVEL SECURITY",
	"DROP TABLE a CASCADE; CREATE TABLE a " + foreignTable + "; INSERT INTO a" + fmt.Sprintf(foreignRows, "new ") +
		"; GRANT SELECT ON a TO r1, r2, r3",
	"ALTER TABLE a RENAME TO was; ALTER TABLE other RENAME TO a; ALTER TABLE was RENAME TO other",
	"CREATE TABLE IF NOT EXISTS s1.a " + foreignTable + "; INSERT INTO s1.a" +
		fmt.Sprintf(foreignRows, "shadow ") + "; GRANT SELECT ON s1.a TO r1, r2, r3",
	"CREATE VIEW s1.a AS SELECT id, tenant, upper(name) AS name, f FROM a; GRANT SELECT ON s1.a TO r1, r2, r3",
	"DROP TABLE IF EXISTS s1.a", "DROP VIEW IF EXISTS s1.a", "DROP TABLE IF EXISTS s1.a",
	"ALTER SCHEMA s1 RENAME TO s0; ALTER SCHEMA s2 RENAME TO s1; ALTER SCHEMA s0 RENAME TO s2",
	"ALTER TABLE a RENAME COLUMN name TO label", "ALTER TABLE a RENAME COLUMN label TO name",
	"ALTER TABLE a ALTER COLUMN f TYPE float4", "ALTER TABLE a ALTER COLUMN f TYPE float8",
	"ALTER TABLE a ADD COLUMN IF NOT EXISTS extra int DEFAULT 5", "ALTER TABLE a DROP COLUMN IF EXISTS extra",
	"ALTER TABLE a SET UNLOGGED", "ALTER TABLE a SET LOGGED", "TRUNCATE a",
	"INSERT INTO a SELECT i, i % 3, 'more ' || i, i / 9.0 FROM generate_series(1, 9) i ON CONFLICT DO NOTHING",
	"UPDATE a SET f = f + 1", "CREATE TABLE child () INHERITS (a); INSERT INTO child VALUES (1, 1, 'child', 0)",
	"DROP TABLE IF EXISTS child", "DROP TABLE IF EXISTS child",
	"ALTER SYSTEM SET extra_float_digits = -9", "ALTER SYSTEM SET extra_float_digits = 1",
}

// A seat is in whose name, and in which state, a session reads.
type seat struct{ role, path, tenant string }

func (s seat) sets() string {
	return fmt.Sprintf("SET search_path = %s; SET app.tenant = '%s'", s.path, s.tenant)
}

var foreignSeats = []seat{{"r1", "public", "1"}, {"r2", "public", "2"}, {"r3", "public", ""},
	{"r1", "s1, public", "2"}, {"r2", "s1, public", "1"}, {"postgres", "s1, public", ""}}

var foreignReads = []string{"SELECT * FROM a WHERE id = 1", "SELECT name FROM a WHERE tenant = 2 ORDER BY id",
	"SELECT count(*) FROM a", "SELECT f FROM a WHERE id = 2", "SELECT id FROM public.a WHERE id = 1"}

// A saying is what a session was told, and when.
type saying struct {
	seat, read int
	asked, had time.Time
	text       string
}

// An era is a time in which nothing changes, and what is to be said in it: by seat and read.
type era struct {
	change     string
	begun, ran time.Time // when its change was sent, and had been made
	want       [][]string
}

// say asks in one of two protocols, and returns all that is said.
func say(c *pgx.Conn, sql string, simple bool) string {
	var b strings.Builder
	ctx := context.Background()
	var results []*pgconn.Result
	var err error
	if simple {
		results, err = c.PgConn().Exec(ctx, sql).ReadAll()
	} else {
		results = []*pgconn.Result{c.PgConn().ExecParams(ctx, sql, nil, nil, nil, nil).Read()}
		err = results[0].Err
	}
	for _, r := range results {
		for _, f := range r.FieldDescriptions {
			fmt.Fprint(&b, f.Name, " ", f.DataTypeOID, ", ")
		}
		for _, row := range r.Rows {
			fmt.Fprintf(&b, "%s ", row)
		}
	}
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) {
		fmt.Fprint(&b, e.Code, " ", e.Message)
	} else if err != nil {
		fmt.Fprint(&b, err)
	}
	return b.String()
}

// as returns a URL of another user.
func as(t *testing.T, rawURL, user string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(user)
	return u.String()
}

// sit returns a session in a seat.
func sit(t *testing.T, rawURL string, s seat) *pgx.Conn {
	c := connect(t, as(t, rawURL, s.role), pgx.QueryExecModeExec)
	say(c, s.sets(), true)
	return c
}

// eras makes changes, and says what each session is to be told after each.
func eras(t *testing.T, database, through string, r *rand.Rand, n int) (list []era) {
	admin := connect(t, through, pgx.QueryExecModeSimpleProtocol)
	var direct []*pgx.Conn
	for _, s := range foreignSeats {
		direct = append(direct, sit(t, database, s))
	}
	for i := range n {
		e := era{change: "nothing"} // it has begun before all that is said
		if i > 0 {
			e.begun = time.Now()
			e.change = foreignChanges[r.IntN(len(foreignChanges))]
			said := say(admin, e.change, true)
			if digits, ok := strings.CutPrefix(e.change, "ALTER SYSTEM SET extra_float_digits = "); ok {
				said = say(admin, "SELECT pg_reload_conf()", true)
				waittest.Until(t, "the configuration is loaded", func() bool {
					return !slices.ContainsFunc(direct, func(c *pgx.Conn) bool {
						return !strings.HasSuffix(say(c, "SHOW extra_float_digits", true), "["+digits+"] ")
					})
				})
			}
			if admin.PgConn().IsClosed() {
				t.Errorf("%s: %s", e.change, said)
				return list
			}
		}
		e.ran = time.Now()
		for _, c := range direct {
			var want []string
			for _, sql := range foreignReads {
				want = append(want, say(c, sql, true))
			}
			e.want = append(e.want, want)
		}
		list = append(list, e)
		<-time.After(time.Duration(r.IntN(r.IntN(1200)+1)) * time.Millisecond)
	}
	return list
}

// foreignLimit is how long what others change of definitions may go unseen.
const foreignLimit = 500 * time.Millisecond

// wrong returns what is wrong with a saying: nobody would have been told so by the server, at any time
// from limit before it was asked for to when it had come.
func (s *saying) wrong(eras []era, limit time.Duration) string {
	from := s.asked.Add(-limit)
	var could []string
	for i := range eras {
		if eras[i].begun.After(s.had) || i+1 < len(eras) && eras[i+1].ran.Before(from) {
			continue
		}
		if eras[i].want[s.seat][s.read] == s.text {
			return ""
		}
		could = append(could, fmt.Sprintf("after %s: %s", eras[i].change, eras[i].want[s.seat][s.read]))
	}
	return fmt.Sprintf("%v: %s\n\tsays %s\n\t%s", foreignSeats[s.seat], foreignReads[s.read], s.text,
		strings.Join(could, "\n\t"))
}

// TestServe_NeverForeign: beside one who changes rights, policies, roles, schemas, tables and settings,
// sessions of four roles are told what the server would tell them at that moment, or 500 ms before if
// the change comes from outside. One of them takes all seats in turn.
func TestServe_NeverForeign(t *testing.T) {
	t.Run("from outside", func(t *testing.T) { neverForeign(t, foreignLimit) })
	t.Run("through hotrow", func(t *testing.T) { neverForeign(t, 0) })
}

func neverForeign(t *testing.T, limit time.Duration) {
	server := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	s := newServing(t, server.Database(t, dbtest.Setup(foreignSetup)), never, "a", "other")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	done := make(chan struct{})
	var readers sync.WaitGroup
	said := make([][]saying, 2*len(foreignSeats)+1)
	for i := range said {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		c := sit(t, s.url, foreignSeats[min(i/2, len(foreignSeats)-1)])
		readers.Go(func() { said[i] = sayings(c, r, i, i == len(said)-1, done) })
	}
	through := s.database
	if limit == 0 {
		through = s.url
	}
	list := eras(t, s.database, through, rand.New(rand.NewPCG(seed, 100)), cmp.Or(*changes, 25))
	close(done)
	readers.Wait()
	all := 0
	for i := range said {
		for j := range said[i] {
			all++
			if bad := said[i][j].wrong(list, limit); bad != "" {
				t.Errorf("session %d: %s", i, bad)
				break
			}
		}
	}
	st := s.front.Stats()
	t.Logf("%d answers in %d eras, %d from memory, passed on %v", all, len(list), st.Hits, st.Passes)
	if st.Hits == 0 {
		t.Error("memory has answered nothing")
	}
}

// sayings reads in one session until done is closed. One that moves takes all seats.
func sayings(c *pgx.Conn, r *rand.Rand, i int, moves bool, done <-chan struct{}) (list []saying) {
	for at := min(i/2, len(foreignSeats)-1); ; {
		select {
		case <-done:
			return list
		case <-time.After(time.Duration(r.IntN(3)) * time.Millisecond):
		}
		if moves && r.IntN(5) == 0 {
			at = r.IntN(len(foreignSeats))
			say(c, foreignSeats[at].sets()+"; SET ROLE "+foreignSeats[at].role, true)
		}
		one := saying{seat: at, read: r.IntN(len(foreignReads)), asked: time.Now()}
		one.text = say(c, foreignReads[one.read], i%2 == 0)
		one.had = time.Now()
		if !strings.HasPrefix(one.text, "40P01") { // a deadlock with a change
			list = append(list, one)
		}
	}
}
