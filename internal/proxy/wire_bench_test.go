package proxy

import (
	"bufio"
	"bytes"
	"net"
	"strings"
	"testing"
)

// BenchmarkWire is a small exchange on the whole way: client, near end, wire, far
// end, upstream, and back. What it allocates is that of all of these.
func BenchmarkWire(b *testing.B) {
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1500\r\n\r\n" +
		strings.Repeat("x", 1500))
	up := upstreamScript(b, func(nc net.Conn, _ *bufio.Reader) {
		in := make([]byte, 4096)
		for {
			if n, err := nc.Read(in); err != nil || n == 0 {
				return
			}
			if _, err := nc.Write(answer); err != nil {
				return
			}
		}
	})
	_, _, addr := overWire(b, Options{Upstreams: []string{"http://" + up.addr}})
	ask := []byte("GET /x HTTP/1.1\r\nHost: a\r\nUser-Agent: test\r\nAccept: */*\r\n\r\n")
	b.ReportAllocs()
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			b.Error(err)
			return
		}
		defer func() { _ = nc.Close() }()
		in := make([]byte, 4096)
		for pb.Next() {
			if _, err := nc.Write(ask); err != nil {
				b.Error(err)
				return
			}
			for got := []byte(nil); !bytes.HasSuffix(got, []byte("xxxx")); {
				n, err := nc.Read(in)
				if err != nil {
					b.Error(err)
					return
				}
				got = in[:n]
			}
		}
	})
}
