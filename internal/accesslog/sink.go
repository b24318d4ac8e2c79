package accesslog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open the access log: %w: make the directory first", err)
	case errors.Is(err, syscall.ENXIO):
		return nil, fmt.Errorf("open the access log: %w: no process reads from it", err)
	case err != nil:
		return nil, fmt.Errorf("open the access log: %w", err)
	}
	return &sink{w: f, c: f, name: file}, nil
}

// close closes what is the sink's own. A nil sink has nothing.
func (s *sink) close() error {
	if s == nil || s.c == nil {
		return nil
	}
	return s.c.Close()
}
