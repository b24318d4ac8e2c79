package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// TestCheck_OpensWhatServeOpens: what serve refuses is an error of check before, which names the
// line and makes nothing.
func TestCheck_OpensWhatServeOpens(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"access log", "log: {access: all, access_file: no/a.log}", "log.access_file: open the access log: "},
		{"access log, a directory", "log: {access: all, access_file: .}", "log.access_file: open the access log: "},
		{"countries", `links: {listen: "127.0.0.1:0", country: no.csv}`, "links.country: load countries: "},
		{"bad countries", `links: {listen: "127.0.0.1:0", country: bad.csv}`,
			`line 1: "x" is not first,last,country`},
		{"disk", "cache: {disk: {path: app.db}}", "cache.disk.path: {dir}/app.db is a database of SQLite"},
		{"items", `kv: {store: "sqlite:no/kv.db"}`, "kv.store: there is no directory {dir}/no: mkdir -p"},
		{"links", `links: {listen: "127.0.0.1:0", database: "sqlite:no/l.db"}`,
			"links.database: there is no directory {dir}/no: mkdir -p"},
		{"keys", `links: {listen: "0.0.0.0:0", base_url: "https://s.example"}`,
			"links.listen: 0.0.0.0:0 can be reached from other machines and there is no key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			dbtest.SQLiteShell(t, filepath.Join(dir, "app.db"), warmSQL)
			file := filepath.Join(dir, "hotrow.yaml")
			rewrite(t, file, "version: 1\nsources: {main: {url: 'sqlite:app.db'}}\n"+
				"resources: {p: {table: p}}\n"+tt.text+"\n")
			rewrite(t, filepath.Join(dir, "bad.csv"), "x\n")
			want, before := strings.ReplaceAll(tt.want, "{dir}", dir), listing(t, dir)
			code, out, stderr := command(t, "check", "-c", file)
			if code != 2 || !strings.Contains(stderr, fmt.Sprintf("hotrow: %s:4:", file)) ||
				!strings.Contains(stderr, want) {
				t.Errorf("hotrow check, exit %d: %s, want %s", code, stderr, want)
			}
			if strings.Contains(out, "no/") { // it cannot be made
				t.Errorf("hotrow check prints\n%s", out)
			}
			if d := cmp.Diff(before, listing(t, dir)); d != "" {
				t.Errorf("hotrow check changes files: %s", d)
			}
			// The listener of links is that of the file.
			r := begin(t, []string{"HOTROW_LINKS_LISTEN="}, "-c", file)
			_, want, _ = strings.Cut(want, ": ")
			until(t, r.log, func() bool {
				select {
				case <-r.ended:
					return true
				default:
					return false
				}
			})
			if code := r.stop(); code == 0 || !strings.Contains(r.log.String(), want) {
				t.Errorf("hotrow serve, exit %d, want %s:\n%s", code, want, r.log)
			}
		})
	}
}

// TestCheck_LooksOnly: what is there and good is no mistake, and stays as it is.
func TestCheck_LooksOnly(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "hotrow.yaml")
	rewrite(t, filepath.Join(dir, "a.log"), "line\n")
	rewrite(t, filepath.Join(dir, "c.csv"), "1.0.0.0,1.0.0.255,AU\n")
	text := "log: {access: all, access_file: a.log}\ncache: {disk: {path: cache.db}}\n" +
		"links: {country: c.csv, listen: '0.0.0.0:0', base_url: 'https://s.example'}\n"
	rewrite(t, file, text)
	mustCommand(t, "links", "key", "add", "ana", "--role=admin", "-c", file)
	before := listing(t, dir)
	mustCommand(t, "check", "-c", file)
	if d := cmp.Diff(before, listing(t, dir)); d != "" {
		t.Errorf("hotrow check changes files: %s", d)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "a.log")); err != nil || string(b) != "line\n" {
		t.Errorf("the access log is %q, %v", b, err)
	}
}
