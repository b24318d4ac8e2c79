package dbtest

import (
	"strings"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

func TestRequired(t *testing.T) {
	tests := []struct {
		list, program string
		want          bool
	}{
		{"", "postgres", false},
		{"postgres", "postgres", true},
		{"psql, sqlite3,postgres", "postgres", true},
		{"psql, sqlite3", "sqlite3", true},
		{"postgresql", "postgres", false},
		{"post", "postgres", false},
	}
	for _, tt := range tests {
		if got := required(tt.list, tt.program); got != tt.want {
			t.Errorf("required(%q, %q) = %v, want %v", tt.list, tt.program, got, tt.want)
		}
	}
}

// An ending records how a test was ended.
type ending struct {
	testing.TB
	how string
}

func (e *ending) Helper()               {}
func (e *ending) Fatalf(string, ...any) { e.how += "failed" }
func (e *ending) Skipf(string, ...any)  { e.how += "skipped" }

func TestMissing_FailsWhatIsRequired(t *testing.T) {
	for list, want := range map[string]string{"psql,postgres": "failed", "psql": "skipped"} {
		t.Setenv(requireEnv, list)
		e := &ending{TB: t}
		missing(e, "postgres", nil)
		if !strings.HasPrefix(e.how, want) {
			t.Errorf("with %s=%s a missing postgres has %s, want %s", requireEnv, list, e.how, want)
		}
	}
}

func TestVersionOf(t *testing.T) {
	tests := map[string]int{
		"/usr/lib/postgresql/15/bin":  15,
		"/usr/lib/postgresql/9.6/bin": 0,
		"/usr/local/bin":              0,
	}
	for dir, want := range tests {
		if got := versionOf(dir); got != want {
			t.Errorf("versionOf(%q) = %d, want %d", dir, got, want)
		}
	}
}

func TestDatabaseName(t *testing.T) {
	tests := []struct {
		test string
		want string
	}{
		{"TestPostgres_Feed", "t7_12_testpostgres_feed"},
		{"Test/a b#01'\"é", "t7_12_test_a_b_01___"},
		{strings.Repeat("x", 200), "t7_12_" + strings.Repeat("x", 30)},
	}
	for _, tt := range tests {
		if got := databaseName(tt.test, 7, 12); got != tt.want {
			t.Errorf("databaseName(%q) = %q, want %q", tt.test, got, tt.want)
		}
	}
}

func TestSQLiteShell_WritesTheFile(t *testing.T) {
	path := SQLite(t)
	SQLiteShell(t, path, "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT);\n"+
		"INSERT INTO t VALUES (1, 'one'), (2, 'two');")
	if got, want := SQLiteShell(t, path, "SELECT * FROM t;"), "1|one\n2|two"; got != want {
		t.Errorf("the shell prints %q, want %q", got, want)
	}
}

func TestSQLite_IsNewEachTime(t *testing.T) {
	if a, b := SQLite(t), SQLite(t); a == b {
		t.Errorf("both files are %s", a)
	}
}

func TestShell_ReportsTheStatementThatFails(t *testing.T) {
	shell := lookShell(t, "sqlite3")
	_, err := runShell(shell, "SELECT 1; SELECT * FROM nowhere;", "-batch", "-bail", SQLite(t))
	if err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("error = %v, want one that names the table nowhere", err)
	}
}

func TestFreePort_IsNoPortForOutgoingConnections(t *testing.T) {
	for range 100 {
		port, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		if port < 15000 || port >= 30000 {
			t.Fatalf("port %d is out of range", port)
		}
	}
}
