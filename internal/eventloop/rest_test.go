package eventloop

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// naps counts the wake-ups of all its scopes, and those that have ended in rest.
type naps struct {
	mu            sync.Mutex // guards the rest
	wakes, rests  int
	awake, scopes int
}

// A napping is a Scope that rests.
type napping struct {
	n     *naps
	awake bool
}

func (s *napping) BeginTurn(time.Time) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	s.n.wakes++
	if !s.awake { // else the wake-up follows the one before at once
		s.n.awake++
	}
	s.awake = true
}

func (s *napping) EndTurn() {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	s.n.rests++
	if s.awake {
		s.n.awake--
	}
	s.awake = false
}

// When nothing is to do, every scope has been told: what it measures is over
// without another request.
func TestLoop_ScopesRest(t *testing.T) {
	for _, form := range loopForms {
		n := new(naps)
		c := Config{Loops: 2, Scope: func() Scope {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.scopes++
			return &napping{n: n}
		}}
		each(t, []string{form}, c, func(t *testing.T, s *site) {
			for range 4 { // connections one after the other: the loops in turn
				c := s.dial(t)
				for i := range 10 {
					c.send(get(fmt.Sprintf("/hit/%d", i)))
					c.want(200, fmt.Sprintf("hit %d", i))
				}
				eventually(t, "every scope rests", func() bool {
					n.mu.Lock()
					defer n.mu.Unlock()
					return n.awake == 0 && n.rests > 0
				})
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.scopes > 2 {
				t.Errorf("%d scopes for two loops, or one connection at a time", n.scopes)
			}
		})
		if n.awake != 0 {
			t.Errorf("%s: %d scopes were not told at the end", form, n.awake)
		}
	}
}

// A scope that no stream uses is kept, however long.
func TestSpares_AreKept(t *testing.T) {
	var p spares
	if p.get() != nil {
		t.Fatal("a scope out of nothing")
	}
	a, b := &napping{n: new(naps)}, &napping{n: new(naps)}
	p.put(a)
	p.put(b)
	if p.get() != Scope(b) || p.get() != Scope(a) || p.get() != nil {
		t.Error("other scopes than were put, or not the last one first")
	}
}

// A loop that the answer of another goroutine has woken sleeps again: the deadline by which
// it was woken is over.
func TestLoop_SleepsAfterAMessage(t *testing.T) {
	n := new(naps)
	c := Config{Loops: 1, Scope: func() Scope { return &napping{n: n} }}
	each(t, []string{"epoll"}, c, func(t *testing.T, s *site) {
		wakes := func() int {
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.wakes
		}
		c := s.dial(t)
		for i := range 20 {
			c.send(get(fmt.Sprintf("/miss/%d", i)))
			c.want(200, fmt.Sprintf("miss %d", i))
		}
		before := wakes()
		<-time.After(50 * time.Millisecond)
		if more := wakes() - before; before > 1000 || more > 10 {
			t.Errorf("%d wake-ups for 20 requests, and %d within 50 ms without one", before, more)
		}
	})
}
