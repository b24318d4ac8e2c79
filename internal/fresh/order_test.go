package fresh

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
)

// The order of two steps within one call matters only to what runs beside it.
// These tests stop a call between the two: it has to take a lock there that the
// test holds.

// stopped runs f until it waits in a function of children, while the caller
// holds their lock; the channel is closed when f returns.
func stopped(t *testing.T, function string, f func()) <-chan struct{} {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	frame := "fresh.(*children)." + function + "("
	buf := make([]byte, 1<<20)
	for end := time.Now().Add(time.Minute); ; {
		if strings.Contains(string(buf[:runtime.Stack(buf, true)]), frame) {
			return done
		}
		if time.Now().After(end) {
			t.Fatalf("the call does not come to %s", function)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// TestOrder_OfALease: a change of everything that comes between makes the lease
// either of the old generation or not storable, and it does not count as seen.
func TestOrder_OfALease(t *testing.T) {
	d, s := newAttached(nil)
	s.children.mu.Lock()
	var l *Lease
	done := stopped(t, "begin", func() { l, _ = s.Begin("k", row.FormatJSON, Any) })
	s.wholes.Add(1) // as Touch.apply does
	s.generation.Add(1)
	d.mu.Lock()
	d.publish(9)
	d.mu.Unlock()
	s.children.mu.Unlock()
	<-done
	if l.storable && s.Valid(l.Stamp) {
		t.Error("storable, though everything has a change that is not settled")
	}
	if l.AsOf.Pos != 1 {
		t.Errorf("as of %d, want 1: the read may not see 9", l.AsOf.Pos)
	}
}

// TestOrder_OfAWholeChange: it is known to be unsettled before there is a new
// generation to take a lease of, and the index is emptied before that.
func TestOrder_OfAWholeChange(t *testing.T) {
	d, s := newAttached(nil)
	s.children.mu.Lock()
	done := stopped(t, "clear", func() {
		d.Apply(2, []Touch{{Space: s, Whole: true}}, "x", 0)
	})
	if n := s.wholes.Load(); n != 1 {
		t.Errorf("%d whole changes are unsettled, want 1", n)
	}
	if g := s.generation.Load(); g != 0 {
		t.Error("the generation is new before the index is empty")
	}
	if d.Applied().Pos != 1 || len(d.pending) != 0 {
		t.Error("known before it is done")
	}
	s.children.mu.Unlock()
	<-done
	if s.generation.Load() != 1 || d.Applied().Pos != 2 || len(d.Unsettled()) != 1 {
		t.Error("not done after Apply")
	}
}

// TestOrder_OfAReset: what is noted in the index after it was emptied belongs to
// the old epoch. The new one begins under its mark, and the marks of before are
// there until it has.
func TestOrder_OfAReset(t *testing.T) {
	d, s := newAttached(nil)
	d.Apply(2, []Touch{{Space: s, Keys: []row.Key{"k"}}}, "x", 0)
	s.children.mu.Lock()
	done := stopped(t, "clear", func() { d.Reset("a", 2, "y", 0) })
	if e := d.epoch.Load(); e != 1 {
		t.Error("the epoch is new before the index is empty")
	}
	if n := s.wholes.Load(); n != 1 {
		t.Errorf("%d whole changes are unsettled before the epoch is new, want 1", n)
	}
	if s.shard("k").dirty["k"] != 1 {
		t.Error("the marks of before are gone before the epoch is new")
	}
	s.children.mu.Unlock()
	<-done
	if s.shard("k").dirty["k"] != 0 {
		t.Error("the marks of before stay")
	}
}

// TestOrder_OfDropAll: the same for the generation.
func TestOrder_OfDropAll(t *testing.T) {
	_, s := newAttached(nil)
	s.children.mu.Lock()
	done := stopped(t, "clear", s.DropAll)
	if g := s.generation.Load(); g != 0 {
		t.Error("the generation is new before the index is empty")
	}
	s.children.mu.Unlock()
	<-done
}
