// Package dbtest gives tests the real programs that they need: throw-away
// PostgreSQL, MariaDB and memcached servers, files for SQLite, and the shells
// psql, mariadb and sqlite3 as foreign writers.
//
// One server of a kind serves a whole test binary and each test gets a new
// database in it; a test that stops, freezes or configures its server takes one
// of its own with NewPostgres or NewMariaDB. A program that is not installed
// skips the test, unless HOTROW_TEST_REQUIRE (a list: postgres,psql,mariadb,
// sqlite3) names it: then the test fails. With -short every test that needs a
// process is skipped.
//
// It speaks to databases through their own shells, so that it depends on no
// driver and on nothing of hotrow's.
package dbtest

import (
	"os"
	"testing"
)

// Main runs the tests of a package, stops the server that they shared and
// exits. A package whose tests call Postgres or MariaDB calls it from TestMain:
//
//	func TestMain(m *testing.M) { dbtest.Main(m) }
//
// Without it the server still ends with the test binary (on Linux), but its
// directory stays until the next test binary that starts a server sweeps it.
func Main(m *testing.M) { os.Exit(Wrap(m).Run()) }

// Wrap returns m with the stopping of the shared server behind it, for a
// TestMain that has more to do:
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(dbtest.Wrap(m)) }
func Wrap(m *testing.M) *Runner { return &Runner{m} }

// A Runner runs the tests of a package and then stops the shared server.
type Runner struct{ m *testing.M }

// Run returns the exit code.
func (r *Runner) Run() int {
	defer shared.stop()
	defer sharedMariaDB.stop()
	return r.m.Run()
}
