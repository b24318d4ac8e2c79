package proxy

import (
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sendWithEnd sends text and the end of the stream in one segment.
func sendWithEnd(t *testing.T, nc net.Conn, text string) {
	t.Helper()
	raw, err := nc.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var sendErr error
	err = raw.Write(func(fd uintptr) bool {
		_, sendErr = unix.SendmsgN(int(fd), []byte(text), nil, nil, unix.MSG_MORE)
		return sendErr != unix.EAGAIN
	})
	if err != nil || sendErr != nil {
		t.Fatal(err, sendErr)
	}
	if err := nc.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
}

// A client that wants no more says so with its last request, and is not kept until
// it has been idle for too long.
func TestClient_EndsTogetherWithARequest(t *testing.T) {
	up := echo(t)
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}, Idle: time.Hour})
	const get = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n"
	for before := range 5 {
		c := call(t, addr)
		for range before {
			c.send(get)
			c.answer("GET")
		}
		sendWithEnd(t, c.nc, get)
		if resp, _ := c.answer("GET"); resp.StatusCode != 200 {
			t.Errorf("after %d: status %d", before, resp.StatusCode)
		}
		if rest := c.rest(); rest != "" {
			t.Errorf("after %d: %q", before, rest)
		}
	}
}

// Requests that come while another is answered, or behind it in one piece, are
// answered in their order, whatever their bodies.
func TestClient_RequestsBehindOneThatIsWhole(t *testing.T) {
	up := echo(t)
	_, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	const get, post = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
	c := call(t, addr)
	for range 3 { // in the poller's hands from then on
		c.send(get)
		c.answer("GET")
	}
	for _, pieces := range [][]string{
		{get + get}, {get, get}, {get + post, get}, {post + get}, {post, get}, {get + get[:9], get[9:]},
		{get[:20], get[20:]}, {get, post[:len(post)-1], "c" + get},
	} {
		for _, p := range pieces {
			c.send(p)
		}
		for method := range strings.Lines(strings.Join(pieces, "")) {
			if verb, _, ok := strings.Cut(method, " /x"); ok {
				verb = strings.TrimPrefix(verb, "abc")
				if resp, _ := c.answer(verb); resp.StatusCode != 200 {
					t.Errorf("%q: status %d", pieces, resp.StatusCode)
				}
			}
		}
	}
}
