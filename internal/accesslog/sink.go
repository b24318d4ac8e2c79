package accesslog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A sink is where lines go.
type sink struct {
	w    io.Writer
	c    io.Closer // nil: it is not ours to close
	name string
}

// openSink opens a file to append to, or takes standard output when it has no name.
func openSink(file string, c Config) (*sink, error) {
	if file == "" {
		return &sink{w: c.Stdout, name: "standard output"}, nil
	}
	// Without blocking: a named pipe that nobody reads is an error, not a wait.
	const flags = os.O_APPEND | os.O_CREATE | os.O_WRONLY | syscall.O_NONBLOCK
	mode := fs.FileMode(0o640)
	if c.Public {
		mode = 0o644
	}
	f, err := os.OpenFile(file, flags, mode)
	if err != nil {
		return nil, openError(err)
	}
	return &sink{w: f, c: f, name: file}, nil
}

// openError says why a file cannot be opened.
func openError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("open the access log: %w: make the directory first", err)
	case errors.Is(err, syscall.ENXIO):
		return fmt.Errorf("open the access log: %w: no process reads from it", err)
	}
	return fmt.Errorf("open the access log: %w", err)
}

// Check returns why Open could not open the file of s, and makes none. It does not open what
// others may read from, such as a named pipe.
func Check(s Settings) error {
	if s.Mode == Off || s.File == "" {
		return nil
	}
	info, err := os.Stat(s.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err = os.Stat(filepath.Dir(s.File)); err == nil {
			return nil
		}
	case err == nil && (info.Mode().IsRegular() || info.IsDir()):
		var f *os.File
		if f, err = os.OpenFile(s.File, os.O_APPEND|os.O_WRONLY, 0); err == nil {
			err = f.Close()
		}
	}
	if err != nil {
		return openError(err)
	}
	return nil
}

// close closes what is the sink's own. A nil sink has nothing.
func (s *sink) close() error {
	if s == nil || s.c == nil {
		return nil
	}
	return s.c.Close()
}
