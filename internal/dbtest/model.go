package dbtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// A model is a data directory as a server's installer leaves it. Installing takes five times
// as long as a copy, so the first test on a machine keeps a model, and all others copy it. It
// lies in the user's directory of caches and may be removed while no test runs.
type model struct {
	dir string // "": there is no place for it
}

// modelOf returns the model of what a command installs: another command, or another version of
// its program, has another.
func modelOf(name string, command []string) model {
	cache, err := os.UserCacheDir()
	if err != nil {
		return model{}
	}
	program, err := os.Stat(command[0])
	if err != nil {
		return model{}
	}
	sum := sha256.Sum256(fmt.Append(nil, command, program.Size(), program.ModTime()))
	return model{filepath.Join(cache, "hotrow-dbtest", fmt.Sprintf("%s-%x", name, sum[:8]))}
}

// copyTo makes the directory data as the model is, and reports whether there is a model.
func (m model) copyTo(data string) bool {
	if m.dir == "" {
		return false
	}
	if _, err := os.Stat(m.dir); err != nil {
		return false
	}
	if copyFiles(m.dir, data) != nil {
		_ = os.RemoveAll(data)
		return false
	}
	return true
}

// keep makes a model of the directory data. That it cannot is no failure: servers are installed
// without one. Of several test binaries that keep one at a time, the first does.
func (m model) keep(data string) {
	if m.dir == "" || os.MkdirAll(filepath.Dir(m.dir), 0o755) != nil {
		return
	}
	made := fmt.Sprintf("%s.%d", m.dir, os.Getpid())
	if errors.Join(copyFiles(data, made), os.Rename(made, m.dir)) != nil {
		_ = os.RemoveAll(made)
	}
}

// copyFiles copies a directory with the owners and rights of its files.
func copyFiles(from, to string) error {
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	return nil
}
