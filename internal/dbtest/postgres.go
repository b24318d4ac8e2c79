package dbtest

import (
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
)

// postgresEnv holds the URL of a server to use instead of one of our own. Its
// user must be allowed to create databases and replication slots.
const postgresEnv = "HOTROW_TEST_POSTGRES"

// sharedSettings are those of the server that all tests of a binary share.
var sharedSettings = map[string]string{
	"wal_level":                "logical",
	"max_replication_slots":    "20",
	"max_wal_senders":          "20",
	"max_connections":          "100",
	"shared_preload_libraries": "pg_stat_statements",
}

// shared is the server of this test binary. It is global because a test binary
// has no other place that outlives a test.
var shared sharedServer

// A sharedServer is started by the first test that needs it.
type sharedServer struct {
	// mu guards the fields, and makes later tests wait for the first to start it.
	mu      sync.Mutex
	cluster *cluster
	err     error // why it did not start; later tests fail with the same
}

// get returns the server, started.
func (s *sharedServer) get(bin string) (*cluster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil && s.err == nil {
		s.cluster, s.err = newCluster(bin, sharedSettings)
	}
	return s.cluster, s.err
}

// stop stops the server and removes its directory.
func (s *sharedServer) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil {
		return
	}
	if err := s.cluster.remove(); err != nil {
		fmt.Fprintf(os.Stderr, "dbtest: stop the shared server: %v\n", err)
	}
	s.cluster = nil
}

// Postgres returns the URL of a new, empty database that is dropped when the
// test ends. The server is the one that HOTROW_TEST_POSTGRES names, else one
// that all tests of the binary share: it allows logical replication (20 slots)
// and has pg_stat_statements loaded. The user is a superuser.
func Postgres(t testing.TB, opts ...Option) string {
	t.Helper()
	notShort(t)
	if given := os.Getenv(postgresEnv); given != "" {
		u, err := url.Parse(given)
		if err != nil {
			t.Fatalf("%s: %v", postgresEnv, err)
		}
		return newDatabase(t, given, func(name string) string {
			u.Path = "/" + name
			return u.String()
		}, false, opts)
	}
	c, err := shared.get(lookServer(t))
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	return newDatabase(t, c.url("postgres"), c.url, false, opts)
}

// lookServer returns the directory of PostgreSQL's programs, or ends the test.
func lookServer(t testing.TB) string {
	t.Helper()
	notShort(t)
	bin, err := postgresBin()
	if err != nil {
		missing(t, "postgres", err)
	}
	return bin
}
