package dbtest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// Standby starts a server that replays the log of s: a copy of its files, on a port of its
// own. Its settings are those of s, changed by settings. It is removed when the test ends.
func (s *Server) Standby(t testing.TB, settings map[string]string) *Server {
	t.Helper()
	c, err := s.cluster.standby(s.psql, settings)
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

// Follow has a standby replay the log of another server from now on.
func (s *Server) Follow(other *Server) {
	s.t.Helper()
	s.Exec(fmt.Sprintf("ALTER SYSTEM SET primary_conninfo = 'host=127.0.0.1 port=%d user=postgres'",
		other.cluster.port))
	s.Exec("SELECT pg_reload_conf()")
}

// Address returns the host and the port of the server.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.cluster.port) }

// standby copies the cluster and starts the copy.
func (c *cluster) standby(psql string, settings map[string]string) (*cluster, error) {
	dir, err := newDir()
	if err != nil {
		return nil, err
	}
	n := &cluster{bin: c.bin, dir: dir, who: c.who, settings: make(map[string]string)}
	maps.Copy(n.settings, c.settings)
	maps.Copy(n.settings, settings)
	if err := errors.Join(os.Chmod(dir, 0o755), n.who.own(dir)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := c.copyTo(n, psql); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := n.startAnywhere(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return n, nil
}

// copyTo makes the files of a standby in n, as pg_basebackup does, which some builds of
// PostgreSQL lack.
func (c *cluster) copyTo(n *cluster, psql string) error {
	label, data := filepath.Join(n.dir, "backup_label"), n.data()
	script := "SELECT pg_backup_start('standby', true);\n" +
		"\\! cp -a " + c.data() + " " + data + "\n" +
		"SELECT labelfile FROM pg_backup_stop(false) \\g " + label + "\n"
	if _, err := runPsql(psql, c.url("postgres"), script); err != nil {
		return fmt.Errorf("copy the files: %w", err)
	}
	for _, name := range []string{"postmaster.pid", "postmaster.opts"} {
		if err := os.Remove(filepath.Join(data, name)); err != nil {
			return err
		}
	}
	slots, err := filepath.Glob(filepath.Join(data, "pg_replslot", "*"))
	for _, dir := range slots { // which are the primary's
		err = errors.Join(err, os.RemoveAll(dir))
	}
	conf, openErr := os.OpenFile(filepath.Join(data, "postgresql.auto.conf"),
		os.O_APPEND|os.O_WRONLY, 0)
	if err = errors.Join(err, openErr); err != nil {
		return err
	}
	_, err = fmt.Fprintf(conf, "\nprimary_conninfo = 'host=127.0.0.1 port=%d user=postgres'\n",
		c.port)
	signal := filepath.Join(data, "standby.signal")
	return errors.Join(err, conf.Close(), os.WriteFile(signal, nil, 0o600), n.who.own(signal),
		os.Rename(label, filepath.Join(data, "backup_label")),
		n.who.own(filepath.Join(data, "backup_label")))
}
