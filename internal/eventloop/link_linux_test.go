package eventloop

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// pairs is a protocol that joins each connection with one to another server, and passes on what
// comes. A "!" has it panic.
type pairs struct {
	to            string
	joined, ended atomic.Int64 // upstreams
	running       sync.WaitGroup
}

func (*pairs) Open(_ *Conn, out []byte) []byte         { return out }
func (*pairs) Tick(_ *Conn, out []byte) ([]byte, Next) { return out, More }

func (*pairs) Step(c *Conn, in, out []byte) (int, []byte, Next) {
	other := c.Linked()
	switch {
	case other == nil:
		return 0, out, HandOver
	case bytes.IndexByte(in, '!') >= 0:
		panic("a defect")
	case !other.Pass(in) && c.Upstream():
		return len(in), out, Close
	}
	return len(in), out, More
}

func (p *pairs) End(c *Conn) {
	if c.Upstream() {
		p.ended.Add(1)
	}
}

// join is Config.HandedOver.
func (p *pairs) join(b Borrowed) {
	p.running.Go(func() {
		up, err := net.Dial("tcp", p.to)
		if err == nil {
			err = Link{Conn: b, Upstream: up, Unread: b.Unread(), Data: p}.Join()
		}
		if err != nil {
			_ = b.Close()
			return
		}
		p.joined.Add(1)
	})
}

// newPairs serves pairs whose upstreams the test has: each comes by the channel.
func newPairs(t *testing.T) (*pairs, *Server, chan *net.TCPConn) {
	t.Helper()
	up, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = up.Close() })
	upstreams := make(chan *net.TCPConn, 16)
	go func() {
		for {
			nc, err := up.Accept()
			if err != nil {
				return
			}
			_ = nc.SetDeadline(waittest.Deadline(time.Minute))
			upstreams <- nc.(*net.TCPConn)
		}
	}()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pairs{to: up.Addr().String()}
	s, err := Serve(l, Config{Proto: p, HandedOver: p.join, MaxUnread: 16 << 10, Loops: 1,
		Idle: 100 * time.Millisecond, Header: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return p, s, upstreams
}

func dialPair(t *testing.T, s *Server, upstreams chan *net.TCPConn) (client, up *net.TCPConn) {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(waittest.Deadline(time.Minute))
	if _, err := io.WriteString(nc, "hello"); err != nil {
		t.Fatal(err)
	}
	up = <-upstreams
	t.Cleanup(func() { _ = up.Close() })
	wantBytes(t, up, "hello")
	return nc.(*net.TCPConn), up
}

func wantBytes(t *testing.T, r io.Reader, text string) {
	t.Helper()
	got := make([]byte, len(text))
	if n, err := io.ReadFull(r, got); err != nil || string(got) != text {
		t.Fatalf("%d bytes came, want %d: %v", n, len(text), err)
	}
}

// TestLink_PassesOnBothWays, more than one turn has, without bounds of time.
func TestLink_PassesOnBothWays(t *testing.T) {
	p, s, upstreams := newPairs(t)
	client, up := dialPair(t, s, upstreams)
	large := strings.Repeat("0123456789abcdef", 1<<16)
	for i := range 2 {
		for _, ends := range [][2]*net.TCPConn{{client, up}, {up, client}} {
			go func() { _, _ = io.WriteString(ends[0], large) }()
			wantBytes(t, ends[1], large)
		}
		silent, err := net.Dial("tcp", s.Addr().String()) // it has the bounds that the pair has not
		if err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "who says nothing is cut", func() bool {
			return s.Stats().TimedOut == int64(i+1)
		})
		_ = silent.Close()
	}
	_ = client.CloseWrite()
	if b, err := io.ReadAll(up); len(b) > 0 || err != nil {
		t.Errorf("the upstream of who ended its side reads %q, %v", b, err)
	}
	_, _ = io.WriteString(up, "last words")
	_ = up.Close()
	if b, err := io.ReadAll(client); string(b) != "last words" || err != nil {
		t.Errorf("who ended its side reads %q, %v", b, err)
	}
	waittest.Until(t, "the pair has ended", func() bool {
		return p.ended.Load() == 1 && s.Stats().Open == 0
	})
}

// TestLink_APanicEndsThePair, whichever connection it is about, and no other.
func TestLink_APanicEndsThePair(t *testing.T) {
	p, s, upstreams := newPairs(t)
	other, beside := dialPair(t, s, upstreams)
	for i := range 2 {
		client, up := dialPair(t, s, upstreams)
		ends := []*net.TCPConn{client, up}
		if _, err := io.WriteString(ends[i], "!"); err != nil {
			t.Fatal(err)
		}
		for _, end := range ends {
			if n, err := end.Read(make([]byte, 1)); n > 0 || err == nil {
				t.Errorf("%d bytes came behind a panic", n)
			}
		}
	}
	waittest.Until(t, "two pairs have ended", func() bool {
		return p.ended.Load() == 2 && s.Stats().Panics == 2
	})
	_, _ = io.WriteString(other, "goes on")
	wantBytes(t, beside, "goes on")
}

// TestLink_ClosesWithItsServer, also while it comes to be: every upstream that was joined ends once.
func TestLink_ClosesWithItsServer(t *testing.T) {
	for range 20 {
		p, s, upstreams := newPairs(t)
		for range 8 {
			nc, err := net.Dial("tcp", s.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			if _, err := io.WriteString(nc, "hello"); err != nil {
				t.Fatal(err)
			}
		}
		up := <-upstreams
		s.Close()
		p.running.Wait()
		if joined, ended := p.joined.Load(), p.ended.Load(); joined != ended {
			t.Errorf("%d upstreams were joined, %d have ended", joined, ended)
		}
		if _, err := io.Copy(io.Discard, up); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("an upstream is still there")
		}
		_ = up.Close()
	}
}
