package dbtest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Standby starts a server that replays the log of s: a copy that pg_basebackup has
// made, on a port of its own. It is removed when the test ends.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	c, err := s.cluster.standby()
	if err != nil {
		t.Fatalf("start a standby: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the standby on port %d:\n%s", c.port, c.logTail())
		}
		if err := c.remove(); err != nil {
			t.Errorf("remove the standby: %v", err)
		}
	})
	return &Server{t: t, psql: s.psql, cluster: c}
}

// Promote makes a standby a primary, on a timeline of its own.
func (s *Server) Promote() {
	s.t.Helper()
	if out := s.Exec("SELECT pg_promote()"); out != "t" {
		s.t.Fatalf("pg_promote: %q", out)
	}
}

// Address returns the host and the port of the server.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.cluster.port) }

// standby copies the cluster and starts the copy.
func (c *cluster) standby() (*cluster, error) {
	dir, err := newDir()
	if err != nil {
		return nil, err
	}
	n := &cluster{bin: c.bin, dir: dir, who: c.who, settings: maps.Clone(c.settings)}
	if err := errors.Join(os.Chmod(dir, 0o755), n.who.own(dir)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	cmd := exec.Command(filepath.Join(c.bin, "pg_basebackup"), "-D", n.data(), "-R", "-X", "stream",
		"--checkpoint=fast", "--no-sync", "-d", c.url("postgres"))
	n.who.apply(cmd)
	cmd.Dir = n.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("pg_basebackup: %w\n%s", err, out), os.RemoveAll(dir))
	}
	if err := n.startAnywhere(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return n, nil
}
