package dbtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hotrow/hotrow/internal/waittest"
)

// A Server is a PostgreSQL server of one test's own, which the test may stop,
// start again, freeze and kill. Its port stays the same. It is for the test's
// goroutine, but for TryExec and URL, which any may call.
type Server struct {
	t       testing.TB
	psql    string
	cluster *cluster
}

// NewPostgres starts a server whose settings are the ones that Debian installs
// (wal_level is replica), changed by settings. Only fsync is always off. It is
// removed when the test ends; its log is printed when the test has failed.
func NewPostgres(t testing.TB, settings map[string]string) *Server {
	t.Helper()
	return newPostgresIn(t, lookServer(t), settings)
}

// newPostgresIn is NewPostgres with the programs in a directory.
func newPostgresIn(t testing.TB, bin string, settings map[string]string) *Server {
	t.Helper()
	psql := lookShell(t, "psql")
	c, err := newCluster(bin, settings)
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of PostgreSQL on port %d:\n%s", c.port, c.logTail())
		}
		if err := c.remove(); err != nil {
			t.Errorf("remove PostgreSQL: %v", err)
		}
	})
	return &Server{t: t, psql: psql, cluster: c}
}

// URL returns the URL of the database called postgres.
func (s *Server) URL() string { return s.cluster.url("postgres") }

// Database returns the URL of a new, empty database. That of the test whose server this is
// is not dropped: a server that is stopped or frozen at the end would be waited for.
func (s *Server) Database(t testing.TB, opts ...Option) string {
	t.Helper()
	return newDatabase(t, s.URL(), s.cluster.url, t == s.t, opts)
}

// Exec runs SQL in the database called postgres, and returns what psql prints.
// The test fails when a statement does.
func (s *Server) Exec(sql string) string {
	s.t.Helper()
	out, err := s.TryExec(sql)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// TryExec is Exec for a server that may be down.
func (s *Server) TryExec(sql string) (string, error) {
	return runPsql(s.psql, s.URL(), sql)
}

// A StopMode is a way to stop a server.
type StopMode int

const (
	// Fast ends sessions and writes a checkpoint: an orderly restart.
	Fast StopMode = iota
	// Immediate ends at once and recovers at the next start: a crash.
	Immediate
)

// Stop stops the server, frozen or not, and waits for its end.
func (s *Server) Stop(mode StopMode) {
	s.t.Helper()
	sig := syscall.SIGINT
	if mode == Immediate {
		sig = syscall.SIGQUIT
	}
	if err := s.cluster.stop(sig); err != nil {
		s.t.Fatalf("stop PostgreSQL: %v", err)
	}
}

// Start starts a stopped server and waits until it takes connections.
func (s *Server) Start() {
	s.t.Helper()
	if err := s.cluster.start(); err != nil {
		s.t.Fatalf("start PostgreSQL: %v", err)
	}
}

// Set changes settings for the next Start. "" means an empty value.
func (s *Server) Set(settings map[string]string) {
	merged := make(map[string]string)
	for _, set := range []map[string]string{s.cluster.settings, settings} {
		for name, value := range set {
			merged[name] = value
		}
	}
	s.cluster.settings = merged
}

// Pids returns the server's processes, the postmaster first.
func (s *Server) Pids() []int {
	s.t.Helper()
	pids, err := s.cluster.pids()
	if err != nil {
		s.t.Fatal(err)
	}
	return pids
}

// WalSenders returns the processes that send a change feed at the moment.
func (s *Server) WalSenders() []int {
	s.t.Helper()
	var pids []int
	for field := range strings.FieldsSeq(s.Exec("SELECT pid FROM pg_stat_replication;")) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			s.t.Fatal(fmt.Errorf("pg_stat_replication: %w", err))
		}
		pids = append(pids, pid)
	}
	return pids
}

// PauseSenders freezes the processes that send a change feed, and returns them. Each has
// nothing to do then: one that is frozen while it works looks like one that works.
func (s *Server) PauseSenders() []int {
	s.t.Helper()
	for range 100 {
		pids := s.WalSenders()
		s.Pause(pids...)
		busy := s.Exec(`SELECT pid FROM pg_stat_replication JOIN pg_stat_activity USING (pid)
			WHERE coalesce(wait_event_type, '') NOT IN ('Activity', 'Client');`)
		if strings.TrimSpace(busy) == "" {
			return pids
		}
		s.Resume(pids...)
	}
	s.t.Fatal("the processes that send a change feed are never idle")
	return nil
}

// Pause freezes these processes of the server; none means all. Connections to
// them stay up and nothing answers.
func (s *Server) Pause(pids ...int) {
	s.t.Helper()
	s.signal("freeze", pause, pids)
}

// Resume lets these processes of the server go on; none means all.
func (s *Server) Resume(pids ...int) {
	s.t.Helper()
	s.signal("resume", resume, pids)
}

// Kill ends these processes of the server at once; none means all. The
// postmaster restarts all others when one of them is killed.
func (s *Server) Kill(pids ...int) {
	s.t.Helper()
	s.signal("kill", kill, pids)
}

// signal sends a signal to processes of the server. The postmaster is the first
// of all, so that a frozen one starts no further process.
func (s *Server) signal(what string, send func([]int) error, pids []int) {
	s.t.Helper()
	if len(pids) == 0 {
		pids = s.Pids()
	}
	if err := send(pids); err != nil {
		s.t.Fatalf("%s PostgreSQL: %v", what, err)
	}
}

// Secure has the server speak TLS with a certificate and its key, in PEM form, to who asks for it.
func (s *Server) Secure(cert, key []byte) {
	s.t.Helper()
	data := strings.TrimSpace(s.Exec("SHOW data_directory;"))
	for name, text := range map[string][]byte{"server.crt": cert, "server.key": key} {
		path := filepath.Join(data, name)
		s.Exec("COPY (SELECT 1) TO '" + path + "';") // the server reads its own files alone
		if err := errors.Join(os.WriteFile(path, text, 0o600), os.Chmod(path, 0o600)); err != nil {
			s.t.Fatal(err)
		}
	}
	s.Exec("ALTER SYSTEM SET ssl = on;")
	s.Exec("SELECT pg_reload_conf();")
	waittest.Until(s.t, "the server speaks TLS", func() bool {
		return strings.TrimSpace(s.Exec("SHOW ssl;")) == "on"
	})
}
