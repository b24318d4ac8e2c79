package crew

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A function lets others pass while it has a processor now and then; where it has
// none it is as others after a while, and lets them pass again when it has one.
// Other threads are as they were.
func TestClerk_LetsOthersPassUnlessItStarves(t *testing.T) {
	before := policyOf(t, 0)
	c := Clerk{Nice: 7}
	defer c.Close()
	normal := unix.SchedAttr{Policy: before.Policy, Nice: min(before.Nice+7, 19)}
	idle := unix.SchedAttr{Policy: schedIdle}
	thread := 0
	starve := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Do(time.Millisecond, func() {
			thread = unix.Gettid()
			starve <- struct{}{}
			<-starve // as one that has no processor
			for policyOf(t, 0).Policy != schedIdle {
			}
		})
	}()
	<-starve
	awaitPolicy(t, thread, normal)
	close(starve)
	<-ended
	c.Do(time.Hour, func() {
		if got := policyOf(t, 0); got.Policy != idle.Policy {
			t.Errorf("the next function begins with policy %d, want SCHED_IDLE", got.Policy)
		}
	})
	if after := policyOf(t, 0); after != before {
		t.Errorf("who asked has policy %+v now, was %+v", after, before)
	}
}

// What others might spin for is done as by any other thread, also while the clerk is
// told to let others pass.
func TestClerk_HurriesForAWhile(t *testing.T) {
	normal := policyOf(t, 0)
	var c Clerk
	defer c.Close()
	c.Do(time.Hour, func() {
		for range 3 {
			c.Hurry(func() {
				c.thread.yield(false)
				c.thread.yield(true) // as who waits for a function does
				if got := policyOf(t, 0); got.Policy != normal.Policy || got.Nice != normal.Nice {
					t.Errorf("in a hurry it has policy %d, nice %d", got.Policy, got.Nice)
				}
			})
			if got := policyOf(t, 0); got.Policy != schedIdle {
				t.Errorf("then it has policy %d, want SCHED_IDLE", got.Policy)
			}
		}
	})
}

// awaitPolicy waits until a thread has a policy and a nice value.
func awaitPolicy(t *testing.T, thread int, want unix.SchedAttr) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		got := policyOf(t, thread)
		if got.Policy == want.Policy && got.Nice == want.Nice {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("thread %d has policy %d, nice %d; want %d, %d", thread, got.Policy, got.Nice,
				want.Policy, want.Nice)
		}
	}
}

// The time that a thread has had a processor grows while it works.
func TestThread_KnowsWhatItHasUsed(t *testing.T) {
	started, ended := make(chan *thread), make(chan struct{})
	var stop atomic.Bool
	go func() {
		defer close(ended)
		started <- newThread(0)
		for !stop.Load() {
		}
	}()
	th := <-started
	begin := th.used()
	for deadline := time.Now().Add(10 * time.Second); th.used()-begin < 5*time.Millisecond; {
		if time.Now().After(deadline) {
			t.Fatalf("a thread that works has used %v, before %v", th.used(), begin)
		}
	}
	stop.Store(true)
	<-ended
}

// policyOf returns the policy of a thread, 0: this one.
func policyOf(t *testing.T, thread int) unix.SchedAttr {
	a, err := unix.SchedGetAttr(thread, 0)
	if err != nil {
		t.Error(err)
		return unix.SchedAttr{}
	}
	return *a
}
