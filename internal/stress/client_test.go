package stress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A client is one connection to a stand, kept open.
type client struct {
	addr string
	conn net.Conn
	in   *bufio.Reader
	out  []byte
}

// An answer is what one request got.
type answer struct {
	code   int
	header http.Header
	body   []byte
	format int  // of the representation that it was made from
	wire   bool // it came by the wire
}

// connect opens a connection that ends with the test.
func (s *stand) connect() *client {
	s.T.Helper()
	c, err := newClient(s.Addr)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { _ = c.conn.Close() })
	return c
}

func newClient(addr string) (*client, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{addr: addr, conn: conn, in: bufio.NewReaderSize(conn, 2048)}, nil
}

// get asks for a path. headers are "Name: value".
func (c *client) get(path string, headers ...string) (*answer, error) {
	return c.do("GET", path, "", headers...)
}

// do sends one request and reads its answer.
func (c *client) do(method, path, body string, headers ...string) (*answer, error) {
	if err := c.send(method, path, body, headers...); err != nil {
		return nil, err
	}
	return c.receive()
}

func (c *client) send(method, path, body string, headers ...string) error {
	b := fmt.Appendf(c.out[:0], "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, c.addr)
	for _, h := range headers {
		b = append(append(b, h...), "\r\n"...)
	}
	if body != "" {
		b = fmt.Appendf(b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	c.out = append(append(b, "\r\n"...), body...)
	if err := c.conn.SetDeadline(time.Now().Add(2 * testbed.Patience)); err != nil {
		return err
	}
	_, err := c.conn.Write(c.out)
	return err
}

func (c *client) receive() (*answer, error) {
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	return &answer{code: res.StatusCode, header: res.Header, body: body}, nil
}

// status returns the Cache-Status without the name of the cache.
func (a *answer) status() string {
	return strings.TrimPrefix(a.header.Get("Cache-Status"), "hotrow; ")
}

const (
	hit     = "hit; detail=mem"
	diskHit = "hit; detail=disk" // promises the same
)

// position returns what Hotrow-Position says: the position and the lag.
func (a *answer) position() (resource.Token, time.Duration) {
	text := a.header.Get("Hotrow-Position")
	if text == "" {
		return resource.Token{}, 0
	}
	token, err := resource.ParseToken(text)
	_, lag, ok := strings.Cut(text, "; lag=")
	seconds, errLag := strconv.ParseFloat(lag, 64)
	if err != nil || !ok || errLag != nil {
		return resource.Token{}, 0
	}
	return token, time.Duration(seconds * float64(time.Second))
}

// mustGet asks for a path and fails the test unless the status is code.
func (c *client) mustGet(t testing.TB, code int, path string, headers ...string) *answer {
	t.Helper()
	a, err := c.get(path, headers...)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	if a.code != code {
		t.Fatalf("GET %s: status %d, want %d: %s", path, a.code, code, a.body)
	}
	return a
}

// mustHit asks for a path until memory answers, and returns that answer.
func (c *client) mustHit(t testing.TB, path string) *answer {
	t.Helper()
	var a *answer
	waittest.Until(t, "a hit of "+path, func() bool {
		var err error
		if a, err = c.get(path); err != nil {
			t.Fatalf("GET %s: %v", path, err)
		}
		return a.status() == hit
	})
	return a
}
