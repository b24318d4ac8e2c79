package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// onlyTimed is a context that ends at its deadline, and not before.
type onlyTimed struct{ context.Context }

func (onlyTimed) OnlyTimed() {}

// held returns a connection to a peer that answers slowID when release is called.
func held(t *testing.T) (c *Conn, release func()) {
	t.Helper()
	released := make(chan struct{})
	h := echoes()
	h.Request(slowID, func(_ context.Context, _, dst []byte) ([]byte, error) {
		<-released
		return dst, nil
	})
	c, _ = pair(t, Options{}, Options{Handlers: h})
	return c, func() { close(released) }
}

// TestDeadline_OfManyCallers: of those that wait side by side, who is out of time ends at its
// deadline, not before, and the next call is not ended by what the one before has left.
func TestDeadline_OfManyCallers(t *testing.T) {
	c, release := held(t)
	defer release()
	ask := func(id uint64, limit time.Duration) error {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		_, err := c.Request(onlyTimed{ctx}, id, []byte("x"), nil)
		if at, _ := ctx.Deadline(); err != nil && time.Now().Before(at) {
			return fmt.Errorf("%v before its time: %w", time.Until(at), err)
		}
		return err
	}
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 20 {
				if err := ask(slowID, 5*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("out of time: %v", err)
				}
				if err := ask(echoID, 30*time.Second); err != nil {
					t.Errorf("in time: %v", err)
				}
			}
		})
	}
	callers.Wait()
}

// timed makes a request that ends only at its deadline, and returns how late it has ended.
func timed(c *Conn, id uint64, limit time.Duration) (late time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, err = c.Request(onlyTimed{ctx}, id, []byte("x"), nil)
	at, _ := ctx.Deadline()
	return time.Since(at), err
}

// TestDeadline_OfOneCaller: a caller that reads its own answer is ended too, and the
// connection goes on.
func TestDeadline_OfOneCaller(t *testing.T) {
	c, release := held(t)
	defer release()
	for range 20 {
		for range 10 {
			if _, err := timed(c, echoID, limit); err != nil {
				t.Fatal(err)
			}
		}
		late, err := timed(c, slowID, 3*time.Millisecond)
		if !errors.Is(err, context.DeadlineExceeded) || late < 0 {
			t.Fatalf("%v, %v late", err, late)
		}
	}
}

// TestDeadline_EachHasItsOwn: one whose time comes sooner does not wait for those that have
// begun before it, nor they for it.
func TestDeadline_EachHasItsOwn(t *testing.T) {
	c, release := held(t)
	var callers sync.WaitGroup
	callers.Go(func() {
		if _, err := timed(c, slowID, limit); err != nil {
			t.Errorf("the one with time: %v", err)
		}
	})
	poll(t, "the call is under way", func() bool { return c.Live() > 0 })
	var short sync.WaitGroup
	for i := range 50 {
		short.Go(func() {
			late, err := timed(c, slowID, time.Duration(50-i)*time.Millisecond)
			if !errors.Is(err, context.DeadlineExceeded) || late < 0 || late > limit/2 {
				t.Errorf("%d ms: %v, %v late", 50-i, err, late)
			}
		})
	}
	short.Wait()
	release()
	callers.Wait()
}

// TestDeadline_OfAConnectionThatEnds: who waits is told of the end, not of the deadline.
func TestDeadline_OfAConnectionThatEnds(t *testing.T) {
	h := echoes()
	h.Request(slowID, func(ctx context.Context, _, dst []byte) ([]byte, error) {
		<-ctx.Done()
		return dst, nil
	})
	c, s := pair(t, Options{}, Options{Handlers: h})
	failed := make(chan error, 1)
	go func() {
		_, err := timed(c, slowID, limit)
		failed <- err
	}()
	poll(t, "the call is under way", func() bool { return c.Live() > 0 })
	go func() { _ = s.Close() }()
	var lost *LostError
	if err := <-failed; !errors.As(err, &lost) {
		t.Errorf("%v, want a LostError", err)
	}
}
