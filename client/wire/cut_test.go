package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

// A cutConn ends after so many bytes have gone one way or the other.
type cutConn struct {
	net.Conn
	mu    sync.Mutex // guards left
	left  int
	reads bool // counts what is read, else what is written
}

// spend takes n off what is left and returns how many of them may pass.
func (c *cutConn) spend(n int, mine bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !mine {
		return n
	}
	n = min(n, c.left)
	c.left -= n
	return n
}

func (c *cutConn) Write(b []byte) (int, error) {
	n := c.spend(len(b), !c.reads)
	written, err := c.Conn.Write(b[:n])
	if n < len(b) && err == nil {
		_ = c.Conn.Close()
		err = net.ErrClosed
	}
	return written, err
}

func (c *cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if allowed := c.spend(n, c.reads); allowed < n {
		_ = c.Conn.Close()
		return allowed, net.ErrClosed
	}
	return n, err
}

// talk is a conversation with everything in it. It returns what was
// acknowledged.
func talk(ctx context.Context, nc net.Conn) (acknowledged int, err error) {
	c, err := Client(ctx, nc, Options{Heartbeat: -1})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.Post(ctx, postID, []byte("post")); err != nil {
		return 0, err
	}
	for i := range 3 {
		got, err := c.Request(ctx, slowID, fmt.Appendf(nil, "%d", i), nil)
		if err != nil {
			return acknowledged, err
		}
		if string(got) != fmt.Sprint(i) {
			return acknowledged, fmt.Errorf("answered %q to %d", got, i)
		}
		acknowledged++
	}
	s, err := c.Stream(ctx, streamID, []byte("abc"))
	if err != nil {
		return acknowledged, err
	}
	if err := s.Send(ctx, []byte("d")); err != nil {
		return acknowledged, err
	}
	if err := s.Finish(); err != nil {
		return acknowledged, err
	}
	for range 3 {
		if _, err := s.Recv(ctx, nil); err != nil {
			return acknowledged, err
		}
	}
	return acknowledged, nil
}

// descriptors returns how many files the process has open, -1 where that is not
// known.
func descriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(entries)
}

// TestCut_AtEveryByte ends a conversation after each of its bytes, in each
// direction: every call returns, what was acknowledged was done, and nothing is
// left behind.
func TestCut_AtEveryByte(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	before := descriptors()
	for _, reads := range []bool{false, true} {
		total := 1 << 30
		for cut := 0; cut < total; cut++ {
			done, acknowledged, left := cutAt(t, l, cut, reads)
			if acknowledged > done {
				t.Fatalf("cut at %d: %d acknowledged, %d done", cut, acknowledged, done)
			}
			if left > 0 {
				total = cut // it was not reached: the conversation has ended before
			}
		}
		if total < 200 {
			t.Errorf("the conversation has %d bytes only", total)
		}
	}
	poll(t, "no descriptor is left", func() bool { return before < 0 || descriptors() <= before+1 })
}

// cutAt has the conversation once, cut after some bytes. left is how many of
// them were not needed.
func cutAt(t *testing.T, l net.Listener, cut int, reads bool) (done, acknowledged, left int) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var mu sync.Mutex
	h := sums()
	h.Request(slowID, func(_ context.Context, data, dst []byte) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		done++
		return append(dst, data...), nil
	})
	var served sync.WaitGroup
	served.Go(func() {
		nc, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		s, err := Accept(ctx, nc, Options{Handlers: h, Heartbeat: -1})
		if err != nil {
			return
		}
		<-s.Done()
		_ = s.Close()
	})
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	cc := &cutConn{Conn: nc, left: cut, reads: reads}
	begin := time.Now()
	acknowledged, err = talk(ctx, cc)
	if took := time.Since(begin); took > limit/2 {
		t.Errorf("cut at %d: the calls took %v", cut, took)
	}
	served.Wait()
	cc.mu.Lock()
	left = cc.left
	cc.mu.Unlock()
	if err == nil && left == 0 && acknowledged != 3 {
		t.Errorf("cut at %d: %d acknowledged without an error", cut, acknowledged)
	}
	mu.Lock()
	defer mu.Unlock()
	return done, acknowledged, left
}
