//go:build !race

package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"
)

// constant is an upstream that gives one answer for each read that ends a
// request, and allocates nothing.
func constant(t *testing.T) *script {
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1500\r\n\r\n" +
		strings.Repeat("x", 1500))
	return upstreamScript(t, func(nc net.Conn, _ *bufio.Reader) {
		b := make([]byte, 64<<10)
		for got := 0; ; {
			n, err := nc.Read(b[got:])
			if err != nil || n == 0 {
				return
			}
			if got += n; !bytes.HasSuffix(b[:got], []byte("\r\n\r\n")) {
				continue
			}
			got = 0
			if _, err := nc.Write(answer); err != nil {
				return
			}
		}
	})
}

// The race detector has pools forget at random: this file is not for it.
func TestProxy_AllocatesNothingInSteadyState(t *testing.T) {
	body := strings.Repeat("y", 3000-4) + "\r\n\r\n"
	const fields = "Host: a\r\nUser-Agent: test\r\nAccept: */*\r\n"
	for name, ask := range map[string]string{
		"GET":  "GET /x HTTP/1.1\r\n" + fields + "\r\n",
		"POST": fmt.Sprintf("POST /x HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", fields, len(body), body),
		"POST in chunks": fmt.Sprintf("POST /x HTTP/1.1\r\n%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
			fields, len(body), body),
		"retried if lost": "PUT /x HTTP/1.1\r\n" + fields + "Idempotency-Key: 1\r\nContent-Length: 4\r\n\r\n\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			up := constant(t)
			_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}, StatsFactor: 1})
			c := call(t, addr)
			in, ask := make([]byte, 4096), []byte(ask)
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
			if n := testing.AllocsPerRun(1000, once); n > 0.5 {
				t.Errorf("%v allocations a request, want none", n)
			}
		})
	}
}
