package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// An answer whose length is said twice alike, or that has a trailer field which no trailer
// may be, is good without: so has Go's net/http it.
func TestLenient_AnswersWithOneThingTooMuch(t *testing.T) {
	up := upstreamScript(t, func(nc net.Conn, br *bufio.Reader) {
		for {
			req, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			answer := "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc"
			if req.URL.Path == "/trailer" {
				answer = "HTTP/1.2 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n" +
					"0\r\nX-Sum: 6\r\nContent-Length: 9\r\nSet-Cookie: a\r\nHost: evil\r\n\r\n"
			}
			if _, err := io.WriteString(nc, answer); err != nil {
				return
			}
		}
	})
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	c := call(t, addr)
	for range 2 {
		c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
		resp, body := c.answer("GET")
		if n := resp.Header["Content-Length"]; resp.StatusCode != 200 || body != "abc" || len(n) != 1 {
			t.Errorf("%d %q, lengths %q", resp.StatusCode, body, n)
		}
		c.send("GET /trailer HTTP/1.1\r\nHost: up\r\nTE: trailers\r\nConnection: TE\r\n\r\n")
		resp, body = c.answer("GET")
		if resp.StatusCode != 200 || body != "abc" || len(resp.Trailer) != 2 ||
			resp.Trailer.Get("X-Sum") != "6" || resp.Trailer.Get("Set-Cookie") != "a" {
			t.Errorf("%d %q, %v", resp.StatusCode, body, resp.Trailer)
		}
	}
}

// One empty line before a request is passed over, and a later version of HTTP/1 is read as
// HTTP/1.1 is.
func TestLenient_RequestsOfOldAndNewClients(t *testing.T) {
	up := echo(t)
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	pieces := []string{"\r\n", "GET /1 HTTP/1.1\r\nHost: up\r\n\r\n", "\r\n",
		"GET /2 HTTP/1.2\r\nHost: up\r\n\r\n", "\r\n",
		"POST /3 HTTP/1.9\r\nHost: up\r\nContent-Length: 2\r\n\r\nab", "\r\n",
		"GET /4 HTTP/1.1\r\nHost: up\r\n\r\n"}
	want := []string{"GET /1 ", "GET /2 ", "POST /3 ab", "GET /4 "}
	all := strings.Join(pieces, "")
	for _, size := range []int{1, 2, 3, 40, len(all)} {
		c := call(t, addr)
		for at := 0; at < len(all); at += size { // the proxy may see the cuts, or not
			c.send(all[at:min(at+size, len(all))])
		}
		for i, w := range want {
			method, _, _ := strings.Cut(w, " ")
			if resp, body := c.answer(method); resp.StatusCode != 200 || body != w {
				t.Fatalf("in pieces of %d, answer %d: %d %q", size, i, resp.StatusCode, body)
			}
		}
	}
	for _, bad := range []string{"\r\n\r\nGET / HTTP/1.1\r\nHost: up\r\n\r\n",
		"GET / HTTP/2.0\r\nHost: up\r\n\r\n", "\nGET / HTTP/1.1\r\nHost: up\r\n\r\n"} {
		c := call(t, addr)
		c.send(bad)
		if resp, _ := c.answer("GET"); resp.StatusCode != 400 {
			t.Errorf("%q: %d", bad, resp.StatusCode)
		}
	}
}

// A trailer of an upstream of HTTP/2 is judged as any other.
func TestHTTP2_DropsForbiddenTrailers(t *testing.T) {
	addr := upstreamFrames(t, func(f *framed, id uint32, _ string) {
		f.head(id, false, ":status", "200")
		_ = f.WriteData(id, false, []byte("abc"))
		f.head(id, true, "x-sum", "6", "host", "evil", "content-length", "9")
	}, noPlain(t))
	c := call(t, addr)
	c.send("GET / HTTP/1.1\r\nHost: up\r\nTE: trailers\r\nConnection: TE\r\n\r\n")
	resp, body := c.answer("GET")
	if body != "abc" || len(resp.Trailer) != 1 || resp.Trailer.Get("X-Sum") != "6" {
		t.Errorf("%q, %v", body, resp.Trailer)
	}
}
