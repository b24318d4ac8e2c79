//go:build unix

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestLinksKey_MadeByRootIsTheServices: the first key is made by root, often before the
// first start; the database is the service's to write.
func TestLinksKey_MadeByRootIsTheServices(t *testing.T) {
	dir := t.TempDir()
	owner := os.Geteuid()
	if owner == 0 {
		owner = 12345
		if err := os.Chown(dir, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	file := configFile(t, "version: 1\nlinks: {listen: '127.0.0.1:0', database: 'sqlite:"+
		filepath.Join(dir, "links.db")+"', log: {dir: clicks}}\n")
	for range 2 { // it is made, and then there
		mustCommand(t, "links", "key", "add", "ana", "--role", "admin", "-c", file)
		files := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil {
				files++
				if uid := info.Sys().(*syscall.Stat_t).Uid; int(uid) != owner {
					t.Errorf("%s is of user %d, want %d", path, uid, owner)
				}
			}
			return err
		})
		if err != nil || files == 0 {
			t.Errorf("%d files: %v", files, err)
		}
	}
}
