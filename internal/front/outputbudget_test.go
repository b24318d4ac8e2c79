package front

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

func TestUnsent_PeerTurnsAndBounds(t *testing.T) {
	u := NewOutputBudget(1<<20, 4<<20)
	var order []string
	ended := false
	claim := func(p *ClientShare, name string, n int64) bool {
		_, ok := p.Reserve(n, func() { order = append(order, name) }, func() {
			if !ended {
				t.Error(name, "refused")
			}
		})
		return ok
	}
	a, b := u.NewShare(), u.NewShare()
	if !claim(a, "a1", 3<<20) || claim(a, "a2", 1<<20) || claim(a, "a3", 1<<20) {
		t.Fatal("an answer that is larger than the peer's part is made alone")
	}
	if !claim(b, "b1", 1<<20) || claim(b, "b2", 1<<20) {
		t.Fatal("the part of another peer")
	}
	if c := u.NewShare(); claim(c, "c1", 1<<20) || !claim(c, "c2", 1000) || claim(c, "c3", 1000) {
		t.Fatal("all is taken: a small answer for who has none, no more")
	} else {
		ended = true
		c.Close()
		ended = false
	}
	if a.Add(-3 << 20); len(order) != 1 || order[0] != "a2" {
		t.Fatalf("granted %v, want a2", order)
	}
	ended = true // what waits is refused
	b.Close()
	a.Close()
	if s := u.Stats(); s != (OutputStats{}) {
		t.Errorf("after the end: %+v", s)
	}
}

// TestUnsent_SmallAnswersPassLargeOnes: what is loaded slowly and may become large
// does not keep small answers of the same peer.
func TestUnsent_SmallAnswersPassLargeOnes(t *testing.T) {
	u := NewOutputBudget(1<<20, 0)
	p := u.NewShare()
	for i, n := range []int64{1 << 20, 1 << 20, 1000} {
		if _, ok := p.Reserve(n, func() {}, func() {}); ok != (i != 1) {
			t.Errorf("claim %d: %v", i, ok)
		}
	}
}

func TestUnsent_AcquireGivesUp(t *testing.T) {
	u := NewOutputBudget(1<<20, 0)
	u.Wait = 20 * time.Millisecond
	p := u.NewShare()
	if err := p.Acquire(t.Context(), 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := p.Acquire(t.Context(), 1<<20); !errors.Is(err, ErrBusy) {
		t.Errorf("after the wait: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Acquire(ctx, 1<<20); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the request: %v", err)
	}
	p.Add(-1 << 20)
	if s := u.Stats(); s.Bytes != 0 || s.Waiting != 0 || s.Refused != 1 {
		t.Errorf("after that: %+v", s)
	}
}

// TestUnsent_NeverMoreThanItsBounds: many peers claim, wait, correct and release at
// random; the sum stays in its bounds, everybody has a turn, and nothing is left.
func TestUnsent_NeverMoreThanItsBounds(t *testing.T) {
	const all = 8 << 20
	u := NewOutputBudget(1<<20, all)
	u.Wait = time.Minute
	var wg sync.WaitGroup
	for range 40 {
		p := u.NewShare()
		for range 4 {
			wg.Go(func() {
				for range 200 {
					n := rand.Int64N(1 << 20)
					if err := p.Acquire(t.Context(), n); err != nil {
						t.Error(err)
						return
					}
					if s := u.Stats(); s.Bytes > all+40*UnsentSmall {
						t.Errorf("%d bytes are claimed", s.Bytes)
					}
					p.Add(-n / 2)
					p.Add(n/2 - n)
				}
			})
		}
	}
	wg.Wait()
	if s := u.Stats(); s != (OutputStats{}) {
		t.Errorf("after the end: %+v", s)
	}
}
