package dbtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shellTimeout bounds one run of a shell: a server that a test has frozen does
// not hang the suite.
const shellTimeout = 60 * time.Second

// Psql runs SQL with the real psql, and returns what it prints: one line a
// row, columns separated by |. The test fails when a statement does. It must be
// called by the test's goroutine.
func Psql(t testing.TB, url, sql string) string {
	t.Helper()
	out, err := runPsql(lookShell(t, "psql"), url, sql)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// SQLite returns the path of a database file that does not exist yet, in a
// directory of the test's own.
func SQLite(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "test.db")
}

// SQLiteShell runs SQL, or dot commands, on a database file with the real
// sqlite3 shell: a foreign writer, as any other process is. It waits up to 10 s
// for a lock and returns what the shell prints. The test fails when a statement
// does. It must be called by the test's goroutine.
func SQLiteShell(t testing.TB, path, sql string) string {
	t.Helper()
	out, err := runShell(lookShell(t, "sqlite3"), sql,
		"-batch", "-bail", "-cmd", ".timeout 10000", path)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// runPsql runs SQL on the database that url names, each statement by itself.
func runPsql(psql, url, sql string) (string, error) {
	return runShell(psql, sql, "--no-psqlrc", "--quiet", "--no-align", "--tuples-only",
		"--set=ON_ERROR_STOP=1", "--file=-", "--dbname="+url)
}

// runShell feeds sql to a shell and returns what it prints, without the last
// line's end.
func runShell(program, sql string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), shellTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin = strings.NewReader(sql)
	cmd.Env = append(os.Environ(), "PGCONNECT_TIMEOUT=10")
	cmd.WaitDelay = time.Second
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, errs.String())
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}
