package sqlfront

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A standIn is a server that lets everybody in. What it says behind that a test decides, where a
// real server would not say it at the moment that the test is about.
type standIn struct {
	t   *testing.T
	l   net.Listener
	url string
	in  chan *net.TCPConn // sessions that were let in
}

func newStandIn(t *testing.T) *standIn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &standIn{t: t, l: l, url: "postgres://u@" + l.Addr().String() + "/d?sslmode=disable",
		in: make(chan *net.TCPConn, 64)}
	t.Cleanup(func() {
		_ = l.Close()
		for {
			select {
			case nc := <-s.in:
				_ = nc.Close()
			default:
				return
			}
		}
	})
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go s.letIn(nc.(*net.TCPConn))
		}
	}()
	return s
}

// letIn answers a startup packet with AuthenticationOk, a setting, a key and ReadyForQuery.
func (s *standIn) letIn(nc *net.TCPConn) {
	_ = nc.SetDeadline(waittest.Deadline(time.Minute))
	var size [4]byte
	if _, err := io.ReadFull(nc, size[:]); err != nil {
		_ = nc.Close()
		return
	}
	if _, err := io.CopyN(io.Discard, nc, int64(binary.BigEndian.Uint32(size[:]))-4); err != nil {
		_ = nc.Close()
		return
	}
	var b []byte
	b = append(b, msg('R', int32(0))...)
	b = append(b, msg('S', "server_version", "15.0")...)
	b = append(b, msg('K', int32(7), int32(8))...)
	_, _ = nc.Write(append(b, msg('Z', byte('I'))...))
	s.in <- nc
}

// session logs a client in, and returns both ends.
func (s *standIn) session(through string) (client *raw, server *net.TCPConn) {
	s.t.Helper()
	client = logIn(s.t, through)
	server = <-s.in
	s.t.Cleanup(func() { _ = server.Close() })
	return client, server
}

// send writes p to one end, and wants the other to read it.
func (s *standIn) send(from, to net.Conn, p []byte) {
	s.t.Helper()
	if _, err := from.Write(p); err != nil {
		s.t.Fatal(err)
	}
	s.want(to, string(p))
}

func (s *standIn) want(at net.Conn, text string) {
	s.t.Helper()
	got := make([]byte, len(text))
	if n, err := io.ReadFull(at, got); err != nil || string(got) != text {
		s.t.Fatalf("%d of %d bytes came, %v: %q", n, len(text), err, tail(got[:n]))
	}
}

// both runs a test with event loops, and with goroutines.
func both(t *testing.T, f func(t *testing.T, w way)) {
	t.Helper()
	t.Run("loops", func(t *testing.T) { f(t, way{}) })
	t.Run("goroutines", func(t *testing.T) { f(t, way{goroutines: true}) })
}

// onLoop returns how many sessions event loops have.
func (s *stand) onLoop() (n int) {
	s.site.mu.Lock()
	defer s.site.mu.Unlock()
	for one := range s.site.sessions {
		if one.phase == linked {
			n++
		}
	}
	return n
}

// TestRelay_CutAtEveryByte: wherever what a client or a server sends is cut, the other side hears
// what has come at once, and then the rest.
func TestRelay_CutAtEveryByte(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		server := newStandIn(t)
		s := newStand(t, server.url, w)
		client, up := server.session(s.url)
		question := append(msg('Q', "SELECT 1"), ask("SELECT 'two'", 1)...)
		answer := append(msg('T', int16(0)), msg('C', "SELECT 0")...)
		answer = append(append(answer, msg('Z', byte('I'))...), msg('Z', byte('I'))...)
		for at := range question {
			server.send(client, up, question[:at])
			server.send(client, up, question[at:])
			cut := at % len(answer)
			server.send(up, client, answer[:cut])
			server.send(up, client, answer[cut:])
		}
		if n := s.front.Stats().Groups; n != uint64(2*len(question)) {
			t.Errorf("%d groups were answered, want %d", n, 2*len(question))
		}
		if loops := s.onLoop(); loops == 1 == w.goroutines {
			t.Errorf("event loops have %d sessions", loops)
		}
	})
}

// TestRelay_EndsOfStreams: an end of what one side sends reaches the other behind all that was sent.
func TestRelay_EndsOfStreams(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		server := newStandIn(t)
		s := newStand(t, server.url, w)

		client, up := server.session(s.url)
		server.send(client, up, msg('Q', "SELECT 1"))
		if err := client.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		server.wantEnd(up)
		large := strings.Repeat("x", 3<<20)
		go func(up net.Conn) {
			_, _ = io.WriteString(up, large)
			_ = up.Close()
		}(up)
		server.want(client, large)
		server.wantEnd(client)

		client, up = server.session(s.url)
		go func(up *net.TCPConn) {
			_, _ = io.WriteString(up, large)
			_ = up.CloseWrite()
		}(up)
		server.want(client, large)
		server.wantEnd(client)
		server.wantEnd(up)

		client, up = server.session(s.url)
		_ = client.Conn.(*net.TCPConn).SetLinger(0)
		_ = client.Close()
		server.wantEnd(up)

		client, up = server.session(s.url)
		_ = up.SetLinger(0)
		_ = up.Close()
		server.wantEnd(client)
	})
}

// wantEnd wants nothing more to come.
func (s *standIn) wantEnd(at net.Conn) {
	s.t.Helper()
	if n, err := at.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		s.t.Fatalf("%d bytes came in place of an end, %v", n, err)
	}
}

// TestRelay_OneSlowReader: a client that reads a byte now and then costs a bound, and those beside
// it have their answers.
func TestRelay_OneSlowReader(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		server := newStandIn(t)
		s := newStand(t, server.url, w)
		slow, up := server.session(s.url)
		_ = slow.Conn.(*net.TCPConn).SetReadBuffer(128 << 10)
		large := strings.Repeat("0123456789abcdef", 50<<20/16)
		go func() { _, _ = io.WriteString(up, large) }()
		unsent := func() int64 { return s.front.opts.Load().Unsent.Stats().Bytes }
		waittest.Until(t, "bytes wait", func() bool { return unsent() > 0 })
		other, beside := server.session(s.url)
		for i := range 100 {
			server.want(slow, large[i:i+1])
			server.send(other, beside, msg('Q', "SELECT 1"))
			server.send(beside, other, append(msg('C', "SELECT 0"), msg('Z', byte('I'))...))
			if n := unsent(); n > front.SQLChunk {
				t.Fatalf("%d bytes wait for a client", n)
			}
		}
		server.want(slow, large[100:])
		server.send(slow, up, msg('Q', "SELECT 2"))
	})
}

// TestRelay_AServerThatTakesNothing stops its client alone, and keeps hotrow from nothing.
func TestRelay_AServerThatTakesNothing(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		server := newStandIn(t)
		s := newStand(t, server.url, w)
		client, up := server.session(s.url)
		_ = up.SetReadBuffer(128 << 10)
		wrote := make(chan error, 1)
		go func() {
			part := msg('d', strings.Repeat("y", 1<<20))
			var err error
			for err == nil {
				_, err = client.Write(part)
			}
			wrote <- err
		}()
		unsent := func() int64 { return s.front.opts.Load().Unsent.Stats().Bytes }
		waittest.Until(t, "bytes wait", func() bool { return unsent() > 0 })
		other, beside := server.session(s.url)
		server.send(other, beside, msg('Q', "SELECT 1"))
		server.send(up, client, msg('N', byte(0))) // what it says itself comes
		if n := unsent(); n > front.SQLChunk {
			t.Errorf("%d bytes wait for a server", n)
		}
		s.site.Close()
		if err := <-wrote; err == nil {
			t.Error("a client writes to a session that was closed")
		}
	})
}
