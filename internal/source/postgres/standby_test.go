package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/logical"
	"github.com/hotrow/hotrow/internal/waittest"
)

// oneTable is what the tests of standbys follow.
var oneTable = []source.Watched{{Table: "public.t", Columns: []string{"id"}}}

const oneTableSQL = "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a')"

// withReads opens the database at url, which reads another server.
func withReads(t *testing.T, url, reads string) *Source {
	t.Helper()
	s, err := Open(t.Context(), url, Options{Reads: reads})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// standbyOf starts a primary with a table, and a standby, and returns their URLs.
func standbyOf(t *testing.T) (primary, standby *dbtest.Server, url, reads string) {
	t.Helper()
	primary = dbtest.NewPostgresSince(t, logical.StandbyVersion/10000, map[string]string{
		"wal_level": "logical", "synchronous_commit": "local", "synchronous_standby_names": "nobody"})
	url = primary.Database(t, dbtest.Setup(oneTableSQL))
	standby = primary.Standby(t, nil)
	return primary, standby, url, strings.Replace(url, primary.Address(), standby.Address(), 1)
}

// followReads runs the feed of s until the test ends.
func followReads(t *testing.T, s *Source) {
	t.Helper()
	opened, why, err := s.OpenFeed(t.Context(), source.FeedLogical, oneTable)
	if err != nil {
		t.Fatalf("%s: %v", why, err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	f := &fixture{t: t, feed: opened}
	f.run()
}

// Reads go to the standby while it is followed, see what was written, and go to the
// primary when it does not get there.
func TestPostgres_ReadsOfAStandby(t *testing.T) {
	t.Parallel()
	_, standby, url, reads := standbyOf(t)
	s := withReads(t, url, reads)
	p, err := s.Compile(t.Context(), &source.Spec{Name: "t", Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	read := func(want string) {
		t.Helper()
		got, err := p.Load(t.Context(), []row.Key{"1"})
		if err != nil || got[0].Values[1].Text() != want {
			t.Fatalf("read %+v, %v, want %s", got, err, want)
		}
	}
	read("a")
	if s.Elsewhere() == 0 {
		t.Error("a standby that nobody follows was read")
	}
	followReads(t, s)
	for _, v := range []string{"b", "c", "d"} {
		await(t, "the standby to be read", func() bool { // which is late on a busy machine
			before := s.Elsewhere()
			if _, err := s.Tx(t.Context(), func(tx source.StoreTx) error {
				_, err := tx.Exec(t.Context(), "UPDATE t SET v = ? WHERE id = 1", v)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			read(v)
			return s.Elsewhere() == before
		})
	}
	standby.Exec("SELECT pg_wal_replay_pause()")
	if err := s.Exec(t.Context(), "UPDATE t SET v = 'e' WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Current(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, begun := s.Elsewhere(), time.Now()
	read("e")
	if s.Elsewhere() == before || waittest.Late(time.Since(begun), 10*catchUp) {
		t.Errorf("a paused standby: %d reads elsewhere, after %v", s.Elsewhere()-before, time.Since(begun))
	}
	standby.Exec("SELECT pg_wal_replay_resume()")
	await(t, "the standby to be read again", func() bool {
		n := s.Elsewhere()
		read("e")
		return s.Elsewhere() == n
	})
}

// What cannot be followed is refused, with the reason.
func TestPostgres_ReadsThatCannotBe(t *testing.T) {
	t.Parallel()
	primary, standby, url, _ := standbyOf(t)
	other := dbtest.Postgres(t, dbtest.Setup(oneTableSQL))
	old := dbtest.Postgres(t, dbtest.Setup(oneTableSQL))
	refused := func(s *Source, mode source.FeedMode, want string) {
		t.Helper()
		if _, _, err := s.OpenFeed(t.Context(), mode, oneTable); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if dbtest.Psql(t, old, "SELECT current_setting('server_version_num')::int < 160000") == "t" {
		refused(withReads(t, other, old), source.FeedLogical, "reads leads to PostgreSQL")
	}
	refused(withReads(t, url, url), source.FeedNotify, "a standby sends no notifications")
	if _, err := Open(t.Context(), url, Options{Reads: "postgres://["}); err == nil ||
		!strings.Contains(err.Error(), "reads:") {
		t.Errorf("a bad URL: %v", err)
	}
	standby.Promote()
	refused(withReads(t, url, strings.Replace(url, primary.Address(), standby.Address(), 1)),
		source.FeedLogical, "reads leads to a primary, and url to another one")
}

// Doctor says what a standby lacks to be read; what it says mends it.
func TestPostgres_DoctorOfReads(t *testing.T) {
	t.Parallel()
	primary, standby, url, reads := standbyOf(t)
	primary.Exec("CREATE ROLE reader LOGIN REPLICATION")
	as := func(url string) string { return strings.Replace(url, "postgres@", "reader@", 1) }
	dbtest.Psql(t, url, "ALTER TABLE t OWNER TO reader; GRANT CREATE ON DATABASE "+
		dbtest.Psql(t, url, "SELECT current_database()")+" TO reader")
	s, admin := withReads(t, as(url), as(reads)), withReads(t, url, "")
	ask := func() (bad []string, apply []string) {
		t.Helper()
		found, err := s.Doctor(t.Context(), source.FeedLogical, oneTable)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if f.Level >= source.LevelWarning {
				bad, apply = append(bad, f.Text), append(apply, f.Apply...)
			}
			if strings.Contains(f.Text, "hot_standby_feedback") {
				for _, sql := range f.ByHand {
					standby.Exec(sql)
				}
			}
		}
		return bad, apply
	}
	bad, apply := ask()
	all := strings.Join(bad, "; ")
	for _, what := range []string{"hot_standby_feedback", "log its transactions", "others' transactions"} {
		if !strings.Contains(all, what) {
			t.Errorf("nothing about %s: %s", what, all)
		}
	}
	if err := admin.Exec(t.Context(), apply...); err != nil {
		t.Fatal(err)
	}
	await(t, "doctor to be content", func() bool {
		bad, _ = ask()
		return len(bad) == 0
	})
}
