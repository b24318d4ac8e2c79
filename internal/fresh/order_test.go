package fresh

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/waittest"
)

// The order of two steps within one call matters only to what runs beside it.

// between has do called between two such steps of the next call.
func between(d *Domain, do func()) {
	d.versions.turn = func(at access, _ *atomic.Uint64) {
		if at == steps {
			d.versions.turn = nil
			do()
		}
	}
}

// TestOrder_OfALease: a change of everything that comes between makes the lease
// either of the old generation or not storable, and it does not count as seen.
func TestOrder_OfALease(t *testing.T) {
	d, s := newAttached(nil)
	between(d, func() {
		s.wholes.Add(1) // as Invalidation.apply does
		s.generation.Add(1)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.publish(9)
	})
	l, _ := s.Begin("k", row.FormatJSON, Any)
	if d.Applied().Pos != 9 {
		t.Fatal("nothing has come between")
	}
	if l.storable && s.Valid(l.Stamp) {
		t.Error("storable, though everything has a change that is not settled")
	}
	if l.AsOf.Pos != 1 {
		t.Errorf("as of %d, want 1: the read may not see 9", l.AsOf.Pos)
	}
}

// TestOrder_OfAWholeChange: it is known to be unsettled before there is a new
// generation to take a lease of.
func TestOrder_OfAWholeChange(t *testing.T) {
	d, s := newAttached(nil)
	came := false
	between(d, func() {
		came = true
		if n := s.wholes.Load(); n != 1 {
			t.Errorf("%d whole changes are unsettled, want 1", n)
		}
		if s.generation.Load() != 0 {
			t.Error("the generation is new before the change is known to be unsettled")
		}
		if d.Applied().Pos != 1 || len(d.pending) != 0 {
			t.Error("known before it is done")
		}
	})
	d.Apply(2, []Invalidation{{Space: s, Whole: true}}, "x", 0)
	if !came || s.generation.Load() != 1 || d.Applied().Pos != 2 || len(d.Unsettled()) != 1 {
		t.Error("not done after Apply")
	}
}

// TestOrder_OfAReset: the new epoch begins under its mark, and the marks of before are there
// until it has. What watchers may have is forgotten before that: what is noted since is of an
// answer that is not good any more. The call is stopped by the lock that this takes.
func TestOrder_OfAReset(t *testing.T) {
	d, s := newAttached(nil)
	d.Apply(2, []Invalidation{{Space: s, Keys: []row.Key{"k"}}}, "x", 0)
	s.watchedReads.mu.Lock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Reset("a", 2, "y", 0)
	}()
	waits(t, "fresh.(*watchedReads).reset(")
	if e := d.epoch.Load(); e != 1 {
		t.Error("the epoch is new before what watchers may have is forgotten")
	}
	if n := s.wholes.Load(); n != 1 {
		t.Errorf("%d whole changes are unsettled before the epoch is new, want 1", n)
	}
	if s.shard("k").dirty["k"] != 1 {
		t.Error("the marks of before are gone before the epoch is new")
	}
	s.watchedReads.mu.Unlock()
	<-done
	if s.shard("k").dirty["k"] != 0 {
		t.Error("the marks of before stay")
	}
}

// waits returns once a goroutine is in a function.
func waits(t *testing.T, frame string) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for end := waittest.Deadline(time.Minute); ; {
		if strings.Contains(string(buf[:runtime.Stack(buf, true)]), frame) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the call does not come to %s", frame)
		}
		time.Sleep(100 * time.Microsecond)
	}
}
