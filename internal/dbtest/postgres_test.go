package dbtest

import (
	"os"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/waittest"
)

// eventually polls ok until it is true or a minute is over.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	waittest.Until(t, what, ok)
}

func TestPostgres_GivesEachCallAnEmptyDatabase(t *testing.T) {
	const tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace;"
	a := Postgres(t, Setup("CREATE TABLE t (id int PRIMARY KEY);", "INSERT INTO t VALUES (42);"))
	b := Postgres(t)
	if got := Psql(t, a, "SELECT id, id + 1 FROM t;"); got != "42|43" {
		t.Errorf("what Setup made reads %q, want 42|43", got)
	}
	if got := Psql(t, b, tables); got != "0" {
		t.Errorf("a new database has %s relations, want 0", got)
	}
}

func TestPostgres_CanReplicateLogically(t *testing.T) {
	if os.Getenv(postgresEnv) != "" {
		t.Skip("the settings of a server that is given are not ours")
	}
	url := Postgres(t)
	got := Psql(t, url, `SHOW wal_level; SHOW max_replication_slots; SHOW max_wal_senders;
		SHOW shared_preload_libraries; SHOW server_encoding;`)
	if want := "logical\n20\n20\npg_stat_statements\nUTF8"; got != want {
		t.Errorf("settings are\n%s\nwant\n%s", got, want)
	}
}

func TestPostgres_DropsDatabaseAndSlots(t *testing.T) {
	var inner string
	t.Run("inner", func(t *testing.T) {
		inner = Postgres(t)
		Psql(t, inner, "SELECT pg_create_logical_replication_slot('dbtest_left', 'pgoutput');")
	})
	got := Psql(t, Postgres(t), `SELECT count(*) FROM pg_replication_slots
		WHERE slot_name = 'dbtest_left';`)
	if got != "0" {
		t.Errorf("%s slots are left, want 0", got)
	}
	if _, err := runPsql(lookShell(t, "psql"), inner, "SELECT 1;"); err == nil {
		t.Error("the database is left")
	}
}

func TestPostgres_ServerKeepsDataAndPortOverACrash(t *testing.T) {
	s := NewPostgres(t, map[string]string{"max_connections": "20"})
	if got := s.Exec("SHOW wal_level; SHOW max_connections;"); got != "replica\n20" {
		t.Errorf("wal_level and max_connections are %q, want replica and 20", got)
	}
	db, before := s.Database(t, Setup("CREATE TABLE t AS SELECT 7 AS v;")), s.URL()

	s.Stop(Immediate)
	if _, err := s.TryExec("SELECT 1;"); err == nil {
		t.Error("a stopped server answers")
	}
	s.Set(map[string]string{"wal_level": "logical"})
	s.Start()
	if s.URL() != before {
		t.Errorf("the URL is %s after the restart, was %s", s.URL(), before)
	}
	if got := Psql(t, db, "SELECT v FROM t; SHOW wal_level;"); got != "7\nlogical" {
		t.Errorf("after the crash the table and wal_level read %q, want 7 and logical", got)
	}
	s.Stop(Fast)
	s.Start()
}

func TestPostgres_StartFailureShowsTheLog(t *testing.T) {
	_, err := newCluster(lookServer(t), map[string]string{"wal_level": "nonsense"})
	if err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("error = %v, want the server's own words about nonsense", err)
	}
}

// A test may end while its server is frozen, because it has failed: nobody waits for it.
func TestServer_MayBeFrozenAtTheEnd(t *testing.T) {
	t.Run("PostgreSQL", func(t *testing.T) {
		s := NewPostgres(t, nil)
		s.Database(t)
		s.Pause()
	})
	t.Run("MariaDB", func(t *testing.T) {
		s := NewMariaDB(t, nil)
		s.Database(t)
		s.Pause()
	})
}

// TestNewPostgres_IdentifiersDiffer: copies of one model are servers of their own, for who asks.
func TestNewPostgres_IdentifiersDiffer(t *testing.T) {
	seen := make(map[string]bool)
	for range 3 {
		s := NewPostgres(t, nil)
		s.Stop(Immediate) // it recovers from its log
		s.Start()
		seen[s.Exec("SELECT system_identifier FROM pg_control_system()")] = true
	}
	if len(seen) != 3 {
		t.Errorf("three servers have the identifiers %v", seen)
	}
}
