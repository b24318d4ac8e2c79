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
)

// socketPair returns a socket for an accepted connection, and its client's end.
func socketPair(t *testing.T) (*socket, *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return newSocket(nc, nc), client.(*net.TCPConn)
}

func TestSocket_WritesWhatTheBufferDoesNotTake(t *testing.T) {
	s, client := socketPair(t)
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

func TestSocket_IsInterruptedUntilResumed(t *testing.T) {
	s, client := socketPair(t)
	b := make([]byte, 8)
	s.interruptRead()
	if _, err := s.read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("not interrupted: %v", err)
	}
	s.resumeRead()
	if _, err := client.Write([]byte("y")); err != nil {
		t.Fatal(err)
	}
	if n, err := s.read(b); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if s.look() != peekNothing {
		t.Error("there is something")
	}
	s.interrupt()
	if _, err := s.write(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("not interrupted: %v", err)
	}
}

func TestSocket_ClosedByAnotherIsNotUsed(t *testing.T) {
	s, _ := socketPair(t)
	s.close()
	if _, err := s.read(make([]byte, 1)); err == nil || errors.Is(err, syscall.EBADF) {
		t.Errorf("read: %v", err)
	}
	if _, err := s.write([]byte("x")); err == nil || errors.Is(err, syscall.EBADF) {
		t.Errorf("write: %v", err)
	}
	if rawSockets && s.look() != peekEnd {
		t.Error("it is there still")
	}
}

func TestSocket_ResetTellsThePeer(t *testing.T) {
	s, client := socketPair(t)
	s.reset()
	_ = client.SetReadDeadline(time.Now().Add(patience))
	_, err := client.Read(make([]byte, 1))
	if err == nil || !strings.Contains(err.Error(), "reset") {
		t.Errorf("the peer sees %v", err)
	}
}

func TestSocket_SilentClientsAreSeen(t *testing.T) {
	_, addr := start(t, Options{
		Upstreams: []string{"http://127.0.0.1:1"}, Header: time.Second, Idle: time.Second,
	})
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
