//go:build interop

package main

import (
	"net/url"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// supabase-js reads and writes a shop in a file, and in MariaDB. It comes from npm:
// make interop-postgrest installs it and runs this.
func TestTutorial_Supabase(t *testing.T) {
	t.Parallel()
	dbtest.Program(t, "npm", "npm", "/usr/bin")
	at := dbtest.MariaDB(t)
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	s := newTutorial(t)
	s.env = append(s.env, "MARIADB_URL="+at, "MARIADB=--no-defaults --protocol=tcp -h "+u.Hostname()+" -P "+u.Port()+
		" -u "+u.User.Username()+" "+strings.TrimPrefix(u.Path, "/"))
	if password, ok := u.User.Password(); ok {
		s.env = append(s.env, "MYSQL_PWD="+password)
	}
	s.follow(t, "../../docs/tutorial/supabase.md", 9)
}
