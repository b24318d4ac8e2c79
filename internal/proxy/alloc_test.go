//go:build !race

package proxy

import (
	"bufio"
	"bytes"
	"net"
	"strings"
	"testing"
)

// The race detector has pools forget at random: this file is not for it.
func TestProxy_AllocatesNothingInSteadyState(t *testing.T) {
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1500\r\n\r\n" +
		strings.Repeat("x", 1500))
	up := upstreamScript(t, func(nc net.Conn, _ *bufio.Reader) {
		b := make([]byte, 4096)
		for {
			n, err := nc.Read(b)
			if err != nil || n == 0 {
				return
			}
			if _, err := nc.Write(answer); err != nil {
				return
			}
		}
	})
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}, StatsFactor: 1})
	c := call(t, addr)
	in := make([]byte, 4096)
	ask := []byte("GET /x HTTP/1.1\r\nHost: a\r\nUser-Agent: test\r\nAccept: */*\r\n\r\n")
	once := func() {
		if _, err := c.nc.Write(ask); err != nil {
			t.Fatal(err)
		}
		for got := []byte(nil); !bytes.HasSuffix(got, []byte("xxxx")); {
			n, err := c.nc.Read(in)
			if err != nil {
				t.Fatal(err)
			}
			got = in[:n]
		}
	}
	for range 100 {
		once()
	}
	if n := testing.AllocsPerRun(2000, once); n > 0.5 {
		t.Errorf("%v allocations a request, want none", n)
	}
}
