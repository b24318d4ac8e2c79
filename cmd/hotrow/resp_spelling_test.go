//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// A spelling is a text by which the database finds a row, and not the one that the row has.
type spelling struct{ table, asked, row, absent, absentRow string }

// TestRESP_ClientsThatCacheAnotherSpelling: no change of a row is told by another spelling of
// its key, so nobody keeps what was read by one, nor that there was no row.
func TestRESP_ClientsThatCacheAnotherSpelling(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		file := dbtest.SQLite(t)
		dbtest.SQLiteShell(t, file, "CREATE TABLE ci (k text COLLATE NOCASE PRIMARY KEY, v text);"+
			" INSERT INTO ci VALUES ('ada', 'old')")
		r := serve(t, file, "--writable")
		r.spellings([]spelling{{"ci", "ADA", "ada", "BOB", "bob"}})
	})
	t.Run("postgres", func(t *testing.T) {
		url := dbtest.Postgres(t, dbtest.Setup(`CREATE EXTENSION citext;
			CREATE TABLE ci (k citext PRIMARY KEY, v text); INSERT INTO ci VALUES ('ada', 'old');
			CREATE TABLE ch (k char(6) PRIMARY KEY, v text); INSERT INTO ch VALUES ('ada', 'old');
			CREATE TABLE nu (k numeric(6,2) PRIMARY KEY, v text); INSERT INTO nu VALUES (1.5, 'old');`))
		r := serve(t, url, "--writable")
		r.spellings([]spelling{{"ci", "ADA", "ada", "BOB", "bob"}, {"nu", "1.5", "1.50", "2.5", "2.50"}})
	})
	t.Run("mariadb", func(t *testing.T) {
		url := dbtest.MariaDB(t, dbtest.Setup(
			"CREATE TABLE ci (k varchar(20) PRIMARY KEY, v varchar(20)); INSERT INTO ci VALUES ('ada', 'old')"))
		r := serve(t, url, "--writable")
		r.spellings([]spelling{{"ci", "ADA", "ada", "BOB", "bob"}})
	})
}

// spellings has a client keep what it may, and looks for what it was not told of.
func (r *running) spellings(list []spelling) {
	r.t.Helper()
	other := r.cachingClient("BCAST PREFIX none:")
	for _, s := range list {
		for _, key := range []string{s.asked, s.absent} {
			k := r.cachingClient("")
			key = s.table + ":" + key
			first := k.do("GET " + key)
			k.copies[key] = first
			row := s.table + ":" + s.row
			if strings.HasSuffix(key, s.absent) {
				row = s.table + ":" + s.absentRow
			}
			k.hear(150 * time.Millisecond)
			if got := other.do("HSET " + row + " v new"); !strings.HasPrefix(got, ":") {
				r.t.Fatalf("HSET %s: %s", row, got)
			}
			until(r.t, r.log, func() bool { return strings.Contains(other.do("GET "+key), "new") })
			until(r.t, r.log, func() bool { // else a copy is kept of the row
				k.hear(10 * time.Millisecond)
				_, kept := k.copies[key]
				return !kept
			})
		}
	}
}

// TestRESP_NoLoopHearsOfOthers: a client that is not to hear of its own changes hears of all
// others, those between its read and its own write too.
func TestRESP_NoLoopHearsOfOthers(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE t (id int PRIMARY KEY, a varchar(20), b varchar(20));" +
		" INSERT INTO t VALUES (1, 'x', 'x')"
	for name, url := range map[string]string{
		"postgres": dbtest.Postgres(t, dbtest.Setup(table)), "mariadb": dbtest.MariaDB(t, dbtest.Setup(table)),
	} {
		t.Run(name, func(t *testing.T) {
			r := serve(t, url, "--writable")
			other := r.cachingClient("BCAST PREFIX none:")
			for _, options := range []string{"NOLOOP", "BCAST NOLOOP"} {
				k := r.cachingClient(options)
				for i := range 15 {
					k.copies["t:1"] = k.do("GET t:1")
					a, b := fmt.Sprint("a", i, options[:1]), fmt.Sprint("b", i, options[:1])
					done := make(chan struct{})
					go func() { defer close(done); other.do("HSET t:1 a " + a) }()
					k.do("HSET t:1 b " + b)
					<-done
					until(t, r.log, func() bool { k.hear(10 * time.Millisecond); return len(k.copies) == 0 })
				}
				// Of its own it does not hear, unless the feed was late meanwhile: then it
				// hears of everything.
				tries := 0
				until(t, r.log, func() bool {
					tries++
					until(t, r.log, func() bool { k.keep("t:1"); _, kept := k.copies["t:1"]; return kept })
					k.hear(300 * time.Millisecond)
					k.copies["t:1"] = k.do("GET t:1")
					k.do(fmt.Sprint("HSET t:1 b own", tries))
					k.hear(400 * time.Millisecond)
					return len(k.copies) > 0
				})
				_ = k.nc.Close()
			}
		})
	}
}
