package proxy

import (
	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/eventloop/nonblock"
)

// rawSockets says that sockets are read and written by the calls below. Those
// of package nonblock are right because none can block: sockets are O_NONBLOCK,
// and it is the runtime's poller that waits.
const rawSockets = true

// recv reads what a socket has. n is 0 at the end of the stream.
func recv(fd uintptr, p []byte) (n int, e unix.Errno) {
	for {
		if n, e = nonblock.Recv(int(fd), p); e != unix.EINTR {
			return n, e
		}
	}
}

// peek is recv, but leaves the bytes where they are.
func peek(fd uintptr, p []byte) (n int, e unix.Errno) {
	for {
		if n, e = nonblock.Peek(int(fd), p); e != unix.EINTR {
			return n, e
		}
	}
}

// send writes what the socket's buffer takes.
func send(fd uintptr, p []byte) (n int, e unix.Errno) {
	for {
		if n, e = nonblock.Send(int(fd), p); e != unix.EINTR {
			return n, e
		}
	}
}

// openFiles returns how many files the process may have open.
func openFiles() int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur > 1<<40 {
		return 1 << 40
	}
	return int64(limit.Cur)
}
