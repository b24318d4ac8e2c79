package eventloop

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// The loops accept connections by system calls, so that package net sets nothing.
func TestKeepAlive_IsInherited(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	keepAlive(l)
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if err := unix.SetNonblock(int(file.Fd()), false); err != nil {
		t.Fatal(err)
	}
	fd, _, err := unix.Accept4(int(file.Fd()), unix.SOCK_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	for _, o := range []struct{ level, option, want int }{
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, keepAliveIdle},
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, keepAliveInterval},
		{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepAliveCount},
	} {
		if got, err := unix.GetsockoptInt(fd, o.level, o.option); err != nil || got != o.want {
			t.Errorf("option %d of an accepted connection: %d, %v, want %d", o.option, got, err, o.want)
		}
	}
}
