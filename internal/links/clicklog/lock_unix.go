//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package clicklog

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock makes this process the only one that uses a directory, until f is closed.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
