package httpfront

import (
	"bytes"
	"net"
	"testing"

	"github.com/hotrow/hotrow/internal/httpserve"
)

// sentHeaders are what balancers, meshes, tracers, SDKs and browsers send.
var sentHeaders = []string{
	"X-Amzn-Trace-Id: Root=1-67891233-abcdef012345678912345678",
	"X-Request-Id: 5f2b1c9e-7a31-4f7e-9e0d-1a2b3c4d5e6f",
	"X-B3-TraceId: 463ac35c9f6413ad48485a3953bb6124", "X-Envoy-Expected-Rq-Timeout-Ms: 15000",
	"X-Envoy-Attempt-Count: 1", "Via: 1.1 vegur", "CF-Ray: 230b030023ae2822-SJC",
	"CF-Connecting-IP: 203.0.113.7", "CDN-Loop: cloudflare", "True-Client-IP: 203.0.113.7",
	"Forwarded: for=192.0.2.60;proto=http;by=203.0.113.43", "X-Forwarded-For: 203.0.113.7, 10.0.0.1",
	"X-Forwarded-Proto: https", "X-Real-IP: 203.0.113.7", "baggage: userId=alice,serverNode=DF28",
	"sentry-trace: 12345678901234567890123456789012-1234567890123456-1",
	"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	"tracestate: rojo=00f067aa0ba902b7", "x-datadog-trace-id: 3541234567890123456",
	"x-datadog-sampling-priority: 1", "X-Cloud-Trace-Context: 105445aa7843bc8bf206b120/1;o=1",
	"uber-trace-id: 5f2b1c9e7a314f7e:9e0d1a2b3c4d5e6f:0:1", "X-Azure-Ref: 0abcdef",
	"X-Requested-With: XMLHttpRequest", "Origin: https://shop.example",
	"Referer: https://shop.example/a", "Sec-Fetch-Mode: cors",
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)",
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
	"Accept-Language: de-DE,de;q=0.9,en;q=0.8", "Accept-Encoding: gzip, deflate, br, zstd",
	"apikey: eyJhbGciOiJIUzI1NiJ9", "X-Client-Info: supabase-js/2.39.0", "Max-Forwards: 10",
	"From: bot@example.com", "grpc-timeout: 1S", "Alt-Used: example.com:443",
	"If-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT", "Range: bytes=0-99", "Prefer: count=exact",
	"Content-Type: application/json", "Pragma: no-cache", "Cookie: a=b; c=d",
	"Cache-Control: max-age=3600", "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9", "Priority: u=1, i",
}

// BenchmarkSite_Headers is a hit over sixteen connections to an event loop, plainly and
// with each of sentHeaders: none may take it off the loop, which costs five times as much.
func BenchmarkSite_Headers(b *testing.B) {
	set, _ := openSet(b)
	h := New(Options{Resources: set})
	_, _ = listStepper(b, h) // memory has them
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s, err := Serve(l, h, httpserve.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var conns [16]net.Conn
	for i := range conns {
		if conns[i], err = net.Dial("tcp", l.Addr().String()); err != nil {
			b.Fatal(err)
		}
		defer conns[i].Close()
	}
	buf := make([]byte, 64<<10)
	ask := func(in []byte) {
		for _, c := range conns {
			if _, err := c.Write(in); err != nil {
				b.Fatal(err)
			}
		}
		for _, c := range conns { // an answer comes in one segment
			if n, err := c.Read(buf); err != nil || !bytes.HasPrefix(buf[:n], []byte("HTTP/1.1 200")) {
				b.Fatalf("%q, %v", buf[:n], err)
			}
		}
	}
	for _, header := range append([]string{""}, sentHeaders...) {
		name, _, _ := bytes.Cut([]byte(header), []byte(":"))
		if header == "" {
			name = []byte("plain")
		} else {
			header += "\r\n"
		}
		in := []byte("GET /depts/10 HTTP/1.1\r\nHost: localhost\r\n" + header + "\r\n")
		b.Run(string(name), func(b *testing.B) {
			before := s.Stats().HandedOver
			for i := 0; i < b.N; i += len(conns) {
				ask(in)
			}
			if n := s.Stats().HandedOver - before; n > 0 {
				b.Errorf("%d hits have left the loop", n)
			}
		})
	}
}
