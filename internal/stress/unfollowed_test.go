package stress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// An unfollowing makes changes of the table x unknown to the feed, and mends that.
type unfollowing struct {
	name, do, mend string
	unreadable     bool // x cannot be read meanwhile
	parts          bool // x is partitioned
	reader         bool // hotrow is a user who owns neither the tables nor the publication
}

var unfollowings = []unfollowing{
	{name: "replica identity", do: "ALTER TABLE x REPLICA IDENTITY NOTHING",
		mend: "ALTER TABLE x REPLICA IDENTITY DEFAULT"},
	{name: "child", do: "CREATE TABLE x_child () INHERITS (x)", mend: "DROP TABLE x_child"},
	{name: "publication", reader: true, do: "ALTER PUBLICATION hotrow DROP TABLE x",
		mend: "ALTER PUBLICATION hotrow ADD TABLE x"},
	{name: "root", do: "ALTER PUBLICATION hotrow SET (publish_via_partition_root = false)",
		mend: "ALTER PUBLICATION hotrow SET (publish_via_partition_root = true)", parts: true},
	{name: "privilege", reader: true, unreadable: true, do: "REVOKE SELECT ON x FROM reader",
		mend: "GRANT SELECT ON x TO reader"},
}

// TestPostgres_UnfollowedTables: what the feed cannot tell of one table costs only the
// resources that read it, whether it comes while hotrow runs or was so before.
func TestPostgres_UnfollowedTables(t *testing.T) {
	t.Parallel() // it waits, most of the time
	for _, u := range unfollowings {
		for _, before := range []bool{false, true} {
			if before && u.unreadable { // then the resource does not compile
				continue
			}
			t.Run(fmt.Sprint(u.name, " before ", before), func(t *testing.T) {
				at := dbtest.Postgres(t)
				conn := testbed.Dial(t, at)
				x := plain("x")
				if u.parts {
					x = partitioned("x")
				}
				testbed.MustExec(t, conn, x+";"+plain("y")+
					"; ALTER TABLE y ADD x int REFERENCES x DEFAULT 1;"+
					" CREATE PUBLICATION hotrow FOR TABLE x, y WITH (publish_via_partition_root)")
				if u.reader {
					testbed.MustExec(t, conn, "DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN"+
						" REPLICATION PASSWORD 'reader'; GRANT SELECT ON x, y TO reader")
					t.Cleanup(func() { testbed.MustExec(t, conn, "DROP OWNED BY reader; DROP ROLE reader") })
					at = asUser(t, at, "reader")
				}
				exec := func(sql string) { testbed.MustExec(t, conn, "BEGIN; "+sql+"; COMMIT") }
				if before {
					exec(u.do)
				}
				bypass := resource.LagBypass
				specs := []resource.Spec{testbed.Spec("x"), testbed.Spec("y")}
				for i := range specs {
					specs[i].Stale.OnLag = &bypass
				}
				s := newStand(t, at, plan{Specs: specs, Mode: source.FeedAuto,
					Change: func(o *resource.SourceOptions) { o.LookBetter = 300 * time.Millisecond }})
				s.unfollow(u, before, exec)
			})
		}
	}
}

// asUser returns a URL with another user, whose password is the name.
func asUser(t *testing.T, text, user string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, user)
	return u.String()
}

// unfollow reads x and y while x is not followed, and after.
func (s *stand) unfollow(u unfollowing, before bool, exec func(sql string)) {
	s.T.Helper()
	read := func(name string) (string, resource.Origin) {
		a, err := s.Resource(name).Get(context.Background(), "1",
			resource.Options{Format: row.FormatJSON})
		var e *source.Error
		switch {
		case u.unreadable && errors.As(err, &e) && e.Class == source.Forbidden:
			return "forbidden", resource.Bypassed
		case err != nil:
			s.T.Fatal(err)
		}
		return string(a.Doc.Body()), a.Origin
	}
	hit := func(name string) func() bool {
		return func() bool { _, from := read(name); return from == resource.HitMemory }
	}
	waittest.Until(s.T, "a hit of y", hit("y"))
	if !before {
		waittest.Until(s.T, "a hit of x", hit("x"))
		exec(u.do)
		testbed.Pause(s.T.Context(), definitionBound)
		waittest.Until(s.T, "a hit of y beside", hit("y"))
	}
	for i := range 20 {
		want := fmt.Sprint("new", i)
		if u.name == "replica identity" { // which no update of a published table passes
			exec("INSERT INTO y VALUES (" + fmt.Sprint(100+i) + ", '')")
		} else {
			exec("UPDATE x SET v = '" + want + "' WHERE id = 1")
		}
		wantY := fmt.Sprint("new", i/2) // so that lists of y are kept, if they may be
		exec("UPDATE y SET v = '" + wantY + "' WHERE id = 1 AND v <> '" + wantY + "'")
		testbed.Pause(s.T.Context(), definitionBound/10)
		for range 3 {
			now, from := read("x")
			if from == resource.HitMemory {
				s.T.Fatalf("x is kept: %s", now)
			}
			if u.name == "replica identity" || u.unreadable {
				continue
			}
			if list := s.listOf("y?select=id,x(v)"); !strings.Contains(now, want) ||
				!strings.Contains(list, want) {
				s.T.Fatalf("x is %s from %v, and %s as part of a list; want %s", now, from, list, want)
			}
		}
		waittest.Until(s.T, "the change of y", func() bool {
			now, _ := read("y")
			return strings.Contains(now, wantY)
		})
	}
	if !u.unreadable {
		s.grows("x", func() { exec("ALTER TABLE x ADD COLUMN more int NOT NULL DEFAULT 7") }, "x/1",
			"y?select=id,x(*)")
	}
	waittest.Until(s.T, "a hit of y at the end", hit("y"))
	if s.Resource("x").Followed() || !s.Resource("y").Followed() {
		s.T.Error("x is said to be followed, or y is not")
	}
	exec(u.mend)
	waittest.Until(s.T, "a hit of x after it is mended", hit("x"))
	exec("UPDATE x SET v = 'last' WHERE id = 1")
	testbed.Pause(s.T.Context(), definitionBound)
	if now, from := read("x"); !strings.Contains(now, "last") {
		s.T.Errorf("x is %s from %v", now, from)
	}
}

// grows has add give rows of a resource that no feed follows a member "more", which paths
// tell of from definitionBound on.
func (s *stand) grows(name string, add func(), paths ...string) {
	s.T.Helper()
	for _, p := range paths { // what makes the answers is as new as it can be
		if now := s.listOf(p); strings.Contains(now, "more") {
			s.T.Fatalf("%s: %s", p, now)
		}
	}
	add()
	for end := time.Now().Add(definitionBound); time.Now().Before(end); testbed.Pause(s.T.Context(), time.Millisecond) {
		s.listOf(paths[0])
	}
	for _, p := range paths {
		if now := s.listOf(p); !strings.Contains(now, `"more":7`) {
			s.T.Errorf("%v after %s has another column, %s is %s", definitionBound, name, p, now)
		}
	}
}

// TestUnfollowed_NoFeed: without any feed a definition that has changed is known as soon.
func TestUnfollowed_NoFeed(t *testing.T) {
	const more = "ALTER TABLE x ADD COLUMN more int NOT NULL DEFAULT 7"
	none := plan{Mode: source.FeedNone, Specs: []resource.Spec{testbed.Spec("x")}}
	t.Run("PostgreSQL", func(t *testing.T) {
		at := dbtest.Postgres(t)
		conn := testbed.Dial(t, at)
		testbed.MustExec(t, conn, plain("x"))
		s := newStand(t, at, none)
		s.grows("x", func() { testbed.MustExec(t, conn, more) }, "x/1", "x")
	})
	t.Run("PostgreSQL by its name", func(t *testing.T) {
		at := dbtest.Postgres(t)
		conn := testbed.Dial(t, at)
		testbed.MustExec(t, conn, plain("x")+";"+plain("y")+"; ALTER TABLE y ADD x int REFERENCES x DEFAULT 1")
		s := newStand(t, at, plan{Mode: source.FeedNone,
			Specs: []resource.Spec{testbed.Spec("x"), testbed.Spec("y")}})
		testbed.MustExec(t, conn, more)
		for _, p := range []string{"x?more=eq.7", "y?select=id,x(more)"} {
			waittest.Until(t, p, func() bool { code, _ := s.ask(p); return code == http.StatusOK })
		}
	})
	t.Run("PostgreSQL beside a lock", func(t *testing.T) {
		at := dbtest.Postgres(t)
		conn, other := testbed.Dial(t, at), testbed.Dial(t, at)
		testbed.MustExec(t, conn, plain("x")+";"+plain("y"))
		s := newStand(t, at, plan{Mode: source.FeedNone, Specs: []resource.Spec{testbed.Spec("x"), testbed.Spec("y")},
			Change: func(o *resource.SourceOptions) { o.Timeout = 30 * time.Second }})
		testbed.MustExec(t, conn, "BEGIN; LOCK TABLE x IN ACCESS EXCLUSIVE MODE")
		go s.ask("x/1") // waits
		for begun := time.Now(); time.Since(begun) < 4*definitionBound; {
			one := time.Now()
			if s.listOf("y/1"); waittest.Late(time.Since(one), time.Second) {
				t.Fatalf("a read of y has waited for %v beside a lock of x", time.Since(one))
			}
		}
		testbed.MustExec(t, other, "ALTER TABLE y ADD COLUMN more int NOT NULL DEFAULT 7")
		waittest.Until(t, "the new column of y", func() bool {
			return strings.Contains(s.listOf("y/1"), "more")
		})
		testbed.MustExec(t, conn, "COMMIT")
	})
	t.Run("MariaDB", func(t *testing.T) {
		at := dbtest.MariaDB(t)
		db := testbed.DialMariaDB(t, at)
		exec := func(sql string) {
			if _, err := db.ExecContext(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		exec("CREATE TABLE x (id int PRIMARY KEY, v varchar(20))")
		exec("INSERT INTO x VALUES (1, 'old')")
		s := newStandOver(t, testbed.OpenMariaDB(t, at), none)
		s.grows("x", func() { exec(more) }, "x/1", "x")
	})
	t.Run("SQLite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.db")
		dbtest.SQLiteShell(t, path, plain("x"))
		s := newStandOver(t, testbed.OpenSQLite(t, path, sqlite.Options{}), none)
		s.grows("x", func() { dbtest.SQLiteShell(t, path, more) }, "x/1", "x")
	})
}

// listOf returns the body of what HTTP answers.
func (s *stand) listOf(path string) string {
	s.T.Helper()
	code, body := s.ask(path)
	if code != http.StatusOK {
		s.T.Fatalf("%s: %d: %s", path, code, body)
	}
	return body
}

// ask returns what HTTP answers; 0: nothing.
func (s *stand) ask(path string) (code int, body string) {
	resp, body, err := s.Get(path)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, body
}

// TestUnfollowed_TTL: rows that no feed tells of are kept for the ttl of their resource,
// beside rows of the same source that a feed follows.
func TestUnfollowed_TTL(t *testing.T) {
	t.Run("PostgreSQL", func(t *testing.T) {
		at := dbtest.Postgres(t)
		conn := testbed.Dial(t, at)
		testbed.MustExec(t, conn, plain("x")+";"+plain("y")+"; ALTER TABLE x SET UNLOGGED;"+
			" CREATE MATERIALIZED VIEW m AS SELECT * FROM x")
		s := newStand(t, at, plan{Mode: source.FeedAuto, Specs: []resource.Spec{timed(testbed.Spec("x")),
			testbed.Spec("y"), timed(ofQuery("m", "SELECT id, v FROM m WHERE id = :key", "m"))}})
		s.keptForTTL("x", func(v string) { testbed.MustExec(t, conn, "UPDATE x SET v = '"+v+"'") })
		s.keptForTTL("m", func(v string) {
			testbed.MustExec(t, conn, "UPDATE x SET v = '"+v+"'; REFRESH MATERIALIZED VIEW m")
		})
	})
	t.Run("MariaDB", func(t *testing.T) {
		at := dbtest.MariaDB(t)
		db := testbed.DialMariaDB(t, at)
		for _, sql := range []string{"CREATE TABLE x (id int PRIMARY KEY, v varchar(20)) ENGINE=MyISAM",
			"CREATE TABLE y (id int PRIMARY KEY, v varchar(20))", "INSERT INTO x VALUES (1, 'old')",
			"INSERT INTO y VALUES (1, 'old')"} {
			if _, err := db.ExecContext(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		s := newStandOver(t, testbed.OpenMariaDB(t, at), plan{Mode: source.FeedAuto,
			Specs: []resource.Spec{timed(testbed.Spec("x")), testbed.Spec("y")}})
		s.keptForTTL("x", func(v string) {
			if _, err := db.ExecContext(t.Context(), "UPDATE x SET v = '"+v+"'"); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// TestUnfollowed_ByItself: of rows that have a column which is made when it is read nothing
// is kept, nor of what they are embedded in; whatever leaves the column out is kept.
func TestUnfollowed_ByItself(t *testing.T) {
	at := dbtest.MariaDB(t)
	db := testbed.DialMariaDB(t, at)
	for _, sql := range []string{"CREATE TABLE y (id int PRIMARY KEY, v varchar(20))",
		"CREATE TABLE x (id int PRIMARY KEY, y int REFERENCES y (id), w double AS (rand()) VIRTUAL)",
		"INSERT INTO y VALUES (1, 'old')", "INSERT INTO x (id, y) VALUES (1, 1)"} {
		if _, err := db.ExecContext(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	without := testbed.Spec("x")
	without.Table = &source.Spec{Name: "without", Table: "x",
		Fields: map[string]source.FieldSpec{"w": {Hide: true}}}
	with := testbed.Spec("y", source.Embed{Name: "x", On: []string{"y"}, Spec: &source.Spec{Table: "x"}})
	with.Table.Name = "with"
	s := newStandOver(t, testbed.OpenMariaDB(t, at), plan{Mode: source.FeedAuto,
		Specs: []resource.Spec{testbed.Spec("x"), testbed.Spec("y"), without, with}})
	for _, path := range []string{"y/1", "without/1", "without?id=eq.1", "y?id=eq.1"} {
		waittest.Until(t, "a hit of "+path, func() bool { return s.answeredBy(path, "hit") })
	}
	for range 5 {
		for _, path := range []string{"x/1", "with/1", "x?id=eq.1", "y?select=id,x(w)"} {
			before := s.listOf(path)
			if now := s.listOf(path); now == before || s.answeredBy(path, "hit") {
				t.Fatalf("%s is kept: %s, then %s", path, before, now)
			}
		}
	}
}

// answeredBy reports whether the Cache-Status of an answer has a word.
func (s *stand) answeredBy(path, word string) bool {
	s.T.Helper()
	resp, _, err := s.Get(path)
	if err != nil {
		s.T.Fatal(err)
	}
	return strings.Contains(resp.Header.Get("Cache-Status"), word)
}

// ttl is that of timed: shorter than any wait of a test, longer than its reads.
const ttl = 2 * time.Second

// timed returns sp with a ttl.
func timed(sp resource.Spec) resource.Spec {
	sp.TTL = ttl
	sp.Table.SetTimed(true)
	return sp
}

// keptForTTL reads row 1 of a resource beside y, before and after set changes it.
func (s *stand) keptForTTL(name string, set func(v string)) {
	s.T.Helper()
	read := func(name string) (string, resource.Origin) {
		a, err := s.Resource(name).Get(context.Background(), "1",
			resource.Options{Format: row.FormatJSON})
		if err != nil {
			s.T.Fatal(err)
		}
		return string(a.Doc.Body()), a.Origin
	}
	for _, of := range []string{"y", name} {
		waittest.Until(s.T, "a hit of "+of, func() bool {
			_, from := read(of)
			return from == resource.HitMemory
		})
	}
	begun := time.Now()
	set("new")
	for {
		now, from := read(name)
		switch {
		case strings.Contains(now, "new"):
			if from == resource.HitMemory || s.Resource(name).Followed() {
				s.T.Errorf("%s: %s from %v, followed: %t", name, now, from, s.Resource(name).Followed())
			}
			return
		case time.Since(begun) > 2*ttl:
			s.T.Fatalf("%s: still %s from %v", name, now, from)
		}
		testbed.Pause(s.T.Context(), 20*time.Millisecond)
	}
}
