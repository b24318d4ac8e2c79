package eventloop

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/tlstest"
)

// A cork is a connection that keeps what is written while it is closed. One that is
// closing is closed behind the first segment.
type cork struct {
	net.Conn
	closing, closed bool
	kept            []byte
}

func (c *cork) Write(p []byte) (int, error) {
	defer func() { c.closed = c.closed || c.closing }()
	if c.closed {
		c.kept = append(c.kept, p...)
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// pop opens the cork: what was kept is one segment.
func (c *cork) pop() error {
	c.closed, c.closing = false, false
	_, err := c.Conn.Write(c.kept)
	c.kept = nil
	return err
}

// What crypto/tls has taken with the last message of a handshake is in front of what
// the first read of the loop brings, and neither waits for a third.
func TestSecure_PullsWhatTheHandshakeHasTaken(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, room := range []int{readSize, 30, 7} {
			t.Run(tls.VersionName(version), func(t *testing.T) {
				l, c, client := shakenWith(t, version, "first,")
				if _, err := io.WriteString(client, "second"); err != nil {
					t.Fatal(err)
				}
				got := ""
				for c.ready = true; c.ready; {
					buf, e := c.secure.pull(l, c, make([]byte, 0, room))
					if e != 0 {
						t.Fatal(e)
					}
					got += string(buf)
					// The loop's buffer is another connection's now.
					for i := range l.sealedIn {
						l.sealedIn[i] = 0xaa
					}
				}
				if got != "first,second" {
					t.Errorf("%d bytes at once: %q", room, got)
				}
			})
		}
	}
}

// shakenWith returns a connection of a loop whose handshake is done, and its client, which
// has sent text in the segment of its last message.
func shakenWith(t *testing.T, version uint16, text string) (*loop, *conn, *tls.Conn) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]net.Conn
	for i, fd := range pair {
		f := os.NewFile(uintptr(fd), "pair")
		t.Cleanup(func() { _ = f.Close() })
		if ends[i], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ends[i].Close() })
		_ = ends[i].SetDeadline(time.Now().Add(timeLimit))
	}
	cfg := &tls.Config{
		Certificates: []tls.Certificate{*tlstest.New(t, "eventloop").Pair(t)}, MaxVersion: version,
	}
	l := &loop{srv: &Server{cfg: Config{}.withDefaults()}}
	c := &conn{loop: l, fd: pair[0], secure: &secure{hijacker: ends[0]}}
	c.secure.tls = tls.Server(c.secure, cfg)
	out := &cork{Conn: ends[1]}
	client := tls.Client(out, clientTLS())
	out.closing = version == tls.VersionTLS13 // in 1.2 the server speaks last
	done := make(chan error, 1)
	go func() { done <- c.secure.tls.Handshake() }()
	if err := client.Handshake(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(client, text); err != nil {
		t.Fatal(err)
	}
	if err := out.pop(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	c.secure.hijacker = nil
	return l, c, client
}

// Records are followed however they are cut: only what ends with one and began with
// one is single.
func TestRecords_KnowsWhenOneIsWhole(t *testing.T) {
	record := func(n int) []byte {
		return append([]byte{23, 3, 3, byte(n >> 8), byte(n)}, make([]byte, n)...)
	}
	two := append(record(300), record(7)...)
	for cut := range two {
		var r records
		r.take(two[:cut])
		whole := cut == 0 || cut == recordHead+300
		if got := r.completes(record(20)); got != whole {
			t.Errorf("a record behind %d bytes: single %v, want %v", cut, got, whole)
		}
		r.take(two[cut:])
		if !r.completes(record(1)) {
			t.Errorf("cut after %d bytes: the next record is not single", cut)
		}
	}
	var r records
	for _, b := range [][]byte{nil, record(0), two, record(9)[:13], append(record(9), 23)} {
		if r.completes(b) {
			t.Errorf("% x is taken for one record", b)
		}
	}
}
