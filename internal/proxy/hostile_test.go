package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// smuggled are requests that two servers may read differently. Each is followed
// by one that nobody must ever see.
var smuggled = []string{
	"POST / HTTP/1.1\r\nHost: up\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: up\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nabcd",
	"POST / HTTP/1.1\r\nHost: up\r\nContent-Length: +4\r\n\r\nabcd",
	"POST / HTTP/1.1\r\nHost: up\r\nContent-Length: 4, 4\r\n\r\nabcd",
	"POST / HTTP/1.1\r\nHost: up\r\nContent-Length: 21000000000000000000\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: up\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: up\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.0\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"GET / HTTP/1.1\nHost: up\n\n",
	"GET / HTTP/1.1\r\nHost: up\r\nX: a\n\r\n",
	"GET / HTTP/1.1\r\nHost: up\r\nX: a\r\n b\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: up\r\nHost: evil\r\n\r\n",
	"GET / HTTP/1.1\r\n\r\n",
	"GET http://evil/ HTTP/1.1\r\nHost: up\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: up\r\nX: a\x00b\r\n\r\n",
	"GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET / HTTP/1.0\r\nHost: \r\n\r\n",
	"GET /a\xc3\xa4 HTTP/1.1\r\nHost: up\r\n\r\n", "GET /a\\b HTTP/1.1\r\nHost: up\r\n\r\n",
	"GET /a#b HTTP/1.1\r\nHost: up\r\n\r\n", "GET /?a=\xff HTTP/1.1\r\nHost: up\r\n\r\n",
	"GET http://up#x HTTP/1.1\r\nHost: up\r\n\r\n", "GET /\x7f HTTP/1.1\r\nHost: up\r\n\r\n",
}

// badChunks are bodies that two servers may read differently.
var badChunks = []string{
	"0x3\r\nabc\r\n0\r\n\r\n", "3\nabc\r\n0\r\n\r\n", "3 a\r\nabc\r\n0\r\n\r\n", "3 \nabc\r\n0\r\n\r\n",
	"3;a\rb\r\nabc\r\n0\r\n\r\n",
	"12345678901234567\r\n", "3\r\nabcX\r\n0\r\n\r\n", "0\r\nContent-Length: 5\r\n\r\n", "0\r\nHost: evil\r\n\r\n",
}

const forged = "GET /forged HTTP/1.1\r\nHost: up\r\n\r\n"

// witness is an upstream that answers everything and fails the test when the
// forged request arrives.
func witness(t *testing.T) *script {
	return upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		for {
			req, _, err := readRequest(br)
			if err != nil {
				return
			}
			if req.URL.Path == "/forged" {
				t.Error("the forged request has arrived")
			}
			if _, err := io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); err != nil {
				return
			}
		}
	})
}

func TestHostile_RequestsAreRefusedAndTheConnectionClosed(t *testing.T) {
	up := witness(t)
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	list := smuggled
	for _, chunks := range badChunks {
		list = append(list, "POST / HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\n"+chunks)
	}
	for i, bad := range list {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c := call(t, addr)
			// What follows a good request is judged alike.
			c.send("GET /good HTTP/1.1\r\nHost: up\r\n\r\n" + bad + forged)
			if resp, _ := c.answer("GET"); resp.StatusCode != 200 {
				t.Errorf("the good request: %d", resp.StatusCode)
			}
			resp, _ := c.answer("GET")
			if resp.StatusCode != 400 || !resp.Close {
				t.Errorf("%q: %d, closed %v", bad, resp.StatusCode, resp.Close)
			}
			if rest := c.rest(); rest != "" {
				t.Errorf("%q: then %q", bad, rest)
			}
		})
	}
}

func TestHostile_ResponsesAreRefusedAndTheConnectionDropped(t *testing.T) {
	answers := []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1,1\r\n\r\na",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 200 OK\n\n",
		"HTTP/1.1 200 OK\r\nX : y\r\n\r\n", "HTTP/1.1 200 OK\r\n X: y\r\n\r\n", "nonsense", "HTTP/2 200\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
		strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100), "",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 70<<10) + "\r\n\r\n",
	}
	for i, answer := range answers {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
				if _, _, err := readRequest(br); err == nil {
					_, _ = io.WriteString(nc, answer)
				}
			})
			s, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}, NoInterim: true})
			c := call(t, addr)
			c.send("POST / HTTP/1.1\r\nHost: up\r\n\r\n")
			if resp, _ := c.answer("POST"); resp.StatusCode != 502 {
				t.Errorf("%.60q: %d", answer, resp.StatusCode)
			}
			if n := s.Stats().UpstreamConns; n != 0 {
				t.Errorf("%.60q: %d connections are kept", answer, n)
			}
		})
	}
}

// An upstream that says more than its answer must not be believed again.
func TestHostile_ExtraAnswersAreNobodys(t *testing.T) {
	up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		for n := 0; ; n++ {
			if _, _, err := readRequest(br); err != nil {
				return
			}
			answer := "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"
			if _, err := io.WriteString(nc, answer+"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"); err != nil {
				return
			}
		}
	})
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	for range 20 {
		c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
		if _, body := c.answer("GET"); body != "good" {
			t.Fatalf("%q", body)
		}
	}
}

func TestHostile_BodiesWhereThereIsNone(t *testing.T) {
	for _, status := range []string{"204 No Content", "304 Not Modified"} {
		up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
			if _, _, err := readRequest(br); err == nil {
				_, _ = io.WriteString(nc, "HTTP/1.1 "+status+"\r\nContent-Length: 4\r\n\r\nevil")
				_, _ = br.ReadByte()
			}
		})
		_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
		c := call(t, addr)
		c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
		if _, body := c.answer("GET"); body != "" {
			t.Errorf("%s: %q", status, body)
		}
		c.send("GET / HTTP/1.1\r\nHost: up\r\nConnection: close\r\n\r\n")
		if got := c.rest(); strings.Contains(got, "evil") {
			t.Errorf("%s: then %q", status, got)
		}
	}
}
