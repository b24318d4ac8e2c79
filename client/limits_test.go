package client

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// deaf starts a server that accepts connections and then does nothing.
func deaf(t *testing.T) string {
	t.Helper()
	l := listen(t)
	held := make(chan net.Conn, 64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			held <- nc
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
		for close(held); ; {
			nc, ok := <-held
			if !ok {
				return
			}
			_ = nc.Close()
		}
	})
	return "hotrow://" + l.Addr().String()
}

// TestLimits_ServerThatSaysNothing: the handshake takes no longer than the call
// has.
func TestLimits_ServerThatSaysNothing(t *testing.T) {
	c := open(t, deaf(t), WithTimeout(100*time.Millisecond), WithRetries(0))
	began := time.Now()
	_, err := c.Get(context.Background(), "depts", "10")
	if !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want unavailable, deadline exceeded", err)
	}
	if took := time.Since(began); took > limit/2 {
		t.Errorf("told after %v", took)
	}
}

// TestLimits_CallIsGivenUp: by its deadline and by its cancel; the connection
// goes on, and the server is told.
func TestLimits_CallIsGivenUp(t *testing.T) {
	bothWays(t, func(t *testing.T, _ *site, url string) {
		c := open(t, url)
		doc, err := c.Get(within(t), "depts", "10")
		if err != nil {
			t.Fatal(err)
		}
		later, err := parseLater(doc.Position)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := c.Get(ctx, "depts", "10", MinPosition(later)); !errors.Is(err, context.Canceled) {
			t.Errorf("a call that was given up: %v", err)
		}
		ctx, cancel = context.WithTimeout(context.Background(), 5*time.Millisecond)
		defer cancel()
		_, err = c.Get(ctx, "depts", "10", MinPosition(later))
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call whose time is up: %v", err)
		}
		if _, err := c.Get(within(t), "depts", "20"); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}

// parseLater returns a position that is not reached for long.
func parseLater(text string) (string, error) {
	_, p, ok := parsePosition(text)
	if !ok {
		return "", errors.New("no position: " + text)
	}
	at := len(p.text)
	for at > 0 && p.text[at-1] != '.' {
		at--
	}
	return p.text[:at] + "f" + p.text[at:], nil
}

// TestLimits_ServerThatTakesNothing: calls end in their time although what they
// write goes nowhere.
func TestLimits_ServerThatTakesNothing(t *testing.T) {
	s := newSite(t)
	p := newProxy(t, s.wireURL[len("hotrow://"):])
	c := open(t, "hotrow://"+p.address(), WithConnections(1), WithRetries(0))
	if _, err := c.Get(within(t), "depts", "10"); err != nil {
		t.Fatal(err)
	}
	p.stop()
	body := map[string]any{"deptLocation": string(make([]byte, 60<<10))}
	for range 100 { // more than the sockets between hold
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		_, err := c.Patch(ctx, "depts", "10", body)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnavailable) {
			t.Fatalf("a write that goes nowhere: %v", err)
		}
	}
}

// TestLimits_ServerThatGoesAway: what is under way is answered, a watch goes on
// elsewhere, and calls that come later are answered by the next server.
func TestLimits_ServerThatGoesAway(t *testing.T) {
	s := newSite(t)
	c := open(t, s.wireURL, WithRetries(20))
	w, err := c.Watch(within(t), "depts")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	if _, err := c.Get(within(t), "depts", "10"); err != nil {
		t.Fatal(err)
	}
	s.stop(t)
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(within(t), "depts", "10"); err != nil {
		t.Errorf("the second server: %v", err)
	}
	if _, err := c.Patch(within(t), "depts", "10", map[string]any{"deptLocation": "LATER"}); err != nil {
		t.Errorf("a write to the second server: %v", err)
	}
	for e, err := range w.All(within(t)) { // a reset, or the change itself
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == Reset || e.Kind == Changed && e.Key == "10" {
			return
		}
	}
	t.Error("the watch tells nothing of the change")
}
