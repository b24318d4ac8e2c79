package kv

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/fronttest"
	"github.com/hotrow/hotrow/internal/resource"
)

// A stuckHearer takes nothing of what it is told until free is closed.
type stuckHearer struct {
	free  chan struct{}
	heard atomic.Int64
	late  atomic.Int64
}

func (h *stuckHearer) Hear(n *Notice) bool {
	<-h.free
	h.heard.Add(int64(len(n.Names)))
	return true
}

func (h *stuckHearer) Late() { h.late.Add(1) }

// A keeper is a client that keeps copies.
type keeper struct{ told atomic.Int64 }

func (k *keeper) Invalidate(keys []string)        { k.told.Add(int64(len(keys))) }
func (k *keeper) Flush()                          {}
func (k *keeper) MayRead(*resource.Resource) bool { return true }

// TestTracker_WaitsForNobody: whoever keeps copies is told although subscribers take nothing;
// one for whom too much waits, or for too long, is cut once.
func TestTracker_WaitsForNobody(t *testing.T) {
	d := fronttest.Open(t, fronttest.More{StaleAfter: time.Minute})
	s := New(Options{Resources: d.Set})
	defer s.Close()
	tr := s.Tracker()
	r, _ := d.Set.Lookup("codes")
	full, late := &stuckHearer{free: make(chan struct{})}, &stuckHearer{free: make(chan struct{})}
	fullSub, lateSub := tr.Subscribe(full), tr.Subscribe(late)
	defer tr.Unsubscribe(lateSub)
	k := new(keeper)
	defer tr.Leave(tr.Join(k, true, nil))
	change := func(n int) {
		for i := range n {
			tr.Changed(r, []Name{{Main: fmt.Sprintf("codes:%d", i)}}, []uint64{0})
		}
	}
	change(front.Notices / 2)
	time.AfterFunc(front.TellWithin+time.Millisecond, func() { close(late.free) })
	fronttest.Eventually(t, "what waits for too long ends it", func() bool {
		return late.late.Load() == 1
	})
	if full.late.Load() != 0 {
		t.Error("one that is being told was cut")
	}
	change(front.Notices)
	if n := k.told.Load(); n != front.Notices*3/2 {
		t.Errorf("%d keys were told to who keeps copies", n)
	}
	if full.late.Load() != 1 || tr.Stats().Late != 2 {
		t.Errorf("cut %d times, counted %d", full.late.Load(), tr.Stats().Late)
	}
	close(full.free)
	tr.Unsubscribe(fullSub)
	if n := late.heard.Load(); n != 1 {
		t.Errorf("%d were heard behind the end", n)
	}
}

// TestTracked_HearsByPrefix: the search finds what a walk over all prefixes does.
func TestTracked_HearsByPrefix(t *testing.T) {
	letters := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ab:"[rand.N(3)]
		}
		return string(b)
	}
	for range 2000 {
		var prefixes []string
		for range rand.N(6) {
			p := letters(1 + rand.N(4))
			if !slices.ContainsFunc(prefixes, func(q string) bool { return begins(p, q) || begins(q, p) }) {
				prefixes = append(prefixes, p)
			}
		}
		c := &Tracked{prefixes: slices.Sorted(slices.Values(prefixes))}
		key := letters(rand.N(7))
		want := len(prefixes) == 0 ||
			slices.ContainsFunc(prefixes, func(p string) bool { return begins(key, p) })
		if got := c.hears(key); got != want {
			t.Fatalf("%q with the prefixes %q: %v", key, prefixes, got)
		}
	}
}

func begins(s, p string) bool { return len(s) >= len(p) && s[:len(p)] == p }

// TestMatchAfter_IsMatch: what is behind a head matches one of the rests exactly when the whole
// matches the pattern.
func TestMatchAfter_IsMatch(t *testing.T) {
	parts := []string{"*", "?", "a", "b", "[ab]", "[^a]", `\a`, "**", "_@", "[a"}
	for range 20_000 {
		pattern := ""
		for range rand.N(7) {
			pattern += parts[rand.N(len(parts))]
		}
		text := func() (s string) {
			for range rand.N(5) {
				s += []string{"a", "b", "_@"}[rand.N(3)]
			}
			return s
		}
		head, tail := text(), text()
		got := slices.ContainsFunc(MatchAfter(pattern, head), func(rest string) bool {
			return Match(rest, tail)
		})
		if want := Match(pattern, head+tail); got != want {
			t.Fatalf("%q for %q, %q: %v", pattern, head, tail, got)
		}
	}
}
