package dbtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mysqlEnv holds the root of a file system with a MySQL server in it, which need not be
// this machine's: its programs run with its own libraries. All tests that ask for a
// MariaDB server get this one instead.
const mysqlEnv = "HOTROW_TEST_MYSQL_ROOT"

// mysqlSettings are what MySQL has instead of MariaDB's.
var mysqlSettings = map[string]string{
	"cte-max-recursion-depth":  "1000000",
	"secure-file-priv":         "NULL",
	"gtid-mode":                "ON",
	"enforce-gtid-consistency": "ON",
	"innodb-redo-log-capacity": "32M",
	"mysqlx":                   "OFF",
}

// IsMySQL reports whether the servers that tests of MariaDB get are MySQL's.
func IsMySQL() bool { return os.Getenv(mysqlEnv) != "" }

// MariaOrMySQL returns what is written for the server that the tests get: they differ in
// some names.
func MariaOrMySQL(maria, mysql string) string {
	if IsMySQL() {
		return mysql
	}
	return maria
}

// checkMySQL says what root lacks.
func checkMySQL(root string) error {
	for _, path := range []string{"usr/sbin/mysqld", mysqlLoader} {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			return fmt.Errorf("%s: %w; scripts/install-engines makes it", mysqlEnv, err)
		}
	}
	return nil
}

// mysqlLoader starts a program with other libraries than this machine's.
const mysqlLoader = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"

// mysqlCommand returns the program and the arguments that run mysqld from root.
func mysqlCommand(root string, args []string) (string, []string) {
	lib := filepath.Join(root, "usr/lib/x86_64-linux-gnu")
	private := filepath.Join(root, "usr/lib/mysql/private")
	all := []string{"--library-path", lib + ":" + private, filepath.Join(root, "usr/sbin/mysqld")}
	for i, arg := range args { // --no-defaults must be the first of the server's own
		all = append(all, arg)
		if i == 0 {
			all = append(all, "--basedir="+filepath.Join(root, "usr"),
				"--plugin-dir="+filepath.Join(root, "usr/lib/mysql/plugin"),
				"--lc-messages-dir="+filepath.Join(root, "usr/share/mysql"),
				"--character-sets-dir="+filepath.Join(root, "usr/share/mysql/charsets"))
		}
	}
	return filepath.Join(root, mysqlLoader), all
}

// initializeMySQL makes the data directory, with a root who needs no password.
func (c *mariaCluster) initializeMySQL() error {
	// One statement a line. The root that it makes itself may only come by the socket.
	first := filepath.Join(c.dir, "first.sql")
	err := os.WriteFile(first, []byte(strings.Join([]string{
		"CREATE USER root@'127.0.0.1';",
		"GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;", ""}, "\n")), 0o644)
	if err := errors.Join(err, c.who.own(first)); err != nil {
		return err
	}
	cmd := c.serverCommand("--no-defaults", "--initialize-insecure", "--datadir="+c.data(),
		"--init-file="+first, "--innodb-redo-log-capacity=32M", "--innodb-flush-method=nosync",
		"--skip-log-bin")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mysqld --initialize-insecure: %w\n%s", err, out)
	}
	return nil
}
