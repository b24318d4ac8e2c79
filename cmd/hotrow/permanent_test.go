package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// TestServe_SaysFirstWhatNoTryMends: a database that is not there and a user who is not let
// in are errors, whose line begins with the reason, and both are served once they are
// mended.
func TestServe_SaysFirstWhatNoTryMends(t *testing.T) {
	pg := dbtest.Postgres(t)
	my := dbtest.MariaDB(t)
	for url, want := range map[string]string{
		strings.Replace(pg, "?", "_gone?", 1):                `msg="database \"`,
		strings.Replace(pg, "postgres@", "nobody:wrong@", 1): `msg="role \"nobody\" does not exist"`,
		my + "_gone": `msg="Unknown database '`,
		strings.Replace(my, "root@", "nobody:wrong@", 1): `msg="Access denied for user 'nobody'`,
	} {
		file := configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: %q}}\n"+
			"resources: {kv: {table: kv}}\n", url))
		for _, args := range [][]string{{url}, {"-c", file}} {
			r := start(t, os.Environ(), args...)
			until(t, r.log, func() bool {
				return strings.Contains(r.log.String(), "level=ERROR "+want)
			})
			if !strings.Contains(r.log.String(), "hint=") ||
				strings.Contains(r.log.String(), "the host, the port") {
				t.Errorf("%s: the log says %s", args, r.log)
			}
			r.stop()
		}
	}
}

// TestServe_GoesOnWhenTheDatabaseIsThere at last.
func TestServe_GoesOnWhenTheDatabaseIsThere(t *testing.T) {
	my := dbtest.MariaDB(t)
	r := start(t, os.Environ(), my+"_late")
	until(t, r.log, func() bool { return strings.Contains(r.log.String(), "level=ERROR") })
	name := my[strings.LastIndexByte(my, '/')+1:] + "_late"
	dbtest.MariaDBShell(t, my, "CREATE DATABASE "+name+"; CREATE TABLE "+name+
		".kv (id int PRIMARY KEY, v int); INSERT INTO "+name+".kv VALUES (1, 7)")
	t.Cleanup(func() { dbtest.MariaDBShell(t, my, "DROP DATABASE "+name) })
	r.shows("/kv/1", `"v":7`, 10*showBound)
}
