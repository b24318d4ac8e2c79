package main

import (
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/demo"
	"github.com/hotrow/hotrow/internal/source"
)

// TestMariaDB_DoctorPrintsTheSQLThatMends: for a user who may do nothing but connect,
// of tables that a configuration names. What --sql prints is all that is needed.
func TestMariaDB_DoctorPrintsTheSQLThatMends(t *testing.T) {
	t.Parallel()
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

// TestMariaDB_DoctorTellsWhoMayWritePastTheBinlog: those who may, and nobody else.
func TestMariaDB_DoctorTellsWhoMayWritePastTheBinlog(t *testing.T) {
	url := dbtest.MariaDB(t)
	for privilege, may := range map[string]bool{"BINLOG ADMIN": true, "SUPER": true, "PROCESS": false} {
		user := fmt.Sprintf("silent_%s%d", strings.ToLower(privilege[:5]), os.Getpid())
		dbtest.MariaDBShell(t, url, fmt.Sprintf("CREATE USER '%s'@'127.0.0.1' IDENTIFIED BY 'p';"+
			"GRANT %s ON *.* TO '%[1]s'@'127.0.0.1'", user, privilege))
		t.Cleanup(func() { dbtest.MariaDBShell(t, url, fmt.Sprintf("DROP USER '%s'@'127.0.0.1'", user)) })
		out := mustCommand(t, "doctor", url)
		if says := strings.Contains(out, "'"+user+"'@'127.0.0.1'"); says != may {
			t.Errorf("%s: doctor names the user: %v, want %v\n%s", privilege, says, may, out)
		}
		db, err := sql.Open("mysql", fmt.Sprintf("%s:p@tcp(%s)/", user,
			strings.Split(strings.Split(url, "@")[1], "/")[0]))
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.ExecContext(t.Context(), "SET sql_log_bin = 0")
		if (err == nil) != may {
			t.Errorf("%s: SET sql_log_bin = 0: %v", privilege, err)
		}
		_ = db.Close()
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

// fourteenTables are what a shop has.
func fourteenTables() string {
	var b strings.Builder
	for i := range 14 {
		fmt.Fprintf(&b, "CREATE TABLE t%d (id int PRIMARY KEY, name text);", i)
	}
	return b.String()
}

// TestPostgres_DoctorOfAServerAsItIsInstalled: the two ways first, in five lines, and no
// statement of a trigger unless triggers are asked for.
func TestPostgres_DoctorOfAServerAsItIsInstalled(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, nil) // wal_level is replica
	url := server.Database(t, dbtest.Setup(fourteenTables()))
	code, out, _ := command(t, "doctor", url)
	lines := strings.Split(out, "\n")
	if code != 1 || len(lines) > 16 || !strings.Contains(lines[0], "two ways") ||
		!strings.Contains(lines[1], "logical replication") || !strings.Contains(lines[3], "triggers") ||
		!strings.Contains(out, "by hand: ALTER SYSTEM SET wal_level = logical;") ||
		strings.Contains(out, "TRIGGER") {
		t.Errorf("doctor, exit %d:\n%s", code, out)
	}
	code, out, _ = command(t, "doctor", url, "--apply")
	if made := dbtest.Psql(t, url, "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'hotrow%'"); code !=
		1 || strings.TrimSpace(made) != "0" {
		t.Errorf("--apply, exit %d, made %s triggers:\n%s", code, made, out)
	}
	if _, out, _ = command(t, "doctor", url, "--sql"); strings.Contains(out, "TRIGGER") ||
		!strings.Contains(out, "-- by hand, it concerns the whole server: ALTER SYSTEM") {
		t.Errorf("--sql:\n%s", out)
	}
	_, out, _ = command(t, "doctor", url, "--feed", "notify")
	if strings.Contains(out, "CREATE TRIGGER") || !strings.Contains(out, "14 tables have no triggers") ||
		strings.Count(out, "\n") > 8 {
		t.Errorf("--feed notify:\n%s", out)
	}
	if _, out, _ = command(t, "doctor", url, "--feed", "notify", "--sql"); strings.Count(out,
		"CREATE TRIGGER") != 28 {
		t.Errorf("--feed notify --sql:\n%s", out)
	}
	mustCommand(t, "doctor", url, "--feed", "notify", "--apply")
	out = mustCommand(t, "doctor", url) // triggers are there now
	if !strings.Contains(out, "wal_level is replica") {
		t.Errorf("with triggers:\n%s", out)
	}
	serve(t, url).get("/t1/1")
}

// TestPostgres_DoctorLooksForTheFeedOfTheConfiguration, as serve does.
func TestPostgres_DoctorLooksForTheFeedOfTheConfiguration(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t, dbtest.Setup("CREATE TABLE kv (id int PRIMARY KEY, v int)"))
	file := configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: %q, feed: {mode: notify}}}\n"+
		"resources: {kv: {table: kv}}\n", url))
	if code, out, _ := command(t, "doctor", "-c", file); code != 1 ||
		!strings.Contains(out, "no triggers") {
		t.Errorf("doctor, exit %d:\n%s", code, out)
	}
	if _, out, _ := command(t, "doctor", "-c", file, "--feed", "logical"); strings.Contains(out,
		"no triggers") {
		t.Errorf("doctor --feed logical:\n%s", out)
	}
	if code, _, said := command(t, "doctor", "-c", file, "--feed", "binlog"); code != 2 ||
		!strings.Contains(said, "--feed binlog") {
		t.Errorf("doctor --feed binlog: exit %d: %s", code, said)
	}
	mustCommand(t, "doctor", "-c", file, "--apply")
	made := dbtest.Psql(t, url, "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'hotrow%'; "+
		"SELECT count(*) FROM pg_publication")
	if strings.Join(strings.Fields(made), " ") != "2 0" {
		t.Errorf("--apply has made %s", made)
	}
	r := serve(t, "-c", file)
	r.get("/kv/1")
	if a := r.hit("/kv/1"); !strings.Contains(a.header.Get("Cache-Status"), "hit") {
		t.Errorf("GET: %s", a.header.Get("Cache-Status"))
	}
}

// TestPostgres_SaysWhatIsNotOnDisk: a slot that cannot be had, and documents with rows whose
// old parent nobody tells; in the log, by doctor and by check.
func TestPostgres_SaysWhatIsNotOnDisk(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t, dbtest.Setup(demo.PostgresSQL()))
	file := configFile(t, fmt.Sprintf(`version: 1
cache: {disk: {path: %q}}
sources: {main: {url: %q, feed: {slot: hotrow_nodisk}}}
resources:
  dept: {table: dept, embed: {emps: {table: emp, "on": deptno}}}
`, filepath.Join(t.TempDir(), "cache.db"), url))
	const slot, nested = "feed.slot hotrow_nodisk cannot be used", "documents of dept are not kept on disk"
	out := mustCommand(t, "doctor", "-c", file)
	if !strings.Contains(out, "warning  "+slot) || !strings.Contains(out, "warning  "+nested) {
		t.Errorf("doctor:\n%s", out)
	}
	if out = mustCommand(t, "check", "-c", file); !strings.Contains(out, nested) {
		t.Errorf("check:\n%s", out)
	}
	r := serve(t, "-c", file)
	r.hit("/dept/10")
	for _, want := range []string{`level=WARN msg="feed.slot cannot be used`,
		`level=WARN msg="documents are not kept on disk`, "public.emp", "feed=logical"} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("no %s in the log:\n%s", want, r.log)
		}
	}
	r.stop()
	dbtest.Psql(t, url, "ALTER TABLE emp REPLICA IDENTITY FULL")
	if out = mustCommand(t, "doctor", "-c", file); strings.Contains(out, nested) {
		t.Errorf("with the identity, doctor:\n%s", out)
	}
	r = serve(t, "-c", file)
	r.hit("/dept/10")
	if strings.Contains(r.log.String(), "are not kept on disk") {
		t.Errorf("with the identity, the log:\n%s", r.log)
	}
}

// TestDoctor_GoesOnAfterAFailure, and says of each finding whether it is mended.
func TestDoctor_GoesOnAfterAFailure(t *testing.T) {
	for _, remove := range []bool{false, true} {
		cfg := config.DefaultSource()
		cfg.URL = config.Secret("sqlite:" + database(t, deptSQL))
		src, err := openSource(t.Context(), cfg, false, false, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = src.Close() }()
		statements := [][]string{{"CREATE TABLE one (id)", "CREATE TABLE dept (id)"}, {"CREATE TABLE two (id)"}}
		findings := make([]source.Finding, len(statements))
		for i, s := range statements {
			findings[i] = source.Finding{Level: source.LevelError, Text: "it lacks a table", Apply: s, Remove: s}
		}
		var out output
		cmd := doctorCmd{Apply: !remove, Remove: remove}
		err = cmd.treat(t.Context(), &program{stdout: &out}, src, findings)
		if err == nil || !strings.Contains(err.Error(), "1 finding failed") ||
			!strings.Contains(err.Error(), "as a user who may") || strings.Contains(err.Error(), "keep") {
			t.Errorf("remove %v: %v", remove, err)
		}
		wants := []string{"failed: CREATE TABLE one (id);\n", "failed: CREATE TABLE dept (id);\n", "already exists",
			"done: CREATE TABLE two (id);\n"}
		if remove {
			wants[3] = "\nCREATE TABLE two (id);\n"
		}
		for _, want := range wants {
			if !strings.Contains(out.String(), want) {
				t.Errorf("remove %v has no %q:\n%s", remove, want, out.String())
			}
		}
		if err := src.Exec(t.Context(), "DROP TABLE two"); err != nil {
			t.Errorf("remove %v, what could be run: %v", remove, err)
		}
	}
}
