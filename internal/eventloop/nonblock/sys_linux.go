package nonblock

import (
	"encoding/binary"
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Recv reads from a socket. n is 0 at the end of the stream.
func Recv(fd int, p []byte) (n int, e unix.Errno) { return recv(fd, p, 0) }

// Peek is Recv, but leaves the bytes where they are.
func Peek(fd int, p []byte) (n int, e unix.Errno) { return recv(fd, p, unix.MSG_PEEK) }

func recv(fd int, p []byte, flags uintptr) (n int, e unix.Errno) {
	r, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), flags, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(r), 0
}

// Discard is Recv of up to size bytes that nobody wants: a socket of TCP drops them
// and needs no buffer.
func Discard(fd, size int) (n int, e unix.Errno) {
	r, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), 0, uintptr(size),
		unix.MSG_TRUNC, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(r), 0
}

// Send writes to a socket what its buffer takes.
func Send(fd int, p []byte) (n int, e unix.Errno) {
	r, _, e := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_NOSIGNAL, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(r), 0
}

// Accept returns the next connection of a listener, non-blocking itself.
func Accept(fd int) (conn int, e unix.Errno) {
	r, _, e := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), 0, 0,
		unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	return int(r), e
}

// AcceptFrom is Accept, and says who the peer is: the zero AddrPort if it is not
// one of TCP.
func AcceptFrom(fd int) (conn int, from netip.AddrPort, e unix.Errno) {
	var at unix.RawSockaddrInet6 // the larger one
	size := uint32(unsafe.Sizeof(at))
	r, _, e := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), uintptr(unsafe.Pointer(&at)),
		uintptr(unsafe.Pointer(&size)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	if e != 0 {
		return 0, from, e
	}
	var addr netip.Addr
	switch at.Family {
	case unix.AF_INET:
		addr = netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(&at)).Addr)
	case unix.AF_INET6:
		addr = netip.AddrFrom16(at.Addr).Unmap()
	default:
		return int(r), from, 0
	}
	var port [2]byte
	binary.NativeEndian.PutUint16(port[:], at.Port)
	return int(r), netip.AddrPortFrom(addr, binary.BigEndian.Uint16(port[:])), 0
}

// Close closes a socket that does not linger.
func Close(fd int) {
	_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
}

// SetTCP sets an option of a TCP socket. One that refuses is slower, not wrong.
func SetTCP(fd, option int, value int32) {
	_, _, _ = unix.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP,
		uintptr(option), uintptr(unsafe.Pointer(&value)), unsafe.Sizeof(value), 0)
}

// EpollNow returns how many events are there already. They are in events.
func EpollNow(ep int, events []unix.EpollEvent) int { return EpollSleep(ep, events, 0) }

// EpollSleep is EpollNow, but waits for events: most long at most, in milliseconds. It is the
// one call here that may block: with the processor that Go's scheduler believes to be
// busy, so that others need one to spare (GOMAXPROCS). Who stops the world
// meanwhile sends a signal, which ends it.
func EpollSleep(ep int, events []unix.EpollEvent, most time.Duration) int {
	n, _, e := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)),
		uintptr(most.Milliseconds()), 0, 0)
	if e != 0 { // EINTR; nothing else can happen to a good descriptor
		return 0
	}
	return int(n)
}

// Wake adds one to an eventfd.
func Wake(fd int) {
	one := uint64(1)
	_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
}
