package nonblock

import (
	"io"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCalls_DoNotBlock(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ep)
	in := &unix.EpollEvent{Events: unix.EPOLLIN, Fd: 7}
	if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, pair[0], in); err != nil {
		t.Fatal(err)
	}
	events, buf := make([]unix.EpollEvent, 4), make([]byte, 8)
	if n := EpollNow(ep, events); n != 0 {
		t.Errorf("%d events of a silent socket", n)
	}
	if n, e := Recv(pair[0], buf); n != 0 || e != unix.EAGAIN {
		t.Errorf("recv of nothing: %d, %v", n, e)
	}
	if n, e := Send(pair[1], []byte("abc")); n != 3 || e != 0 {
		t.Errorf("send: %d, %v", n, e)
	}
	if n := EpollNow(ep, events); n != 1 || events[0].Fd != 7 {
		t.Errorf("%d events, the first %+v", n, events[0])
	}
	if n, e := Recv(pair[0], buf); e != 0 || string(buf[:n]) != "abc" {
		t.Errorf("recv: %q, %v", buf[:n], e)
	}
	if err := unix.Close(pair[1]); err != nil {
		t.Fatal(err)
	}
	if n, e := Recv(pair[0], buf); n != 0 || e != 0 {
		t.Errorf("recv at the end: %d, %v", n, e)
	}
	if _, e := Send(pair[0], []byte("abc")); e != unix.EPIPE {
		t.Errorf("send to nobody: %v, want EPIPE and no signal", e)
	}
}

func TestDiscard_DropsWhatHasCome(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	peer, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	raw, err := nc.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	discard := func(size int) (n int, e unix.Errno) {
		if err := raw.Read(func(fd uintptr) bool {
			n, e = Discard(int(fd), size)
			return e != unix.EAGAIN
		}); err != nil {
			t.Fatal(err)
		}
		return n, e
	}
	if _, err := io.WriteString(peer, "abcdef"); err != nil {
		t.Fatal(err)
	}
	if n, e := discard(4); n != 4 || e != 0 {
		t.Errorf("discard of 4 bytes: %d, %v", n, e)
	}
	var rest [2]byte
	if _, err := io.ReadFull(nc, rest[:]); err != nil || string(rest[:]) != "ef" {
		t.Errorf("behind them comes %q, %v", rest, err)
	}
	_ = peer.Close()
	if n, e := discard(4); n != 0 || e != 0 {
		t.Errorf("discard at the end: %d, %v", n, e)
	}
}
