package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// replaceFile has write fill a file, as a whole or not at all: a new one with this mode,
// or one in place of an old one, whose mode and owner it gets. A symbolic link is
// followed. What is there and is no regular file, such as a FIFO, is written as it is.
func replaceFile(
	ctx context.Context, name string, mode fs.FileMode, write func(io.Writer) error,
) (err error) {
	old, err := os.Stat(name)
	switch {
	case err == nil && !old.Mode().IsRegular():
		f, err := openSpecial(ctx, name)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if name, err = linkTarget(name); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is gone when all went well
	if err = write(f); err == nil {
		if old != nil {
			keepOwner(f, old) // first: it may take bits of the mode away
			mode = old.Mode()
		}
		err = errors.Join(f.Chmod(mode), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// openSpecial opens what is no regular file. A FIFO is open once somebody reads it. No
// signal ends that wait, so ctx does.
func openSpecial(ctx context.Context, name string) (*os.File, error) {
	type opened struct {
		f   *os.File
		err error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		done <- opened{f, err}
	}()
	select {
	case o := <-done:
		return o.f, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// linkTarget returns where the symbolic link called name leads, also one to a file that is
// not there yet; of what is no link its own path.
func linkTarget(name string) (string, error) {
	for {
		path, err := filepath.EvalSymlinks(name)
		if !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(name))
		if err != nil {
			return "", err
		}
		to, err := os.Readlink(name)
		switch {
		case err != nil: // it is no link: there is nothing
			return name, nil
		case filepath.IsAbs(to):
			name = to
		default:
			name = filepath.Join(dir, to)
		}
	}
}
