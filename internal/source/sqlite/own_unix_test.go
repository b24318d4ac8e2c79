//go:build unix

package sqlite

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What hotrow makes for itself has keys and visitors in it: nobody else reads it, whatever
// the umask of the process lets them.
func TestOpen_OwnFileIsForItsOwnerAlone(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	path := filepath.Join(t.TempDir(), "own.db")
	s, err := Open(t.Context(), path, Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Exec(t.Context(), "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", filepath.Base(file), info, err)
		}
	}
}
