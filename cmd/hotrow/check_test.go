package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// listing returns the files below dir, with their modes and sizes.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			files[path] = fmt.Sprint(info.Mode(), info.Size())
		} else if err == nil {
			files[path] = info.Mode().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestCheck_MakesNothing: whoever looks, often root, leaves no file behind that the
// service's user could not write to; neither before the first start nor after it.
func TestCheck_MakesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dbtest.SQLiteShell(t, filepath.Join(dir, "app.db"), deptSQL)
	file := filepath.Join(dir, "hotrow.yaml")
	text := `version: 1
http: {listen: '127.0.0.1:0'}
ops: {listen: '127.0.0.1:0'}
wire: {listen: 'off'}
memcache: {listen: '127.0.0.1:0'}
cache: {disk: {path: cache.db, max: 64MiB}}
kv: {store: 'sqlite:items.db'}
links: {listen: '127.0.0.1:0', database: 'sqlite:links.db', log: {dir: clicks}}
log: {access: all, access_file: access.log}
sources: {main: {url: 'sqlite:app.db'}}
resources: {dept: {table: dept, access: {write: public}}}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	look := func(when string) {
		t.Helper()
		before := listing(t, dir)
		for _, args := range [][]string{{"check", "-c", file}, {"doctor", "-c", file},
			{"doctor", "-c", file, "--sql"}, {"doctor", filepath.Join(dir, "app.db")}} {
			out := mustCommand(t, args...)
			if d := cmp.Diff(before, listing(t, dir)); d != "" {
				t.Errorf("%s, hotrow %s changes files: %s", when, strings.Join(args, " "), d)
			}
			if told := strings.Contains(out, "links.db is not there yet"); told !=
				(when == "before the first start" && len(args) > 2) {
				t.Errorf("%s, hotrow %s says %q", when, strings.Join(args, " "), out)
			}
		}
	}
	look("before the first start")
	r := serve(t, "-c", file)
	r.stop()
	for _, name := range []string{"cache.db", "items.db", "links.db", "clicks", "access.log"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("serve makes %s elsewhere: %v", name, err)
		}
	}
	look("when it was served")
}

// TestPostgres_CheckMakesNothing in the database either.
func TestPostgres_CheckMakesNothing(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t, dbtest.Setup("CREATE TABLE kv (id int PRIMARY KEY, v int)"))
	file := configFile(t, fmt.Sprintf("version: 1\ncache: {disk: {path: cache.db, max: 64MiB}}\n"+
		"sources: {main: {url: %q, feed: {slot: one}}}\n"+
		"resources: {kv: {table: kv, access: {write: public}}}\n", url))
	objects := func() string {
		return dbtest.Psql(t, url, `SELECT (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_proc),
			(SELECT count(*) FROM pg_publication), (SELECT count(*) FROM pg_namespace),
			(SELECT count(*) FROM pg_trigger),
			(SELECT count(*) FROM pg_replication_slots WHERE database = current_database())`)
	}
	before := objects()
	mustCommand(t, "check", "-c", file)
	command(t, "doctor", "-c", file) // which may find that something is missing
	if after := objects(); after != before {
		t.Errorf("classes, functions, publications, schemas, triggers, slots: %s, before %s", after, before)
	}
}
