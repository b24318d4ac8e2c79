//go:build unix

package main

import (
	"os"
	"syscall"
	"testing"
)

// sighup sends the process the signal at which it reads its configuration again.
func sighup(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}
