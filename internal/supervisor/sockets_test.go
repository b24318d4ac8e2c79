//go:build unix

package supervisor

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

// listener returns a listener, and a descriptor of it that a process might inherit.
func listener(t *testing.T, network, address string) (net.Listener, int) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	f, err := l.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return l, fd
}

func TestSockets_OfServerStarter(t *testing.T) {
	l, fd := listener(t, "tcp", "127.0.0.1:0")
	all, err := Sockets([]string{"PATH=/", fmt.Sprintf("SERVER_STARTER_PORT=%s=%d", l.Addr(), fd)}, 1)
	if err != nil || len(all) != 1 || all[0].Addr().String() != l.Addr().String() {
		t.Fatalf("%v, %v", all, err)
	}
	_ = all[0].Close()
	for _, env := range []string{"SERVER_STARTER_PORT=3000", "SERVER_STARTER_PORT=3000=x",
		"SERVER_STARTER_PORT=1=9999"} {
		if all, err := Sockets([]string{env}, 1); err == nil {
			t.Errorf("%q: %v", env, all)
		}
	}
}

func TestSockets_NoneAreNoError(t *testing.T) {
	for _, env := range [][]string{nil, {""}, {"LISTEN_FDS="}, {"LISTEN_FDS=0"}, {"LISTEN_FDS=x"},
		{"LISTEN_FDS=-1"}, {"SERVER_STARTER_PORT="}, {"LISTEN_FDS=1", "LISTEN_PID=1"}} {
		if all, err := Sockets(env, 2); err != nil || len(all) > 0 {
			t.Errorf("%q: %v, %v", env, all, err)
		}
	}
}

// The socket of a unix path outlives the process: its file must not go with it.
func TestSockets_AUnixSocketKeepsItsFile(t *testing.T) {
	path := t.TempDir() + "/s"
	l, fd := listener(t, "unix", path)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	all, err := Sockets([]string{fmt.Sprintf("SERVER_STARTER_PORT=%s=%d", path, fd)}, 1)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	if err := all[0].Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
