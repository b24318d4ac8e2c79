package proxy

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// throughDoor returns both ends of a connection that a door has accepted, and its
// listener. The client has sent one byte, which is not read.
func throughDoor(t *testing.T) (*deferredConn, *net.TCPConn) {
	t.Helper()
	return throughDoorAt(t, "127.0.0.1:0")
}

// throughDoorAt is throughDoor for an address.
func throughDoorAt(t *testing.T, addr string) (*deferredConn, *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if l, err = newDeferredListener(l); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if _, err := client.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	if nc.RemoteAddr().String() != client.LocalAddr().String() {
		t.Errorf("the peer is %v, want %v", nc.RemoteAddr(), client.LocalAddr())
	}
	if nc.LocalAddr() != l.Addr() {
		t.Errorf("we are %v, want %v", nc.LocalAddr(), l.Addr())
	}
	return nc.(*deferredConn), client.(*net.TCPConn)
}

func TestDoor_ConnectionsDoNotWaitForMoreToSend(t *testing.T) {
	c, _ := throughDoor(t)
	if on, err := unix.GetsockoptInt(c.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY); err != nil || on == 0 {
		t.Errorf("TCP_NODELAY is %d, %v", on, err)
	}
}

func TestDoor_KnowsPeersOfIPv6(t *testing.T) {
	throughDoorAt(t, "[::1]:0")
	if c, _ := throughDoorAt(t, "[::]:0"); !c.remote.Addr().Is6() {
		t.Errorf("the peer is %v", c.remote)
	}
}

func TestDoor_CloseEndsAccept(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if l, err = newDeferredListener(l); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := l.Accept()
		ended <- err
	}()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept ends with %v", err)
	}
	if nc, err := net.Dial("tcp", addr); err == nil {
		_ = nc.Close()
		t.Error("somebody listens still")
	}
}

func TestDoor_SeesSilentConnectionsToo(t *testing.T) {
	_, addr := start(t, Options{Upstreams: []string{"http://127.0.0.1:1"}, Header: time.Second, Idle: time.Second})
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetReadDeadline(time.Now().Add(patience))
	if _, err := nc.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a client that says nothing is left alone: %v", err)
	}
}

func TestLazyConn_IsPolledWhenItHasToWait(t *testing.T) {
	c, client := throughDoor(t)
	s := newSocket(c, c)
	b := make([]byte, 8)
	if n, err := s.read(b); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if n, err := s.write([]byte("abc")); n != 3 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if c.inner != nil {
		t.Error("the poller knows of it before it had to wait")
	}
	go func() { _, _ = client.Write([]byte("later")) }()
	if n, err := s.read(b); string(b[:n]) != "later" || err != nil {
		t.Fatalf("%q, %v", b[:n], err)
	}
	if s.look() != peekNothing {
		t.Error("there is something")
	}
	if err := s.closeWrite(); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(client); string(got) != "abc" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLazyConn_WritesWhatTheBufferDoesNotTake(t *testing.T) {
	c, client := throughDoor(t)
	s := newSocket(c, c)
	const size = 32 << 20
	go func() {
		_, _ = s.write(make([]byte, size))
		_ = s.closeWrite()
	}()
	_ = client.SetReadDeadline(time.Now().Add(patience))
	if n, err := io.Copy(io.Discard, client); n != size || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestLazyConn_DeadlinesHoldBeforeItIsPolledAndAfter(t *testing.T) {
	c, client := throughDoor(t)
	s := newSocket(c, c)
	b := make([]byte, 8)
	s.interruptRead()
	if _, err := s.read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("not interrupted: %v", err)
	}
	s.resumeRead()
	if n, err := s.read(b); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.read(b); !errors.Is(err, os.ErrDeadlineExceeded) { // waits, and is polled for that
		t.Errorf("%v", err)
	}
	s.resumeRead()
	if _, err := client.Write([]byte("y")); err != nil {
		t.Fatal(err)
	}
	if n, err := s.read(b); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	s.interrupt()
	if _, err := s.write(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("not interrupted: %v", err)
	}
}

func TestLazyConn_ClosedByAnotherIsNotUsed(t *testing.T) {
	for name, polled := range map[string]bool{"not polled": false, "polled": true} {
		t.Run(name, func(t *testing.T) {
			c, client := throughDoor(t)
			s := newSocket(c, c)
			if polled {
				go func() { _, _ = client.Write([]byte("y")) }()
				b := make([]byte, 1)
				for c.inner == nil {
					if _, err := s.read(b); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if _, err := s.read(make([]byte, 1)); err == nil || errors.Is(err, syscall.EBADF) {
				t.Errorf("read: %v", err)
			}
			if _, err := s.write([]byte("x")); err == nil || errors.Is(err, syscall.EBADF) {
				t.Errorf("write: %v", err)
			}
			if s.look() != peekEnd || c.SetDeadline(past) == nil || c.Close() == nil || c.CloseWrite() == nil {
				t.Error("it is there still")
			}
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Read: %v", err)
			}
		})
	}
}

func TestLazyConn_SettlesForTunnels(t *testing.T) {
	c, client := throughDoor(t)
	s := newSocket(c, c)
	s.settle()
	if _, ok := s.conn.(*net.TCPConn); !ok {
		t.Fatalf("it is %T", s.conn)
	}
	if _, err := s.write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 5)
	if _, err := io.ReadFull(client, b); string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
	if n, err := c.Read(b); n != 1 || err != nil { // both names are one connection
		t.Errorf("%d, %v", n, err)
	}
	if _, err := c.Write(b); err != nil {
		t.Error(err)
	}
	s.interrupt()
	if _, err := s.read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("not interrupted: %v", err)
	}
}

func TestLazyConn_ResetTellsThePeer(t *testing.T) {
	c, client := throughDoor(t)
	newSocket(c, c).reset()
	_ = client.SetReadDeadline(time.Now().Add(patience))
	_, err := client.Read(make([]byte, 1))
	if err == nil || !strings.Contains(err.Error(), "reset") {
		t.Errorf("the peer sees %v", err)
	}
}
