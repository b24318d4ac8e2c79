//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// openFiles returns how many files this process may have open; 0: nobody knows.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return uint64(limit.Cur)
}

// makeFor makes an empty file, if root is about to make it in a directory of somebody else:
// that is who will write to it, as the service does. SQLite does so with the files beside.
func makeFor(path string) error {
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil || os.Geteuid() != 0 {
		return nil // who opens the file will say what is wrong
	}
	owner, ok := dir.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Chown(int(owner.Uid), int(owner.Gid)), f.Close())
}

// keepOwner gives f the owner and the group of old, or those of them that this user may
// give. The mode is set later: it may have been meant for another group, and a file of
// ours with it is then for ours.
func keepOwner(f *os.File, old fs.FileInfo) {
	owner, ok := old.Sys().(*syscall.Stat_t)
	if ok && f.Chown(int(owner.Uid), int(owner.Gid)) != nil {
		_ = f.Chown(-1, int(owner.Gid))
	}
}
