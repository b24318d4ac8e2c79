package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// requireEnv names the programs whose absence is a failure and not a skip.
const requireEnv = "HOTROW_TEST_REQUIRE"

// required reports whether list, a value of HOTROW_TEST_REQUIRE, names program.
func required(list, program string) bool {
	for name := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(name) == program {
			return true
		}
	}
	return false
}

// missing ends the test: err says why program cannot be had.
func missing(t testing.TB, program string, err error) {
	t.Helper()
	if required(os.Getenv(requireEnv), program) {
		t.Fatalf("%s is required by %s: %v", program, requireEnv, err)
	}
	t.Skipf("%s is not available: %v", program, err)
}

// notShort skips the test under -short, which skips what starts a process.
func notShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a process; skipped by -short")
	}
}

// lookShell returns the path of a database's shell, or ends the test.
func lookShell(t testing.TB, name string) string {
	t.Helper()
	notShort(t)
	// Debian's psql in PATH is a script in Perl, which takes as long as three statements.
	if dir, err := postgresBin(); name == "psql" && err == nil {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	missing(t, name, err)
	return ""
}

// postgresBinEnv holds the directory with the programs of a PostgreSQL server.
const postgresBinEnv = "HOTROW_TEST_POSTGRES_BIN"

// postgresBin returns the directory with the programs of a PostgreSQL server.
// Debian keeps them out of PATH, one directory for each version: the newest is
// taken, and PATH only when there is none. HOTROW_TEST_POSTGRES_BIN overrides that.
func postgresBin() (string, error) {
	if dir := os.Getenv(postgresBinEnv); dir != "" {
		if !isProgram(filepath.Join(dir, "postgres")) || !isProgram(filepath.Join(dir, "initdb")) {
			return "", fmt.Errorf("%s: no postgres and initdb in %s", postgresBinEnv, dir)
		}
		return dir, nil
	}
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	slices.SortFunc(dirs, func(a, b string) int { return versionOf(b) - versionOf(a) })
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, dir := range dirs {
		if isProgram(filepath.Join(dir, "postgres")) && isProgram(filepath.Join(dir, "initdb")) {
			return dir, nil
		}
	}
	return "", fmt.Errorf(
		"initdb and postgres are neither in /usr/lib/postgresql/*/bin nor in PATH; " +
			"install the package postgresql")
}

// versionOf returns the 15 of /usr/lib/postgresql/15/bin, or 0.
func versionOf(bin string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	if err != nil {
		return 0
	}
	return n
}

// isProgram reports whether path can be run.
func isProgram(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}
