package dbtest

import (
	"fmt"
	"maps"
	"syscall"
	"testing"
)

// A MariaDBServer is a MariaDB server of one test's own, which the test may
// stop, start again, freeze and kill. Its port stays the same. It is for the
// test's goroutine, but for TryExec and URL, which any may call.
type MariaDBServer struct {
	t       testing.TB
	shell   string
	cluster *mariaCluster
}

// NewMariaDB starts a server with a row binlog, whose settings are changed by
// settings: names as on the command line of mariadbd without the dashes, ""
// for one without a value ("skip-log-bin"). It is removed when the test ends;
// its log is printed when the test has failed.
func NewMariaDB(t testing.TB, settings map[string]string) *MariaDBServer {
	t.Helper()
	programs, shell := lookMariaDB(t), lookMariaShell(t)
	c, err := newMariaCluster(programs, settings)
	if err != nil {
		t.Fatalf("start MariaDB: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of MariaDB on port %d:\n%s", c.port, c.logTail())
		}
		if err := c.remove(); err != nil {
			t.Errorf("remove MariaDB: %v", err)
		}
	})
	return &MariaDBServer{t: t, shell: shell, cluster: c}
}

// URL returns the URL of the database called mysql.
func (s *MariaDBServer) URL() string { return s.cluster.url("mysql") }

// Address returns the host and the port of the server.
func (s *MariaDBServer) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.cluster.port) }

// Socket returns the path of the server's unix socket.
func (s *MariaDBServer) Socket() string { return s.cluster.socket() }

// Database returns the URL of a new, empty database.
func (s *MariaDBServer) Database(t testing.TB, opts ...Option) string {
	t.Helper()
	return newMariaDatabase(t, s.URL(), s.cluster.url, t == s.t, opts)
}

// Exec runs SQL in the database called mysql, and returns what the shell
// prints. The test fails when a statement does.
func (s *MariaDBServer) Exec(sql string) string {
	s.t.Helper()
	out, err := s.TryExec(sql)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// TryExec is Exec for a server that may be down.
func (s *MariaDBServer) TryExec(sql string) (string, error) {
	return runMariaShell(s.shell, s.URL(), sql)
}

// Stop stops the server, frozen or not, and waits for its end. Immediate is a
// kill, from which the next Start recovers.
func (s *MariaDBServer) Stop(mode StopMode) {
	s.t.Helper()
	sig := syscall.SIGTERM
	if mode == Immediate {
		sig = syscall.SIGKILL
	}
	if err := s.cluster.stop(sig); err != nil {
		s.t.Fatalf("stop MariaDB: %v", err)
	}
}

// Start starts a stopped server and waits until it takes connections.
func (s *MariaDBServer) Start() {
	s.t.Helper()
	if err := s.cluster.start(); err != nil {
		s.t.Fatalf("start MariaDB: %v", err)
	}
}

// Restart stops the server and starts it again.
func (s *MariaDBServer) Restart(mode StopMode) {
	s.t.Helper()
	s.Stop(mode)
	s.Start()
}

// Set changes settings for the next Start.
func (s *MariaDBServer) Set(settings map[string]string) {
	merged := maps.Clone(settings)
	for name, value := range s.cluster.settings {
		if _, set := merged[name]; !set {
			merged[name] = value
		}
	}
	s.cluster.settings = merged
}

// Pause freezes the server: connections to it stay up and nothing answers.
func (s *MariaDBServer) Pause() {
	s.t.Helper()
	s.signal("freeze", pause)
}

// Resume lets a frozen server go on.
func (s *MariaDBServer) Resume() {
	s.t.Helper()
	s.signal("resume", resume)
}

// signal sends a signal to the server's processes.
func (s *MariaDBServer) signal(what string, send func([]int) error) {
	s.t.Helper()
	pids, err := s.cluster.pids()
	if err == nil {
		err = send(pids)
	}
	if err != nil {
		s.t.Fatalf("%s MariaDB: %v", what, err)
	}
}
