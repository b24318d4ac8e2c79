package proxy

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorded is an upstream that answers with fixed bytes, and tells the bytes of
// each request.
func recorded(t *testing.T, answer string) (*script, chan string) {
	got := make(chan string, 100)
	up := upstreamScript(t, func(nc net.Conn, _ *bufio.Reader) {
		var seen bytes.Buffer
		br := bufio.NewReader(io.TeeReader(nc, &seen))
		for {
			req, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return
			}
			got <- seen.String()
			seen.Reset()
			if _, err := io.WriteString(nc, answer); err != nil {
				return
			}
			if !strings.Contains(answer, "Length") && !strings.Contains(answer, "chunked") {
				return // the end of the connection is the end of the answer
			}
		}
	})
	return up, got
}

// variable matches what differs from run to run: ids, names, dates.
var variable = regexp.MustCompile(`(X-Chocon-Id: )[0-9a-v]{20}|(Via: 1\.1 hotrow-)[0-9a-v]+`)

// steady replaces what differs from run to run.
func steady(s string) string { return variable.ReplaceAllString(s, "$1${2}ID") }

const ours = "X-Chocon-Id: ID\r\nX-Chocon-Ver: hotrow/devel\r\nVia: 1.1 hotrow-ID\r\n\r\n"

func TestRelay_RequestsByteForByte(t *testing.T) {
	tests := map[string]struct{ send, want string }{
		"case, order and duplicates are kept": {
			"GET /a?b=%2f&C HTTP/1.1\r\nx-ONE: 1\r\nHOST: up\r\nAccept:*/*\r\nX-One:  2 \r\nx-one: 3\r\n" +
				"Cookie: a=1\r\nCookie: b=2\r\n\r\n",
			"GET /a?b=%2f&C HTTP/1.1\r\nx-ONE: 1\r\nHOST: up\r\nAccept:*/*\r\nX-One:  2 \r\nx-one: 3\r\n" +
				"Cookie: a=1\r\nCookie: b=2\r\n" + ours,
		},
		"what is for the next hop alone goes": {
			"GET / HTTP/1.1\r\nHost: up\r\nConnection: keep-alive, X-Secret\r\nKeep-Alive: 5\r\nX-Secret: 1\r\n" +
				"Proxy-Connection: x\r\nProxy-Authorization: Basic x\r\nTE: gzip\r\nTrailers: x\r\n" +
				"Upgrade: h2c\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: up\r\n" + ours,
		},
		"h2c is for the next hop, in any case": {
			"GET / HTTP/1.1\r\nHost: up\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: H2C\r\n" +
				"HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: up\r\n" + ours,
		},
		"http/1.0 switches to nothing": {
			"GET / HTTP/1.0\r\nHost: up\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: up\r\n" + ours,
		},
		"other fields of proxies are not": {
			"GET / HTTP/1.1\r\nHost: up\r\nProxy-Status: a\r\nProxy-Features: b\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: up\r\nProxy-Status: a\r\nProxy-Features: b\r\n" + ours,
		},
		"what begins like h2c is not": {
			"GET / HTTP/1.1\r\nHost: up\r\nConnection: Upgrade\r\nUpgrade: h2cx/1\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: up\r\nUpgrade: h2cx/1\r\nConnection: Upgrade\r\n" + ours,
		},
		"trailers are asked for": {
			"GET / HTTP/1.1\r\nHost: up\r\nTE: trailers, deflate;q=0.5\r\nConnection: TE\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: up\r\nTE: trailers\r\nConnection: TE\r\n" + ours,
		},
		"length": {
			"PUT / HTTP/1.1\r\nHost: up\r\ncontent-length: 3\r\nX-Last: 1\r\n\r\nabc",
			"PUT / HTTP/1.1\r\nHost: up\r\ncontent-length: 3\r\nX-Last: 1\r\n" + ours + "abc",
		},
		"chunks and trailers": {
			"PUT / HTTP/1.1\r\nHost: up\r\ntransfer-encoding: Chunked\r\nTrailer: X-Sum\r\n\r\n" +
				"003;ext=1\r\nabc\r\n2 \t; a=\"b\"\r\nde\r\n1 \r\nf\r\n0 ;z\r\nX-Sum: 6\r\n\r\n",
			"PUT / HTTP/1.1\r\nHost: up\r\ntransfer-encoding: chunked\r\nTrailer: X-Sum\r\n" + ours +
				"3\r\nabc\r\n2\r\nde\r\n1\r\nf\r\n0\r\nX-Sum: 6\r\n\r\n",
		},
		"absolute form": {
			"GET http://up?q HTTP/1.1\r\nHost: up\r\n\r\n", "GET /?q HTTP/1.1\r\nHost: up\r\n" + ours,
		},
		"http/1.0": {
			"GET / HTTP/1.0\r\nX: y\r\n\r\n", "GET / HTTP/1.1\r\nX: y\r\nHost: UP\r\n" + ours,
		},
		"an id is kept": {
			"GET / HTTP/1.1\r\nHost: up\r\nx-chocon-id: mine\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: up\r\nx-chocon-id: mine\r\n" +
				strings.TrimPrefix(ours, "X-Chocon-Id: ID\r\n"),
		},
		"nothing is added": {
			"OPTIONS * HTTP/1.1\r\nHost: up\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: up\r\n" + ours,
		},
		"expect passes": {
			"PUT / HTTP/1.1\r\nHost: up\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
			"PUT / HTTP/1.1\r\nHost: up\r\nExpect: 100-continue\r\nContent-Length: 1\r\n" + ours + "x",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			up, got := recorded(t, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
			c := call(t, addr)
			c.send(tt.send)
			c.answer("GET")
			if diff := cmp.Diff(tt.want, strings.ReplaceAll(steady(<-got), "Host: "+up.addr, "Host: UP")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRelay_ResponsesByteForByte(t *testing.T) {
	const id = "X-Chocon-Id: ID\r\n"
	const get = "GET / HTTP/1.1\r\nHost: up\r\nConnection: close\r\n\r\n"
	const closing = id + "Connection: close\r\n\r\n"
	tests := map[string]struct{ send, answer, want string }{
		"case, order and duplicates are kept": {
			get, "HTTP/1.1 200 Fine by me\r\nset-cookie: a\r\nX-b:1\r\nSet-Cookie: b\r\nContent-Length: 3\r\n\r\nabc",
			"HTTP/1.1 200 Fine by me\r\nset-cookie: a\r\nX-b:1\r\nSet-Cookie: b\r\nContent-Length: 3\r\n" +
				closing + "abc",
		},
		"what is for the next hop alone goes": {
			get, "HTTP/1.1 200 OK\r\nConnection: X-Secret, keep-alive\r\nKeep-Alive: timeout=9\r\nX-Secret: 1\r\n" +
				"Proxy-Connection: x\r\nProxy-Authenticate: x\r\nProxy-Status: a\r\nContent-Length: 0\r\n" +
				"x-chocon-id: theirs\r\n\r\n",
			"HTTP/1.1 200 OK\r\nProxy-Status: a\r\nContent-Length: 0\r\n" + closing,
		},
		"chunks and trailers": {
			get, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nTrailer: X\r\n\r\n2 ;a=b\r\nab\r\n0001   \r\nc\r\n" +
				"0\r\nX: 1\r\n\r\n",
			"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nTrailer: X\r\n" + closing + "2\r\nab\r\n1\r\nc\r\n" +
				"0\r\nX: 1\r\n\r\n",
		},
		"an end that nothing announces": {
			get, "HTTP/1.0 200 OK\r\n\r\nabc", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + closing +
				"3\r\nabc\r\n0\r\n\r\n",
		},
		"no content": {
			get, "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 204 No Content\r\n" + closing,
		},
		"not modified": {
			get, "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\nETag: \"x\"\r\n\r\n",
			"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\nETag: \"x\"\r\n" + closing,
		},
		"head": {
			strings.Replace(get, "GET", "HEAD", 1), "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n" + closing,
		},
		"early hints": {
			get, "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
			"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" +
				"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + closing,
		},
		"http/1.0 gets no chunks": {
			"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
			"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
			"HTTP/1.1 200 OK\r\n" + closing + "a",
		},
		"an empty reason": {
			get, "HTTP/1.1 599\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 599 \r\nContent-Length: 0\r\n" + closing,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			up, _ := recorded(t, tt.answer)
			_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
			c := call(t, addr)
			c.send(tt.send)
			if diff := cmp.Diff(tt.want, steady(c.rest())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRelay_KeepsHTTP10WhereItAsks(t *testing.T) {
	up, _ := recorded(t, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na")
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	for range 2 {
		c.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
		if resp, body := c.answer("GET"); body != "a" || resp.Header.Get("Connection") != "keep-alive" {
			t.Errorf("%q %v", body, resp.Header)
		}
	}
	c.send("GET / HTTP/1.0\r\n\r\n")
	if got := c.rest(); !strings.HasSuffix(got, "\r\n\r\na") {
		t.Errorf("%q", got)
	}
}
