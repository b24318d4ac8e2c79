//go:build linux && !race

package proxy

import (
	"bytes"
	"net"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// A client that connects for one request costs the objects that are its
// connection, and no more: the client here is made of system calls, which have
// none.
func TestProxy_AllocatesLittleForAShortConnection(t *testing.T) {
	up := constant(t)
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}, StatsFactor: 1})
	_, port, _ := net.SplitHostPort(addr)
	to := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	to.Port, _ = strconv.Atoi(port)
	ask := []byte("GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	in := make([]byte, 64<<10)
	once := func() {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := unix.Connect(fd, to); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.Write(fd, ask); err != nil {
			t.Fatal(err)
		}
		got := 0
		for {
			n, err := unix.Read(fd, in[got:])
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
			got += n
		}
		if !bytes.HasSuffix(in[:got], []byte("xxxx")) {
			t.Fatalf("%q", in[:got])
		}
	}
	for range 100 {
		once()
	}
	// Its connection, socket, client, two method values, and the goroutine's call.
	if n := testing.AllocsPerRun(1000, once); n > 6.5 {
		t.Errorf("%v allocations a connection, want 6", n)
	}
}
