package dbtest

import (
	"os"
	"strings"
	"testing"
)

func TestMariaDB_GivesEachCallAnEmptyDatabase(t *testing.T) {
	const tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = database();"
	a := MariaDB(t, Setup("CREATE TABLE t (id int PRIMARY KEY);", "INSERT INTO t VALUES (42);"))
	b := MariaDB(t)
	if got := MariaDBShell(t, a, "SELECT id, id + 1 FROM t;"); got != "42\t43" {
		t.Errorf("what Setup made reads %q, want 42 and 43", got)
	}
	if got := MariaDBShell(t, b, tables); got != "0" {
		t.Errorf("a new database has %s tables, want 0", got)
	}
}

func TestMariaDB_WritesARowBinlog(t *testing.T) {
	if os.Getenv(mariadbEnv) != "" {
		t.Skip("the settings of a server that is given are not ours")
	}
	gtid := MariaOrMySQL("@@gtid_strict_mode", "@@gtid_mode = 'ON'")
	got := MariaDBShell(t, MariaDB(t), `SELECT @@log_bin, @@binlog_format, @@binlog_row_image,
		`+gtid+`, @@server_id;`)
	if want := "1\tROW\tFULL\t1\t1"; got != want {
		t.Errorf("settings are %q, want %q", got, want)
	}
}

func TestMariaDB_ServerKeepsDataAndPortOverAKill(t *testing.T) {
	s := NewMariaDB(t, map[string]string{"max-connections": "33"})
	if got := s.Exec("SELECT @@max_connections;"); got != "33" {
		t.Errorf("max_connections is %s, want 33", got)
	}
	db, before := s.Database(t, Setup("CREATE TABLE t AS SELECT 7 AS v;")), s.URL()
	s.Stop(Immediate)
	if _, err := s.TryExec("SELECT 1;"); err == nil {
		t.Error("a stopped server answers")
	}
	s.Set(map[string]string{"skip-log-bin": ""})
	s.Start()
	if s.URL() != before {
		t.Errorf("the URL is %s after the restart, was %s", s.URL(), before)
	}
	if got := MariaDBShell(t, db, "SELECT v, @@log_bin, @@max_connections FROM t;"); got != "7\t0\t33" {
		t.Errorf("after the kill the table and settings read %q, want 7, 0 and 33", got)
	}
	s.Pause()
	s.Resume()
	s.Restart(Fast)
	if got := MariaDBShell(t, db, "SELECT v FROM t;"); got != "7" {
		t.Errorf("after the restart the table reads %q, want 7", got)
	}
}

func TestMariaDB_StartFailureShowsTheLog(t *testing.T) {
	_, err := newMariaCluster(lookMariaDB(t), map[string]string{"binlog-format": "nonsense"})
	if err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("error = %v, want the server's own words about nonsense", err)
	}
}
