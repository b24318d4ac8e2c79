package mysql

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// nameOf returns the name of the database at a URL.
func nameOf(t testing.TB, at string) string {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}

// chained is a feed of tables a and cc, between which b stands: b refers to a, and cc to b. The
// user has the privilege on a, cc and apart, or is root.
func chained(t *testing.T, apart bool, privilege, upper, lower string) *fixture {
	t.Helper()
	at := dbtest.MariaDB(t)
	f := &fixture{t: t, conn: foreign(t, at), rec: new(recorder)}
	here := nameOf(t, at)
	middle := here
	if apart {
		middle = nameOf(t, dbtest.MariaDB(t))
	}
	b := middle + ".b"
	run(t, f.conn,
		"CREATE TABLE a (id int PRIMARY KEY, code int UNIQUE, note text)",
		"CREATE TABLE apart (id int PRIMARY KEY)",
		fmt.Sprintf("CREATE TABLE %s (id int PRIMARY KEY, a int UNIQUE,"+
			" FOREIGN KEY (a) REFERENCES %s.a (id) %s)", b, here, upper),
		fmt.Sprintf("CREATE TABLE cc (id int PRIMARY KEY, b int,"+
			" FOREIGN KEY (b) REFERENCES %s %s)", b, lower),
		"INSERT INTO a VALUES (1, 1, ''), (2, 2, ''), (3, 3, '')", "INSERT INTO apart VALUES (1)",
		"INSERT INTO "+b+" VALUES (1, 1), (2, 2)", "INSERT INTO cc VALUES (1, 1), (2, 2)")
	if apart { // a table of another database is dropped before what it refers to
		t.Cleanup(func() { run(t, f.conn, "DROP TABLE cc, "+b) })
	}
	if privilege != "" {
		grants := []string{"REPLICATION SLAVE, BINLOG MONITOR ON *.*"}
		for _, table := range []string{"a", "cc", "apart"} {
			grants = append(grants, privilege+" ON "+here+"."+table)
		}
		at = userOf(t, at, "follower"+fmt.Sprint(time.Now().UnixNano()%1e6), grants...)
	}
	f.src = openSource(t, at, Options{})
	f.start("a id", "apart id", "cc id b")
	return f
}

// What the storage engine changes by way of a table that the user may not see is a change of
// the whole table that it may end in.
func TestMariaDB_FeedTellsCascadesThroughHiddenTables(t *testing.T) {
	const cascade = "ON DELETE CASCADE ON UPDATE CASCADE"
	for name, of := range map[string]struct {
		apart                   bool
		privilege, upper, lower string
	}{
		"here":             {false, "SELECT, SHOW VIEW", cascade, "(id) ON DELETE CASCADE"},
		"actions hidden":   {false, "SELECT", cascade, "(id) ON DELETE CASCADE"},
		"another database": {true, "SELECT, SHOW VIEW", cascade, "(id) ON DELETE CASCADE"},
		"key":              {false, "SELECT, SHOW VIEW", cascade, "(a) " + cascade},
		"set null":         {true, "SELECT, SHOW VIEW", cascade, "(id) ON DELETE SET NULL"},
		"set null twice": {false, "SELECT, SHOW VIEW", "ON DELETE SET NULL ON UPDATE SET NULL",
			"(a) ON DELETE SET NULL ON UPDATE SET NULL"},
	} {
		t.Run(name, func(t *testing.T) {
			f := chained(t, of.apart, of.privilege, of.upper, of.lower)
			f.want(one("UPDATE a SET note = 'x'"),
				"a U (id=1)->(id=1); a U (id=2)->(id=2); a U (id=3)->(id=3)")
			f.want(one("INSERT INTO a VALUES (4, 4, '')"), "a I ->(id=4)")
			f.want(one("UPDATE a SET id = 9 WHERE id = 1"), "a U (id=1)->(id=9); cc*")
			f.want(one("DELETE FROM a WHERE id = 2"), "a D (id=2)->; cc*")
			f.want(one("DELETE FROM apart"), "apart D (id=1)->; cc*") // to which it may refer, too
		})
	}
}

// Who sees all tables is told of those only that a cascade ends in.
func TestMariaDB_FeedTellsCascadesThroughTablesThatItSees(t *testing.T) {
	for _, apart := range []bool{false, true} {
		f := chained(t, apart, "", "ON DELETE CASCADE ON UPDATE CASCADE", "(id) ON DELETE CASCADE")
		f.want(one("UPDATE a SET code = code + 10 WHERE id = 1"), "a U (id=1)->(id=1)")
		f.want(one("DELETE FROM apart"), "apart D (id=1)->")
		f.want(one("DELETE FROM cc WHERE id = 1"), "cc D (id=1 b=1)->")
		f.want(one("DELETE FROM a WHERE id = 2"), "a D (id=2)->; cc*")
	}
}
