package h2_test

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/hotrow/hotrow/internal/eventloop"
)

// plain runs a test over the forms without TLS, with one loop, which takes what has come in
// order.
func plain(t *testing.T, f func(t *testing.T, s *site)) {
	for form, c := range forms {
		if c.Loops = 1; c.TLS == nil {
			t.Run("form="+form, func(t *testing.T) { f(t, open(t, c)) })
		}
	}
}

// send connects and writes parts. Between them another connection is answered, behind which
// a loop has read the part before.
func (s *site) send(t *testing.T, parts ...string) net.Conn {
	t.Helper()
	nc, other := s.connect(t), s.connect(t)
	defer func() { _ = other.Close() }()
	in := bufio.NewReader(other)
	for i, part := range parts {
		if i > 0 {
			write(t, other, "GET /hit/other HTTP/1.1\r\nHost: localhost\r\n\r\n")
			_, _ = reply(t, in)
		}
		write(t, nc, part)
	}
	return nc
}

func write(t *testing.T, nc net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(nc, text); err != nil {
		t.Fatal(err)
	}
}

// reply reads one answer of HTTP/1.1.
func reply(t *testing.T, in *bufio.Reader) (int, string) {
	t.Helper()
	a, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(body)
}

// TestH2C_ThePrefaceDecides, wherever it is cut.
func TestH2C_ThePrefaceDecides(t *testing.T) {
	plain(t, func(t *testing.T, s *site) {
		for cut := range len(http2.ClientPreface) + 1 {
			nc := s.send(t, http2.ClientPreface[:cut], http2.ClientPreface[cut:])
			p := newPeer(t, nc)
			p.ask(1, "GET", "/hit/a", true)
			p.want(1, "200", "/hit/a")
			_ = nc.Close()
		}
		nc := s.send(t, strings.SplitAfter(http2.ClientPreface, "")...)
		newPeer(t, nc).ping()
	})
}

// TestH2C_LeavesHTTP1Alone: on the same port, whatever a request begins with, also when it
// comes in pieces, and pipelines are answered in order.
func TestH2C_LeavesHTTP1Alone(t *testing.T) {
	const (
		get  = "GET /hit/a HTTP/1.1\r\nHost: localhost\r\n\r\n"
		post = "POST /put HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
		pri  = "PRI /full/b HTTP/1.1\r\nHost: a\r\n\r\n"
	)
	posted := fmt.Sprintf("3 %08x", crc32.ChecksumIEEE([]byte("abc")))
	plain(t, func(t *testing.T, s *site) {
		for name, c := range map[string]struct{ parts, bodies []string }{
			"at once":           {[]string{get + post + get}, []string{"/hit/a", posted, "/hit/a"}},
			"byte by byte":      {strings.SplitAfter(get+post+get, ""), []string{"/hit/a", posted, "/hit/a"}},
			"the first letter":  {[]string{"P", post[1:] + get}, []string{posted, "/hit/a"}},
			"the whole method":  {[]string{pri[:4], pri[4:]}, []string{"/full/b"}},
			"a shorter request": {[]string{"PR", "I /hit HTTP/1.0\r\n\r\n"}, []string{"/hit"}},
			"the method's half": {[]string{"PR", "OPFIND" + pri[3:]}, []string{"/full/b"}},
		} {
			nc := s.send(t, c.parts...)
			in := bufio.NewReader(nc)
			for _, want := range c.bodies {
				if code, body := reply(t, in); code != 200 || body != want {
					t.Errorf("%s: %d %q, want %q", name, code, body, want)
				}
			}
			_ = nc.Close()
		}
		nc := s.send(t, get+http2.ClientPreface) // it counts at the front alone
		in := bufio.NewReader(nc)
		if code, _ := reply(t, in); code != 200 {
			t.Errorf("a request before a preface: %d", code)
		}
		if code, _ := reply(t, in); code != 505 {
			t.Errorf("a preface behind a request: %d", code)
		}
		for _, begin := range []string{http2.ClientPreface[:10] + "1.1\r\nHost: a\r\n\r\n",
			strings.Replace(http2.ClientPreface, "SM", "XY", 1)} {
			nc := s.send(t, begin)
			if code, _ := reply(t, bufio.NewReader(nc)); code < 400 {
				t.Errorf("%q: %d", begin, code)
			}
			_ = nc.Close()
		}
	})
}

// TestH2C_UpgradesAreNotOffered: the request is answered over HTTP/1.1, as if it had not asked.
func TestH2C_UpgradesAreNotOffered(t *testing.T) {
	plain(t, func(t *testing.T, s *site) {
		nc := s.send(t, "GET /full/a HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n"+
			"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
		if code, body := reply(t, bufio.NewReader(nc)); code != 200 || body != "/full/a" {
			t.Errorf("%d %q", code, body)
		}
	})
}

// TestH2C_OffThePrefaceIsAnOtherVersion of HTTP.
func TestH2C_OffThePrefaceIsAnOtherVersion(t *testing.T) {
	for _, goroutines := range []bool{false, true} {
		s := open(t, eventloop.Config{Goroutines: goroutines, Preface: "off"})
		nc := s.send(t, http2.ClientPreface)
		in := bufio.NewReader(nc)
		if code, _ := reply(t, in); code != 505 {
			t.Errorf("goroutines %t: %d, want 505", goroutines, code)
		}
		if b, err := io.ReadAll(in); len(b) > 0 || err != nil {
			t.Errorf("behind it come %q, %v", b, err)
		}
	}
}

// TestH2C_HalfAPrefaceIsCut as half a request is.
func TestH2C_HalfAPrefaceIsCut(t *testing.T) {
	for form, c := range forms {
		if c.TLS != nil {
			continue
		}
		c.Header = 100 * time.Millisecond
		s := open(t, c)
		nc := s.send(t, http2.ClientPreface[:20])
		if b, err := io.ReadAll(nc); len(b) > 0 || err != nil {
			t.Errorf("%s: %q, %v", form, b, err)
		}
		if n := s.server.Stats().TimedOut; n != 1 {
			t.Errorf("%s: %d connections had their time", form, n)
		}
	}
}

// TestH2C_OverUnixSockets, where meshes have their sidecars.
func TestH2C_OverUnixSockets(t *testing.T) {
	for form, c := range forms {
		if c.TLS != nil {
			continue
		}
		path := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		s := serve(t, l, c)
		nc, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_ = nc.SetDeadline(time.Now().Add(timeLimit))
		write(t, nc, http2.ClientPreface)
		p := newPeer(t, nc)
		p.ask(1, "GET", "/hit/a", true)
		p.want(1, "200", "/hit/a")
		p.ask(3, "POST", "/put", false)
		body := strings.Repeat("hotrow", 2000)
		p.must(p.WriteData(3, true, []byte(body)))
		p.want(3, "200", fmt.Sprintf("%d %08x", len(body), crc32.ChecksumIEEE([]byte(body))))
		eventually(t, form+": one hand-over is counted", func() bool { // it ends behind its answer
			n := s.server.Stats()
			return n.HandedOver == 1 && n.Returned == 1
		})
	}
}
