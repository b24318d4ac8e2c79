package lane

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls of a loop's turn go to the kernel without telling the scheduler:
// that costs a fifth of a hit. It is right only because none of them can
// block, sockets being O_NONBLOCK and epoll asked for what is there already.
// And it obliges the loop: such calls and code that the compiler has inlined
// are no place where a goroutine can be stopped, so every turn makes at least
// one call of a function with a prologue (see TestLoop_CanBeStopped).

// recv reads from a socket. n is 0 at the end of the stream.
func recv(fd int, p []byte) (n int, e unix.Errno) {
	r, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(r), 0
}

// send writes to a socket what its buffer takes.
func send(fd int, p []byte) (n int, e unix.Errno) {
	r, _, e := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_NOSIGNAL, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(r), 0
}

// accept returns the next connection of a listener, ready for a loop.
func accept(fd int) (conn int, e unix.Errno) {
	r, _, e := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), 0, 0,
		unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	return int(r), e
}

// setTCP sets an option of a TCP socket. One that refuses is slower, not wrong.
func setTCP(fd, option int, value int32) {
	_, _, _ = unix.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP,
		uintptr(option), uintptr(unsafe.Pointer(&value)), unsafe.Sizeof(value), 0)
}

// epollNow returns the events that are there already.
func epollNow(ep int, events []unix.EpollEvent) int {
	n, _, e := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if e != 0 { // EINTR; nothing else can happen to a good descriptor
		return 0
	}
	return int(n)
}

// wake adds one to an eventfd.
func wake(fd int) {
	one := uint64(1)
	_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
}
