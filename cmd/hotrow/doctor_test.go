package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// TestMariaDB_DoctorPrintsTheSQLThatMends: for a user who may do nothing but connect,
// of tables that a configuration names. What --sql prints is all that is needed.
func TestMariaDB_DoctorPrintsTheSQLThatMends(t *testing.T) {
	url := dbtest.MariaDB(t, dbtest.Setup("CREATE TABLE kv (id int PRIMARY KEY, v int);",
		"CREATE TABLE ro (id int PRIMARY KEY);"))
	db := url[strings.LastIndexByte(url, '/')+1:]
	user := fmt.Sprintf("nobody%d", os.Getpid())
	dbtest.MariaDBShell(t, url, fmt.Sprintf("CREATE USER '%s'@'127.0.0.1' IDENTIFIED BY 'p'", user))
	t.Cleanup(func() { dbtest.MariaDBShell(t, url, fmt.Sprintf("DROP USER '%s'@'127.0.0.1'", user)) })
	dbtest.MariaDBShell(t, url, fmt.Sprintf("GRANT INSERT ON ro TO '%s'@'127.0.0.1'", user))
	file := configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: %q}}\nresources:\n"+
		"  kv: {table: kv, access: {write: public}}\n  ro: {table: ro}\n",
		strings.Replace(url, "//root@", "//"+user+":p@", 1)))
	code, out, _ := command(t, "doctor", "-c", file)
	if code == 0 || !strings.Contains(out, "resource kv:") {
		t.Errorf("doctor: %d\n%s", code, out)
	}
	_, sql, _ := command(t, "doctor", "-c", file, "--sql")
	for _, want := range []string{
		"GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.*",
		"GRANT SELECT, INSERT, DELETE, UPDATE ON `" + db + "`.`kv`", "GRANT SELECT ON `" + db + "`.`ro`",
	} {
		if !strings.Contains(sql, want) {
			t.Errorf("doctor --sql has no %q:\n%s", want, sql)
		}
	}
	dbtest.MariaDBShell(t, url, sql)
	if code, out, _ = command(t, "doctor", "-c", file); code != 0 || strings.Contains(out, "error") {
		t.Errorf("after what it asked for, doctor: %d\n%s", code, out)
	}
}

// TestDoctor_OfWhatIsNoDatabase says what it is instead.
func TestDoctor_OfWhatIsNoDatabase(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{text: "not an SQLite database",
		dir: "it is a directory", filepath.Join(dir, "gone.db"): "there is no such file"} {
		if code, _, said := command(t, "doctor", path); code == 0 || !strings.Contains(said, want) {
			t.Errorf("doctor %s: %d, %q, want %q", path, code, said, want)
		}
	}
}
