//go:build !linux

package harness

import (
	"errors"
	"syscall"
)

// errLinux is why nothing here does anything: the bench ends before.
var errLinux = errors.New("the bench needs Linux")

// ChildAttributes makes a process end with this one: not here.
func ChildAttributes() *syscall.SysProcAttr { return nil }

// AsUser makes a process that of another user: not here.
func AsUser(*syscall.SysProcAttr, uint32, uint32) {}

func maxConnections() int { return 0 }

// RaiseFiles raises the limit of open files: not here.
func RaiseFiles() {}

func endGroup(int, bool) error { return errLinux }
