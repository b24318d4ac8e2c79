package wire

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

// clogged returns a connection whose peer takes nothing until it is let, with a
// queue that is full.
func clogged(t *testing.T) (c *Conn, let func()) {
	t.Helper()
	near, far := net.Pipe()
	gate, entered := make(chan struct{}), make(chan struct{})
	var once, first sync.Once
	let = func() { once.Do(func() { close(gate) }) }
	h := new(Handlers)
	h.Post(postID, func([]byte) { // the reader does not go on
		first.Do(func() { close(entered) })
		<-gate
	})
	var peer sync.WaitGroup
	peer.Go(func() {
		if s, err := Accept(context.Background(), far, Options{Handlers: h, Heartbeat: -1}); err == nil {
			<-s.Done()
			_ = s.Close()
		}
	})
	c, err := Client(within(t), near, Options{Queue: 4096, Heartbeat: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		let()
		_ = c.Close()
		peer.Wait()
	})
	post := func() {
		if err := c.Post(within(t), postID, make([]byte, 1024)); err != nil {
			t.Fatal(err)
		}
	}
	post()
	<-entered
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		c.mu.Lock()
		n, stuck := len(c.out), c.writing.Load() != 0
		c.mu.Unlock()
		if n < c.queue {
			post()
		} else if stuck {
			return c, let
		}
	}
	t.Fatal("the queue is not full")
	return nil, nil
}

// inLine waits until so many callers stand in the line.
func (c *Conn) inLine(t *testing.T, want int) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		n := len(c.line.waiting)
		c.mu.Unlock()
		if n == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d callers wait, want %d", n, want)
		}
	}
}

// TestRoom_EveryCallerGetsIn: callers that wait for room are woken one by one, and
// none is forgotten, not even those behind one that has given up.
func TestRoom_EveryCallerGetsIn(t *testing.T) {
	c, let := clogged(t)
	ctx, cancel := context.WithCancel(within(t))
	const callers = 50
	results := make(chan error, 3*callers)
	for i := range 3 * callers {
		ctx := ctx // a third gives up
		if i%3 != 0 {
			ctx = within(t)
			if i%3 == 2 {
				ctx = context.Background()
			}
		}
		go func() { results <- c.Post(ctx, postID, make([]byte, 1000)) }()
	}
	c.inLine(t, 3*callers)
	cancel()
	c.inLine(t, 2*callers)
	let()
	canceled := 0
	for range 3 * callers {
		switch err := <-results; {
		case errors.Is(err, context.Canceled):
			canceled++
		case err != nil:
			t.Fatal(err)
		}
	}
	if canceled != callers {
		t.Errorf("%d have given up, want %d", canceled, callers)
	}
	if err := c.Barrier(within(t)); err != nil {
		t.Fatal(err)
	}
	if c.mu.Lock(); len(c.line.waiting) != 0 || c.line.called != 0 {
		t.Errorf("%d are in the line, %d called", len(c.line.waiting), c.line.called)
	}
	c.mu.Unlock()
}

// TestRoom_CancelPassesTheTurn: a caller that is called and gives up at the same
// moment takes nobody's turn with it.
func TestRoom_CancelPassesTheTurn(t *testing.T) {
	for range 20 {
		c, let := clogged(t)
		ctx, cancel := context.WithCancel(within(t))
		results := make(chan error, 40)
		for i := range 40 {
			ctx := ctx
			if i%2 == 1 {
				ctx = within(t)
			}
			go func() { results <- c.Post(ctx, postID, make([]byte, 3000)) }()
		}
		c.inLine(t, 40)
		go cancel()
		let()
		for range 40 {
			if err := <-results; err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
	}
}

// TestRoom_EndFreesEverybody who waits for room.
func TestRoom_EndFreesEverybody(t *testing.T) {
	c, let := clogged(t)
	results := make(chan error, 20)
	for range 20 {
		go func() { results <- c.Post(context.Background(), postID, make([]byte, 1000)) }()
	}
	c.inLine(t, 20)
	c.end(errors.New("cut"))
	for range 20 {
		var lost *LostError
		if err := <-results; !errors.As(err, &lost) || lost.Sent {
			t.Errorf("the error is %v, want one of a message that was not sent", err)
		}
	}
	let()
}
