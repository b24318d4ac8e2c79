package sqlite

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hotrow/hotrow/internal/source"
)

// onReadOnly returns the path of a database that nobody can write to: by its rights,
// or, for root, who may do anything, by its file system.
func onReadOnly(t *testing.T, statements ...string) string {
	t.Helper()
	path, c := newFile(t, "delete", statements...)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	if os.Getuid() != 0 {
		if err := os.Chmod(path, 0o400); err != nil {
			t.Fatal(err)
		}
		return path
	}
	mount := func(flags uintptr) {
		if err := syscall.Mount(dir, dir, "", syscall.MS_BIND|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	mount(0)
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	mount(syscall.MS_REMOUNT | syscall.MS_RDONLY)
	return path
}

// TestDoctor_TriesWhetherRowsCanBeWritten: only of tables that are written, and
// without a trace.
func TestDoctor_TriesWhetherRowsCanBeWritten(t *testing.T) {
	diagnose := func(path string, writes bool) []source.Finding {
		t.Helper()
		s := openTest(t, path, Options{})
		found, err := s.Doctor(t.Context(), source.FeedAuto,
			[]source.Watched{{Table: "t", Columns: []string{"id"}, Writes: writes}})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	bad := func(found []source.Finding) string {
		i := slices.IndexFunc(found, func(f source.Finding) bool { return f.Level == source.LevelError })
		if i < 0 {
			return ""
		}
		return found[i].Text + ": " + found[i].Why
	}
	const table = "CREATE TABLE t (id integer PRIMARY KEY, v text)"
	path := onReadOnly(t, table)
	if text := bad(diagnose(path, true)); !strings.Contains(text, "cannot be written") ||
		!strings.Contains(text, filepath.Dir(path)) {
		t.Errorf("of a file that cannot be written, Doctor says %q", text)
	}
	if text := bad(diagnose(path, false)); text != "" {
		t.Errorf("of a file that is only read, Doctor says %q", text)
	}
	for _, mode := range []string{"delete", "wal"} {
		path, c := newFile(t, mode, table, "PRAGMA user_version=7")
		if text := bad(diagnose(path, true)); text != "" {
			t.Errorf("of a file in mode %s, Doctor says %q", mode, text)
		}
		run(t, c, "BEGIN IMMEDIATE") // another program writes
		if text := bad(diagnose(path, true)); text != "" {
			t.Errorf("of a file that is being written in mode %s, Doctor says %q", mode, text)
		}
		run(t, c, "ROLLBACK")
		found := diagnose(path, true)
		i := slices.IndexFunc(found, func(f source.Finding) bool {
			return strings.Contains(f.Text, "journal mode")
		})
		if (i >= 0) != (mode == "delete") {
			t.Errorf("mode %s: Doctor says %+v", mode, found)
		}
		if i >= 0 {
			run(t, c, found[i].Apply...)
		}
		if again := diagnose(path, true); slices.ContainsFunc(again, func(f source.Finding) bool {
			return strings.Contains(f.Text, "journal mode")
		}) {
			t.Errorf("mode %s: after what it asked for, Doctor says %+v", mode, again)
		}
	}
}
