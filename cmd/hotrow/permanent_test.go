package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// neverWorks are URLs that no wait makes good, with what is said of each.
func neverWorks(t *testing.T) map[string]string {
	pg, my := dbtest.Postgres(t), dbtest.MariaDB(t)
	locked := fmt.Sprintf("locked_%d", time.Now().UnixNano())
	dbtest.MariaDBShell(t, my, "CREATE USER "+locked+"@'%' IDENTIFIED BY 'x' ACCOUNT LOCK;"+
		" CREATE USER "+locked+"@localhost IDENTIFIED BY 'x' ACCOUNT LOCK")
	t.Cleanup(func() {
		dbtest.MariaDBShell(t, my, "DROP USER "+locked+"@'%', "+locked+"@localhost")
	})
	closed := pg[strings.LastIndexByte(pg, '/')+1 : strings.IndexByte(pg, '?')]
	dbtest.Psql(t, pg, "CREATE DATABASE "+closed+"_closed ALLOW_CONNECTIONS false")
	t.Cleanup(func() { dbtest.Psql(t, pg, "DROP DATABASE "+closed+"_closed") })
	return map[string]string{
		strings.Replace(pg, "?", "_gone?", 1):                `database "`,
		strings.Replace(pg, "?", "_closed?", 1):              `database "`,
		strings.Replace(pg, "postgres@", "nobody:wrong@", 1): `role "nobody" does not exist`,
		pg + "&no_such_setting=1":                            `unrecognized configuration parameter "no_such`,
		wrongPassword(t):                                     `password authentication failed for user "app"`,
		my + "_gone":                                         `Unknown database '`,
		strings.Replace(my, "root@", "nobody:wrong@", 1):     `Access denied for user 'nobody'`,
		strings.Replace(my, "root@", locked+":x@", 1): dbtest.MariaOrMySQL(
			"Access denied, this account is locked", "Access denied for user"),
		strings.Replace(pg, "sslmode=disable", "sslmode=require", 1): "failed to connect",
	}
}

// wrongPassword returns the URL of a PostgreSQL that asks for a password, with another.
func wrongPassword(t *testing.T) string {
	server := dbtest.NewPostgres(t, nil)
	server.Exec("CREATE ROLE app LOGIN PASSWORD 'right'")
	file := strings.TrimSpace(server.Exec("SHOW hba_file"))
	rules, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rules = append([]byte("host all app 127.0.0.1/32 scram-sha-256\n"), rules...)
	if err := os.WriteFile(file, rules, 0o600); err != nil {
		t.Fatal(err)
	}
	server.Exec("SELECT pg_reload_conf()")
	return strings.Replace(server.URL(), "postgres@", "app:wrong@", 1)
}

// TestServe_EndsWithAURLThatNeverWorks: whoever has typed it is there to mend it.
func TestServe_EndsWithAURLThatNeverWorks(t *testing.T) {
	for _, name := range []string{"HTTP", "OPS", "WIRE"} {
		t.Setenv("HOTROW_"+name+"_LISTEN", "127.0.0.1:0")
	}
	for url, want := range neverWorks(t) {
		ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit(20*time.Second))
		var out, errs output
		code := run(ctx, []string{"serve", url}, &out, &errs, os.Environ())
		cancel()
		said := errs.String()
		said = said[strings.LastIndex(strings.TrimRight(said, "\n"), "\n")+1:]
		host := url[strings.IndexByte(url, '@'):]
		if code != 1 || !strings.HasPrefix(said, "hotrow: ") || !strings.Contains(said, want) ||
			!strings.Contains(said, host) || strings.Contains(said, "wrong@") ||
			!strings.Contains(said, "; ") {
			t.Errorf("serve %s: status %d, said %q", url, code, said)
		}
	}
}

// TestServe_SaysFirstWhatNoTryMends: with a configuration file it goes on trying, and what
// no try mends is an error whose line begins with the reason.
func TestServe_SaysFirstWhatNoTryMends(t *testing.T) {
	t.Parallel()
	for url, want := range neverWorks(t) {
		file := configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: %q}}\n"+
			"resources: {kv: {table: kv}}\n", url))
		r := start(t, os.Environ(), "-c", file)
		want = `level=ERROR msg="` + strings.ReplaceAll(want, `"`, `\"`)
		until(t, r.log, func() bool { return strings.Contains(r.log.String(), want) })
		if !strings.Contains(r.log.String(), "hint=") ||
			strings.Contains(r.log.String(), "the host, the port") {
			t.Errorf("%s: the log says %s", url, r.log)
		}
		r.stop()
	}
}

// TestServe_GoesOnWhenTheDatabaseIsThere at last.
func TestServe_GoesOnWhenTheDatabaseIsThere(t *testing.T) {
	t.Parallel()
	my := dbtest.MariaDB(t)
	file := configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: %q}}\n"+
		"resources: {kv: {table: kv}}\n", my+"_late"))
	r := start(t, os.Environ(), "-c", file)
	until(t, r.log, func() bool { return strings.Contains(r.log.String(), "level=ERROR") })
	name := my[strings.LastIndexByte(my, '/')+1:] + "_late"
	dbtest.MariaDBShell(t, my, "CREATE DATABASE "+name+"; CREATE TABLE "+name+
		".kv (id int PRIMARY KEY, v int); INSERT INTO "+name+".kv VALUES (1, 7)")
	t.Cleanup(func() { dbtest.MariaDBShell(t, my, "DROP DATABASE "+name) })
	r.shows("/kv/1", `"v":7`, 10*showBound)
}

// TestServe_WaitsForAServerThatIsDown, by a URL too.
func TestServe_WaitsForAServerThatIsDown(t *testing.T) {
	t.Parallel()
	pg := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	my := dbtest.NewMariaDB(t, nil)
	pgURL, myURL := pg.Database(t), my.Database(t)
	dbtest.Psql(t, pgURL, "CREATE TABLE kv (id int PRIMARY KEY, v int); INSERT INTO kv VALUES (1, 7)")
	dbtest.MariaDBShell(t, myURL, "CREATE TABLE kv (id int PRIMARY KEY, v int); INSERT INTO kv VALUES (1, 7)")
	pg.Stop(dbtest.Fast)
	my.Stop(dbtest.Fast)
	var all []*running
	for _, url := range []string{pgURL, myURL} {
		r := start(t, os.Environ(), url)
		until(t, r.log, func() bool { return strings.Contains(r.log.String(), "trying again") })
		all = append(all, r)
	}
	pg.Start()
	my.Start()
	for _, r := range all {
		r.shows("/kv/1", `"v":7`, 10*showBound)
		if strings.Contains(r.log.String(), "level=ERROR") {
			t.Errorf("a server that was down is an error:\n%s", r.log)
		}
	}
}
