package main

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
)

// A checkedWriter is the standard output of a command. It remembers the first error of a
// write, so that no command has to look. A reader that has gone has seen enough: EPIPE is
// no error.
type checkedWriter struct {
	w io.Writer

	mu  sync.Mutex // guards err
	err error
}

// Write implements io.Writer.
func (c *checkedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err == nil {
			c.err = fmt.Errorf("standard output: %w", err)
		}
	}
	return n, err
}

// lost returns why something could not be written; nil: all was.
func (c *checkedWriter) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
