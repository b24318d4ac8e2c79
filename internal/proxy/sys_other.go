//go:build !linux

package proxy

import (
	"net"
	"syscall"
)

// rawSockets says that sockets are read and written through package net alone.
const rawSockets = false

func recv(uintptr, []byte) (int, syscall.Errno) { return 0, syscall.ENOSYS }
func peek(uintptr, []byte) (int, syscall.Errno) { return 0, syscall.EAGAIN }
func send(uintptr, []byte) (int, syscall.Errno) { return 0, syscall.ENOSYS }

// openFiles returns a number that nobody reaches: the limit is not known.
func openFiles() int64 { return 1 << 40 }

// newDeferredListener returns l: connections are accepted as package net does it.
func newDeferredListener(l net.Listener) (net.Listener, error) { return l, nil }
