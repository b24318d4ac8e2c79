package dbtest

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

// An Option says more about a database to create.
type Option func(*options)

type options struct {
	setup    []string
	encoding string
}

// Setup runs SQL in the new database, as psql would.
func Setup(sql ...string) Option {
	return func(o *options) { o.setup = append(o.setup, sql...) }
}

// Encoding makes a database of PostgreSQL that stores texts in an encoding such as LATIN1.
func Encoding(name string) Option {
	return func(o *options) { o.encoding = name }
}

// databases counts those made by this process, for their names.
var databases atomic.Int64

// newDatabase creates a database by way of admin, the URL of another one of
// the same server, and returns its URL. It is dropped when the test ends, unless its
// server goes with the test as well (passing).
func newDatabase(
	t testing.TB, admin string, urlOf func(name string) string, passing bool, opts []Option,
) string {
	t.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	psql := lookShell(t, "psql")
	name := databaseName(t.Name(), os.Getpid(), databases.Add(1))
	// A copy of files takes half of the time: nothing is synced.
	create := "CREATE DATABASE " + name + " STRATEGY file_copy"
	if o.encoding != "" {
		create += " TEMPLATE template0 LOCALE 'C' ENCODING '" + o.encoding + "'"
	}
	if _, err := runPsql(psql, admin, create+";"); err != nil {
		t.Fatalf("create database: %v", err)
	}
	if !passing {
		t.Cleanup(func() { dropDatabase(t, psql, admin, name) })
	}
	made := urlOf(name)
	for _, sql := range o.setup {
		if _, err := runPsql(psql, made, sql); err != nil {
			t.Fatalf("set up the database: %v", err)
		}
	}
	return made
}

// databaseName returns a name that is unique on the server and says to which
// test it belongs, in at most 63 bytes of [a-z0-9_].
func databaseName(test string, pid int, n int64) string {
	const most = 30
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(test))
	if len(clean) > most {
		clean = clean[:most]
	}
	return fmt.Sprintf("t%d_%d_%s", pid, n, clean)
}

// dropSQL drops a database with all that holds on to it. The walsender of a
// slot goes a moment after it was told to, hence the loop.
const dropSQL = `DO $$ BEGIN
	FOR i IN 1..100 LOOP
		PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%[1]s';
		PERFORM pg_terminate_backend(active_pid) FROM pg_replication_slots
			WHERE database = '%[1]s' AND active;
		EXIT WHEN NOT EXISTS (
			SELECT FROM pg_replication_slots WHERE database = '%[1]s' AND active);
		PERFORM pg_sleep(0.05);
	END LOOP;
	PERFORM pg_drop_replication_slot(slot_name) FROM pg_replication_slots
		WHERE database = '%[1]s';
END $$;
DROP DATABASE IF EXISTS %[1]s WITH (FORCE);`

// dropDatabase drops the database of a test that has ended. That it cannot is
// no failure of the test: its server may be stopped, which was the test.
func dropDatabase(t testing.TB, psql, admin, name string) {
	if _, err := runPsql(psql, admin, fmt.Sprintf(dropSQL, name)); err != nil {
		t.Logf("drop database %s: %v", name, err)
	}
}
