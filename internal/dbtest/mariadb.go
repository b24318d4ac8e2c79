package dbtest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// mariadbEnv holds the URL of a MariaDB or MySQL server to use instead of one
// of our own. Its user must be allowed to create databases and to replicate.
const mariadbEnv = "HOTROW_TEST_MARIADB"

// sharedMariaDB is the MariaDB server of this test binary, for the same reason
// as shared.
var sharedMariaDB sharedMaria

// A sharedMaria is started by the first test that needs it.
type sharedMaria struct {
	// mu guards the fields, and makes later tests wait for the first to start it.
	mu      sync.Mutex
	cluster *mariaCluster
	err     error // why it did not start; later tests fail with the same
}

// get returns the server, started.
func (s *sharedMaria) get(p mariaPrograms) (*mariaCluster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil && s.err == nil {
		s.cluster, s.err = newMariaCluster(p, nil)
	}
	return s.cluster, s.err
}

// stop stops the server and removes its directory.
func (s *sharedMaria) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil {
		return
	}
	if err := s.cluster.remove(); err != nil {
		fmt.Fprintf(os.Stderr, "dbtest: stop the shared MariaDB: %v\n", err)
	}
	s.cluster = nil
}

// MariaDB returns the URL (mysql://USER@HOST:PORT/DATABASE) of a new, empty
// database that is dropped when the test ends. The server is the one that
// HOTROW_TEST_MARIADB names, else one that all tests of the binary share: it
// writes a row binlog with full images, and its user root may do anything.
func MariaDB(t testing.TB, opts ...Option) string {
	t.Helper()
	notShort(t)
	if given := os.Getenv(mariadbEnv); given != "" {
		u, err := url.Parse(given)
		if err != nil {
			t.Fatalf("%s: %v", mariadbEnv, err)
		}
		return newMariaDatabase(t, given, func(name string) string {
			made := *u
			made.Path = "/" + name
			return made.String()
		}, false, opts)
	}
	c, err := sharedMariaDB.get(lookMariaDB(t))
	if err != nil {
		t.Fatalf("start MariaDB: %v", err)
	}
	return newMariaDatabase(t, c.url("mysql"), c.url, false, opts)
}

// MariaDBShell runs SQL with the real mariadb shell, and returns what it
// prints: one line a row, columns separated by tabs. The test fails when a
// statement does. It must be called by the test's goroutine.
func MariaDBShell(t testing.TB, rawURL, sql string) string {
	t.Helper()
	out, err := runMariaShell(lookMariaShell(t), rawURL, sql)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// newMariaDatabase creates a database by way of admin, the URL of another one
// of the same server, and returns its URL. It is dropped when the test ends, unless its
// server goes with the test as well (passing).
func newMariaDatabase(
	t testing.TB, admin string, urlOf func(name string) string, passing bool, opts []Option,
) string {
	t.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	shell := lookMariaShell(t)
	name := databaseName(t.Name(), os.Getpid(), databases.Add(1))
	create := "CREATE DATABASE " + name + " CHARACTER SET utf8mb4;"
	if _, err := runMariaShell(shell, admin, create); err != nil {
		t.Fatalf("create database: %v", err)
	}
	if !passing {
		t.Cleanup(func() {
			// That it cannot be dropped is no failure: its server may be stopped,
			// which was the test.
			if _, err := runMariaShell(shell, admin, "DROP DATABASE "+name+";"); err != nil {
				t.Logf("drop database %s: %v", name, err)
			}
		})
	}
	made := urlOf(name)
	for _, sql := range o.setup {
		if _, err := runMariaShell(shell, made, sql); err != nil {
			t.Fatalf("set up the database: %v", err)
		}
	}
	return made
}

// runMariaShell runs SQL on the database that rawURL names, and stops at the
// first statement that fails.
func runMariaShell(shell, rawURL, sql string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", err
	}
	password, _ := u.User.Password()
	sql = strings.Join(SQL(sql), ";\n")
	return runShell(shell, sql, "--no-defaults", "--batch", "--skip-column-names",
		"--protocol=tcp", "--default-character-set=utf8mb4", "--connect-timeout=10",
		"--host="+u.Hostname(), "--port="+u.Port(), "--user="+u.User.Username(),
		"--password="+password, filepath.Base(u.Path))
}

// mariaPrograms are the paths of what makes and runs a server.
type mariaPrograms struct {
	server, install string

	root string // of MySQL instead; "": MariaDB
}

// mysql reports whether the server is MySQL's.
func (p mariaPrograms) mysql() bool { return p.root != "" }

// lookMariaDB returns the programs of a MariaDB server, or ends the test.
// Debian keeps the server in /usr/sbin, which is not in every user's PATH.
func lookMariaDB(t testing.TB) mariaPrograms {
	t.Helper()
	notShort(t)
	if root := os.Getenv(mysqlEnv); root != "" {
		if err := checkMySQL(root); err != nil {
			t.Fatal(err)
		}
		return mariaPrograms{root: root}
	}
	server, serverErr := lookProgram("mariadbd", "/usr/sbin", "/usr/local/sbin", "/usr/libexec")
	install, installErr := lookProgram("mariadb-install-db", "/usr/bin", "/usr/local/bin")
	if err := errors.Join(serverErr, installErr); err != nil {
		missing(t, "mariadb", fmt.Errorf("%w; install the package mariadb-server", err))
	}
	return mariaPrograms{server: server, install: install}
}

// lookMariaShell returns the path of the shell, or ends the test.
func lookMariaShell(t testing.TB) string {
	t.Helper()
	notShort(t)
	path, err := lookProgram("mariadb")
	if err != nil {
		missing(t, "mariadb", fmt.Errorf("%w; install the package mariadb-client", err))
	}
	return path
}

// lookProgram finds a program in PATH, else in these directories.
func lookProgram(name string, dirs ...string) (string, error) {
	path, err := exec.LookPath(name)
	for _, dir := range dirs {
		if err == nil {
			break
		}
		path, err = exec.LookPath(filepath.Join(dir, name))
	}
	return path, err
}
