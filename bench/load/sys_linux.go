package load

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// timerEvent stands for the timer where epoll's data names a connection.
const timerEvent = -1

// resolve finds the address of a TCP server.
func resolve(address string) (unix.Sockaddr, int, error) {
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, 0, err
	}
	if v4 := a.IP.To4(); v4 != nil {
		return &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(v4)}, unix.AF_INET, nil
	}
	if len(a.IP) != net.IPv6len {
		return nil, 0, fmt.Errorf("address %s: no IP address", address)
	}
	return &unix.SockaddrInet6{Port: a.Port, Addr: [16]byte(a.IP)}, unix.AF_INET6, nil
}

// connect begins a TCP connection and registers it with ep as number k. An
// event for it follows, however it ends.
func connect(ep int, k int32, addr unix.Sockaddr, family int) (fd int, err error) {
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	// A socket that refuses is slower, not wrong.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if err := unix.Connect(fd, addr); err != nil && err != unix.EINPROGRESS {
		_ = unix.Close(fd)
		return -1, os.NewSyscallError("connect", err)
	}
	const events = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET
	ev := unix.EpollEvent{Events: events & 0xffffffff, Fd: k}
	if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		_ = unix.Close(fd)
		return -1, os.NewSyscallError("epoll_ctl", err)
	}
	return fd, nil
}

// openTimer makes the timer of an open loop: epoll_wait counts in milliseconds,
// which is a hundred requests.
func (l *loop) openTimer() error {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("timerfd_create", err)
	}
	l.timer = fd
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: timerEvent}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, fd, &ev))
}

// arm sets the timer to when the next request is due.
func (l *loop) arm(now int64) {
	due := l.pace.due()
	if due == l.armed || due >= l.run.closes || l.free.n == 0 {
		return
	}
	l.armed = due
	value := unix.NsecToTimespec(max(due-now, 1))
	// A timer that fails leaves the sweep to send late, which the latencies show.
	_ = unix.TimerfdSettime(l.timer, 0, &unix.ItimerSpec{Value: value}, nil)
}

// drainTimer makes the timer able to fire again.
func (l *loop) drainTimer() {
	var count [8]byte
	_, _ = unix.Read(l.timer, count[:])
}
