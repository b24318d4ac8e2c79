package resource

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// rest has the source of h go to rest, as if nobody had asked for a while.
func (h *house) rest() *sourceState {
	h.t.Helper()
	u := h.resource("dept").revision.Load().src
	u.lastRequest.Store(monotonic() - int64(idleAfter))
	h.until(func() bool { return u.lastRequest.Load() == 0 })
	return u
}

// What another program commits while nobody asks is in the first answer, by whatever way
// that is asked for.
func TestRest_FirstAnswerIsFresh(t *testing.T) {
	h := newHouse(t, nil)
	h.hit("dept", "10")
	for i := range 20 {
		u := h.rest()
		h.exec(fmt.Sprintf("UPDATE dept SET loc = 'L%d' WHERE deptno = 10", i))
		if doc, state, _ := lookup(h.resource("dept"), "10"); state != Miss {
			t.Fatalf("memory answers with %v, state %d, while nobody looks for changes", doc, state)
		}
		want := fmt.Sprintf(`"loc":"L%d"`, i)
		got, origin := h.get("dept", "10", Options{})
		if !strings.Contains(got, want) || origin == HitStale || origin == Bypassed {
			t.Fatalf("the first answer is %s of origin %d, want %s and to be kept", got, origin, want)
		}
		if u.lastRequest.Load() == 0 {
			t.Fatal("it rests still")
		}
	}
}

// Who asks first and leaves at once does not end a rest before a fence is reached.
func TestRest_FirstLeavesAtOnce(t *testing.T) {
	h := newHouse(t, nil)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 20 {
		h.hit("dept", "10")
		h.rest()
		h.exec(fmt.Sprintf("UPDATE dept SET loc = 'L%d' WHERE deptno = 10", i))
		_, _ = h.resource("dept").Get(gone, "10", Options{})
		want := fmt.Sprintf(`"loc":"L%d"`, i)
		if got, _ := h.get("dept", "10", Options{}); !strings.Contains(got, want) {
			t.Fatalf("the next answer is %s, want %s", got, want)
		}
	}
}

// A copy that nobody has changed is answered from memory as soon as a fence is reached.
func TestRest_EndsWithAHit(t *testing.T) {
	h := newHouse(t, nil)
	h.hit("dept", "10")
	h.rest()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if a, err := h.resource("dept").Get(t.Context(), "10", Options{}); err != nil ||
				a.Origin != HitMemory {
				t.Errorf("origin %d, error %v; want a hit", a.Origin, err)
			}
		})
	}
	all.Wait()
}

// A source that rests is asked for few fences, and counts as well.
func TestRest_IsQuietAndReady(t *testing.T) {
	h := newHouse(t, nil)
	u := h.rest()
	before, begin := u.follower.fences.Load(), time.Now()
	looks, problems := 0, []error(nil)
	for ; time.Since(begin) < 2*time.Second; time.Sleep(10 * time.Millisecond) {
		looks++
		if err := errors.Join(h.set.Ready(), h.set.Available()); err != nil {
			problems = append(problems, err) // a fence is late on a busy machine
		}
	}
	if len(problems) > looks/2 {
		t.Errorf("not well at %d of %d looks: %v", len(problems), looks, problems[0])
	}
	most := uint64(time.Since(begin)/(500*time.Millisecond)) + 2
	if n := u.follower.fences.Load() - before; n < 1 || n > most {
		t.Errorf("%d fences in %v of rest, want 2 a second", n, time.Since(begin))
	}
	if u.lastRequest.Load() != 0 {
		t.Error("to ask whether it is well has ended the rest")
	}
}

// The time since the last look at a source that rests is no lag: it says that it is idle, until
// somebody asks.
func TestRest_SaysThatItIsIdle(t *testing.T) {
	h := newHouse(t, nil)
	idle := func() bool {
		s := h.set.Stats().Sources[0]
		return s.Idle && s.State == "fresh"
	}
	h.rest()
	h.until(idle)
	h.hit("dept", "10")
	if idle() {
		t.Error("it is idle though somebody has asked")
	}
}

func TestRest_IsWellWhileItsFenceIsUnderWay(t *testing.T) {
	const stale = 250 * time.Millisecond
	for _, c := range []struct {
		lag      time.Duration
		attached bool
		want     bool
	}{
		{idleFence + stale, true, true},
		{idleFence + 2*stale, true, true},
		{idleFence + fenceTimeout + stale, true, false}, // the fence has failed
		{idleFence + stale, false, true},
		{idleFence + 2*stale, false, false},
	} {
		if got := idleIsFresh(c.lag, stale, c.attached); got != c.want {
			t.Errorf("%v after a look, attached %t: %t", c.lag, c.attached, got)
		}
	}
}

// Who watches is told of what other programs commit, whenever the watch began.
func TestRest_NotWhileSomebodyWatches(t *testing.T) {
	h := newHouse(t, nil)
	u := h.rest()
	w := h.resource("dept").Watch(8)
	defer w.Close()
	h.until(func() bool { return u.lastRequest.Load() != 0 })
	for range 3 {
		u.lastRequest.Store(monotonic() - int64(idleAfter)) // nobody reads
		h.exec("UPDATE dept SET loc = loc || 'x' WHERE deptno = 10")
		select {
		case <-w.C:
		case <-time.After(waittest.Limit(time.Minute)):
			t.Fatal("the watcher was told nothing")
		}
		<-time.After(2 * fenceEvery)
		if u.lastRequest.Load() == 0 {
			t.Fatal("it rests while somebody watches")
		}
	}
}
