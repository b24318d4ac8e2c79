//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

const fallbackTables = `CREATE TABLE people (id int PRIMARY KEY, name text, password text);
	INSERT INTO people VALUES (1, 'ann', 'secret');
	CREATE TABLE pets (id int PRIMARY KEY, name text); INSERT INTO pets VALUES (1, 'rex');
	CREATE TABLE unlisted (id int PRIMARY KEY); CREATE TABLE keyless (n int);
	CREATE TABLE policed (id int PRIMARY KEY); ALTER TABLE policed ENABLE ROW LEVEL SECURITY;
	CREATE VIEW names AS SELECT id, name FROM people;
	CREATE SCHEMA links; CREATE VIEW links.other AS SELECT 1 AS id`

const fallbackConfig = `
version: 1
sources: {main: {url: '%s'}}
http: {postgrest: {path: /rest/v1, fallback: {url: '%s'%s}}}
resources:
  people: {table: people, fields: {password: {hide: true}}}
  pets: {table: pets, fallback: %v}
`

// A server behind is asked for views and what else is left out, and not for what is not listed; a
// reload shuts a resource.
func TestServe_Fallback(t *testing.T) {
	t.Parallel()
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path+" "+r.Header.Get("Accept-Profile"))
	}))
	t.Cleanup(behind.Close)
	url := dbtest.Postgres(t, dbtest.Setup(fallbackTables))
	file := filepath.Join(t.TempDir(), "hotrow.yaml")
	write := func(more string, pets bool) {
		text := fmt.Sprintf(fallbackConfig, url, behind.URL+"/api", more, pets)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("", true)
	r := serve(t, "-c", file)
	ask := func(path string) string {
		code, body := get(t, r.http+"/rest/v1/"+path)
		if code != 200 {
			return fmt.Sprint(code)
		}
		return body
	}
	for path, want := range map[string]string{
		"names": "/api/names public", "keyless": "/api/keyless public", "policed": "/api/policed public",
		"names?select=id,pets(id)": "/api/names public", "pets?select=id.max()": "/api/pets public",
		"rpc/f": "/api/rpc/f ",
		"pets":  `[{"id":1,"name":"rex"}]`, "people": `[{"id":1,"name":"ann"}]`, "people?select=id.max()": "400",
		"people?select=password": "400", "names?select=people(password)": "400", "unlisted": "404", "nope": "404",
		"names?select=unlisted(id)": "400", "other": "404", "pg_authid": "404", "pg_stat_activity": "404",
	} {
		if got := ask(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if _, body := get(t, r.ops+"/metrics"); !strings.Contains(body,
		`hotrow_http_fallback_requests_total{result="answered"} 6`) {
		t.Error("the metrics do not count 6 requests")
	}
	write("", false)
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	until(t, r.log, func() bool { return ask("pets?select=id.max()") == "400" })
}
