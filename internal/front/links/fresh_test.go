package linksfront

import (
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// What another program does to a link is what the next hit sees.
func testFollowsTheDatabase(t *testing.T, db database) {
	b := newBed(t, db, nil)
	b.serve(false)
	for range 3 {
		b.want(wanted{"/plain", 302, "https://example.com/a"})
	}
	steps := []struct {
		sql string
		wanted
	}{
		{`UPDATE links SET url = 'https://example.com/new' WHERE code = 'plain'`,
			wanted{"/plain", 302, "https://example.com/new"}},
		{`UPDATE links SET status = 301 WHERE code = 'plain'`,
			wanted{"/plain", 301, "https://example.com/new"}},
		{`UPDATE links SET enabled = 0 WHERE code = 'plain'`, wanted{"/plain", 404, ""}},
		{`UPDATE links SET enabled = 1, starts_at = 1000 WHERE code = 'plain'`,
			wanted{"/plain", 301, "https://example.com/new"}},
		{`UPDATE links SET expires_at = 1000 WHERE code = 'plain'`, wanted{"/plain", 410, ""}},
		{`UPDATE links SET expires_at = NULL, code = 'renamed' WHERE code = 'plain'`,
			wanted{"/plain", 404, ""}}, // the seed kept the old code alive
		{`UPDATE links SET url = 'https://example.com/x' WHERE code = 'renamed'`,
			wanted{"/renamed", 301, "https://example.com/x"}},
		{`DELETE FROM links WHERE code = 'renamed'`, wanted{"/renamed", 404, ""}},
		{`INSERT INTO links (id, code, url) VALUES (900, 'plain', 'https://example.com/again')`,
			wanted{"/plain", 302, "https://example.com/again"}},
	}
	for _, s := range steps {
		b.sql(s.sql)
		b.eventually(s.sql, func() bool {
			a := b.do("GET", s.path)
			return a.StatusCode == s.code && a.location() == s.location
		})
		b.want(s.wanted)
	}
}

func TestFresh_FollowsSQLite(t *testing.T)     { testFollowsTheDatabase(t, databases()[0]) }
func TestPostgres_FollowsPsql(t *testing.T)    { testFollowsTheDatabase(t, databases()[1]) }
func TestMariaDB_FollowsItsShell(t *testing.T) { testFollowsTheDatabase(t, databases()[2]) }

// A link begins and expires by the clock: nobody writes, nothing is dropped.
func TestFresh_ExpiresByTheClock(t *testing.T) {
	b := newBed(t, databases()[0], nil)
	soon := time.Now().Add(time.Hour).UTC()
	at := func(t time.Time) string { return t.Format("20060102150405") }
	b.sql(`UPDATE links SET starts_at = 1000 * unixepoch('now', '+30 minutes'),
		expires_at = 1000 * unixepoch('now', '+1 hour') WHERE code = 'plain'`)
	b.warm("/plain")
	s := newStepper(b)
	in := []byte("GET /plain HTTP/1.1\r\nHost: localhost\r\n\r\n")
	for _, c := range []struct {
		after time.Duration
		code  int
	}{{0, 404}, {29 * time.Minute, 404}, {31 * time.Minute, 302}, {59 * time.Minute, 302},
		{61 * time.Minute, 410}} {
		code := 0
		b.eventually("it is in memory", func() bool { // the feed may yet drop it once
			s.s.x.now = time.Now().Add(c.after)
			_, out, _ := s.l.Step(s.conn, in, nil)
			if code, _ = http1.AnswerSize(out); code == 0 {
				b.warm("/plain")
			}
			return code != 0
		})
		if code != c.code {
			t.Errorf("after %v (of %s): %d, want %d", c.after, at(soon), code, c.code)
		}
	}
}

// While the database is away redirects stay as they were, from memory, and what
// memory does not hold is an error that says so.
func TestPostgres_RedirectsGoOnWithoutTheDatabase(t *testing.T) {
	server := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	b := newBed(t, database{name: "PostgreSQL", table: databases()[1].table,
		open: func(t testing.TB) (source.Source, func(string)) {
			url := server.URL()
			src, err := postgres.Open(t.Context(), url, postgres.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return src, func(sql string) { dbtest.Psql(t, url, sql) }
		}}, nil)
	b.warm("/plain", "/plain", "/asdf")
	server.Stop(dbtest.Immediate)
	b.eventually("the feed lags", func() bool { return b.set.Ready() != nil })
	before := b.front.Stats().Failed
	for range 200 {
		b.want(wanted{"/plain", 302, "https://example.com/a"})
	}
	if got := b.do("GET", "/plain").Header.Get("Cache-Status"); got != "hotrow; fwd=stale" {
		t.Errorf("Cache-Status: %q of a redirect that may be old", got)
	}
	if n := b.front.Stats().Failed - before; n != 0 {
		t.Errorf("%d of 400 redirects failed", n)
	}
	if got := len(b.clicks()); got < 400 {
		t.Errorf("%d recorded, want at least 400", got)
	}
	if a := b.do("GET", "/query"); a.StatusCode != 503 || a.Header.Get("Retry-After") == "" {
		t.Errorf("what memory does not hold: %s", a.Status)
	}
}
