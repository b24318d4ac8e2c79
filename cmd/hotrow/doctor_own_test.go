package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestDoctor_LooksAtTablesOfHotrowsOwn: what it says of a file that also has the tables of
// links is what serve does, and with the change log the cache on disk is warm at the next
// start.
func TestDoctor_LooksAtTablesOfHotrowsOwn(t *testing.T) {
	t.Parallel()
	dir, db := t.TempDir(), database(t,
		"CREATE TABLE pay (id INTEGER PRIMARY KEY, sal INT); INSERT INTO pay VALUES (1, 2);")
	file := configFile(t, "version: 1\ncache: {disk: {path: '"+filepath.Join(dir, "disk.db")+"'}}\n"+
		"sources: {main: {url: 'sqlite:"+db+"'}}\nresources:\n  pay: {table: pay}\n"+
		"links:\n  database: main\n  log: {dir: '"+dir+"/clicks', max: 64MiB}\n"+
		"kv: {store: 'sqlite:"+dir+"/kv.db'}\n")
	const installed, used = "the change log is installed", "by the change log"
	doctor := func(flags ...string) string {
		t.Helper()
		_, out, errs := command(t, append([]string{"doctor", "-c", file}, flags...)...)
		return out + errs
	}
	if out := doctor("--apply"); !strings.Contains(out, "the table of links is not there") {
		t.Errorf("before the first start: %s", out)
	}
	r := serve(t, "-c", file)
	r.stop()
	if strings.Contains(r.log.String(), used) {
		t.Fatal("serve uses a change log that does not have all tables")
	}
	if out := doctor(); strings.Contains(out, installed) {
		t.Errorf("serve did not use it, and doctor says: %s", out)
	}
	doctor("--apply")
	if out := doctor(); strings.Count(out, installed) != 2 { // of main and of kv.store
		t.Errorf("after --apply: %s", out)
	}
	r = serve(t, "-c", file)
	if n := strings.Count(r.log.String(), used); n != 2 {
		t.Errorf("%d of 2 feeds use the change log:\n%s", n, r.log)
	}
	r.hit("/pay/1")
	r.stop()
	r = serve(t, "-c", file)
	if a := r.get("/pay/1"); !strings.Contains(a.header.Get("Cache-Status"), "hit") {
		t.Errorf("after a restart the cache on disk is cold: %v\n%s", a.header, r.log)
	}
}
