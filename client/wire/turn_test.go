//go:build unix

package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"
)

// alone makes requests one after the other until callers read their answers themselves.
func alone(t testing.TB, c *Conn) {
	t.Helper()
	for until := time.Now().Add(limit); time.Now().Before(until); {
		for range 20 {
			if _, err := c.Request(within(t), echoID, []byte("x"), nil); err != nil {
				t.Fatal(err)
			}
		}
		if c.turn() > 0 {
			return
		}
	}
	t.Fatal("no caller has read its own answer")
}

// turn returns how many callers have read.
func (c *Conn) turn() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turns.count
}

// paused returns when something has come that nobody has read, and makes it seem long ago
// that somebody has read.
func (c *Conn) paused(t *testing.T) {
	t.Helper()
	raw, err := c.nc.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(limit); time.Now().Before(until); {
		came := c.Err() != nil
		err := raw.Control(func(fd uintptr) {
			_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			came = came || err == nil
		})
		if came || err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.turns.last = time.Time{}
			return
		}
	}
	t.Fatal("nothing comes")
}

// reading returns when the reader reads again.
func (c *Conn) reading(t *testing.T) {
	t.Helper()
	for until := time.Now().Add(limit); time.Now().Before(until); time.Sleep(time.Millisecond) {
		c.mu.Lock()
		reads := c.turns.reads
		c.mu.Unlock()
		if reads == theReader {
			return
		}
	}
	t.Fatal("the reader does not go on")
}

// slow are handlers that answer with what they were asked, some when release is closed.
func slow() (h *Handlers, release chan struct{}) {
	h, release = echoes(), make(chan struct{})
	h.Request(slowID, func(_ context.Context, data, dst []byte) ([]byte, error) {
		<-release
		return append(dst, data...), nil
	})
	return h, release
}

func TestTurn_AWaitEndsWithItsContext(t *testing.T) {
	h, release := slow()
	defer close(release)
	for name, make := range map[string]func() (context.Context, context.CancelFunc){
		"deadline": func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), 30*time.Millisecond)
		},
		"cancel": func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(30*time.Millisecond, cancel)
			return ctx, cancel
		},
	} {
		c, _ := pair(t, Options{}, Options{Handlers: h})
		poll(t, name+": the caller reads", func() bool { // a busy machine may be too late for that
			alone(t, c)
			before := c.turn()
			ctx, cancel := make()
			defer cancel()
			began := time.Now()
			_, err := c.Request(ctx, slowID, []byte("y"), nil)
			if took := time.Since(began); !errors.Is(err, ctx.Err()) || err == nil || took > limit/2 {
				t.Errorf("%s: %v after %v", name, err, took)
			}
			return c.turn() != before
		})
		// The connection is as good as before, and so is the next caller that reads.
		for range 20 {
			if got, err := c.Request(within(t), echoID, []byte("z"), nil); err != nil || string(got) != "z" {
				t.Fatalf("%s: the next = %q, %v", name, got, err)
			}
		}
	}
}

// TestTurn_OthersAreServedMeanwhile: while a caller that was alone waits, others come.
func TestTurn_OthersAreServedMeanwhile(t *testing.T) {
	h, release := slow()
	c, _ := pair(t, Options{}, Options{Handlers: h})
	alone(t, c)
	var group sync.WaitGroup
	group.Go(func() {
		if got, err := c.Request(within(t), slowID, []byte("first"), nil); err != nil || string(got) != "first" {
			t.Errorf("the first = %q, %v", got, err)
		}
	})
	for deadline := time.Now().Add(limit); c.Live() == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	for range 20 {
		if got, err := c.Request(within(t), echoID, []byte("b"), nil); err != nil || string(got) != "b" {
			t.Fatalf("another = %q, %v", got, err)
		}
	}
	// One that is still open when the first has its answer is not forgotten.
	group.Go(func() {
		if _, err := c.Request(within(t), slowID, []byte("last"), nil); err != nil {
			t.Errorf("the last: %v", err)
		}
	})
	close(release)
	group.Wait()
}

// TestTurn_TheEndIsSeenBeforeARequest: after a pause a caller looks before it sends, so that
// it can send what must not be sent twice over another connection.
func TestTurn_TheEndIsSeenBeforeARequest(t *testing.T) {
	for range 5 {
		c, s := pair(t, Options{}, Options{Handlers: echoes()})
		alone(t, c)
		_ = s.Close()
		c.paused(t)
		_, err := c.Request(within(t), echoID, []byte("x"), nil)
		var lost *LostError
		if !errors.As(err, &lost) || lost.Sent {
			t.Fatalf("a request behind the end: %v", err)
		}
	}
}

func TestTurn_GoingAwayIsSeenBeforeARequest(t *testing.T) {
	c, s := pair(t, Options{}, Options{Handlers: echoes()})
	alone(t, c)
	go func() { _ = s.Shutdown(within(t)) }()
	c.paused(t)
	_, err := c.Request(within(t), echoID, []byte("x"), nil)
	var lost *LostError
	if !errors.Is(err, ErrGoingAway) && (!errors.As(err, &lost) || lost.Sent) {
		t.Fatalf("a request to a peer that goes away: %v", err)
	}
}

// TestTurn_TheReaderGoesOn when nobody asks any more.
func TestTurn_TheReaderGoesOn(t *testing.T) {
	c, s := pair(t, Options{}, Options{Handlers: echoes()})
	alone(t, c)
	_ = s.Close()
	select {
	case <-c.Done():
	case <-time.After(limit):
		t.Fatal("the end of the peer is not noticed")
	}
}

func TestTurn_AStreamHasAReader(t *testing.T) {
	h := echoes()
	h.Stream(streamID, func(ctx context.Context, s *Stream) error {
		for i := range 3 {
			if err := s.Send(ctx, []byte{byte(i)}); err != nil {
				return err
			}
		}
		return nil
	})
	c, _ := pair(t, Options{}, Options{Handlers: h})
	alone(t, c)
	s, err := c.Stream(within(t), streamID, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if got, err := s.Recv(within(t), nil); err != nil || !bytes.Equal(got, []byte{byte(i)}) {
			t.Fatalf("message %d = %v, %v", i, got, err)
		}
	}
}

func TestTurn_CloseAndShutdownEndAWait(t *testing.T) {
	for name, end := range map[string]func(c *Conn) error{
		"Close":    func(c *Conn) error { return c.Close() },
		"Shutdown": func(c *Conn) error { return c.Shutdown(within(t)) },
	} {
		h, release := slow()
		c, _ := pair(t, Options{}, Options{Handlers: h})
		alone(t, c)
		answered := make(chan error, 1)
		go func() {
			_, err := c.Request(context.Background(), slowID, nil, nil)
			answered <- err
		}()
		for deadline := time.Now().Add(limit); c.Live() == 0 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		ended := make(chan error, 1)
		go func() { ended <- end(c) }()
		if name == "Shutdown" { // it waits for what is open
			close(release)
		}
		for what, ch := range map[string]chan error{"the request": answered, "the call": ended} {
			select {
			case err := <-ch:
				if what == "the request" && (err == nil) != (name == "Shutdown") {
					t.Errorf("%s: %s: %v", name, what, err)
				}
			case <-time.After(limit):
				t.Fatalf("%s: %s does not end", name, what)
			}
		}
		if name == "Close" {
			close(release)
		}
	}
}

// TestTurn_CallersComeAndGo: one caller, then several, again and again; every answer is that
// of its request.
func TestTurn_CallersComeAndGo(t *testing.T) {
	c, _ := pair(t, Options{}, Options{Handlers: echoes()})
	ask := func(n uint64, ctx context.Context) {
		data := binary.BigEndian.AppendUint64(nil, n)
		if got, err := c.Request(ctx, echoID, data, nil); err != nil || !bytes.Equal(got, data) {
			t.Errorf("request %d = %x, %v", n, got, err)
		}
	}
	for round := range uint64(200) {
		ctx := context.Background()
		if round%2 == 1 {
			ctx = within(t)
		}
		for i := range uint64(20) {
			ask(round<<32|i, ctx)
		}
		var group sync.WaitGroup
		for i := range uint64(3) {
			group.Go(func() { ask(round<<32|1<<16|i, ctx) })
		}
		group.Wait()
		if round%50 == 0 {
			c.reading(t)
		}
	}
	if c.turn() < 1000 {
		t.Errorf("%d callers have read", c.turn())
	}
}

func TestTurn_AllocatesNothing(t *testing.T) {
	c, _ := pair(t, Options{}, Options{Handlers: echoes()})
	alone(t, c)
	data, dst := []byte("x"), make([]byte, 0, 64)
	n := testing.AllocsPerRun(500, func() { _, _ = c.Request(context.Background(), echoID, data, dst) })
	if n > 1 { // the pool of calls forgets some under the race detector
		t.Errorf("%v allocations for a request", n)
	}
}
