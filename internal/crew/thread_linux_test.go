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
		c.Do(time.Hour, func() {
			if got := policyOf(t, 0); got.Policy != schedIdle {
				t.Errorf("the next function begins with policy %d, want SCHED_IDLE", got.Policy)
			}
		})
	}()
	<-starve
	awaitPolicy(t, thread, normal)
	close(starve)
	<-ended
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if after := policyOf(t, 0); after != before {
		t.Errorf("another goroutine has policy %+v now, had %+v", after, before)
	}
}

// The thread is as it was when the function has ended, or has panicked.
func TestClerk_LeavesTheThreadAsItWas(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := policyOf(t, 0)
	var c Clerk
	defer c.Close()
	for _, f := range []func(){func() {}, func() { panic("as expected") }} {
		func() {
			defer func() { _ = recover() }()
			c.Do(time.Hour, f)
		}()
		if after := policyOf(t, 0); after != before {
			t.Errorf("the thread has policy %+v, had %+v", after, before)
		}
	}
	done := make(chan struct{})
	go func() { // which the test's thread, were it released, could run
		defer close(done)
		runtime.LockOSThread()
		c.Do(0, func() {})
	}()
	<-done
}

// Who may not lower nice values could never leave SCHED_IDLE: there a function has long
// turns, and its thread its own again afterwards.
func TestClerk_WithoutTheRightToLeave(t *testing.T) {
	if !leavesIdle() {
		t.Error("root may not leave SCHED_IDLE")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // to the end of the goroutine, and of the thread
		before := policyOf(t, 0)
		giveUpNice(t)
		th := takeThread(0)
		th.polite = politeAttr(th.normal, false)
		th.yield(true)
		want := before
		if before.Runtime != 0 {
			want.Runtime = uint64(longTurn)
		}
		if got := policyOf(t, 0); got != want || th.mayStarve() {
			t.Errorf("it has policy %+v, want %+v; may starve: %v", got, want, th.mayStarve())
		}
		th.yield(false)
		if after := policyOf(t, 0); after != before {
			t.Errorf("then it has policy %+v, had %+v", after, before)
		}
		if triesToLeaveIdle() {
			t.Error("it is said to be able to leave SCHED_IDLE")
		}
		if policyOf(t, 0).Policy != schedIdle {
			t.Error("it has left SCHED_IDLE: the test takes no right away")
		}
	}()
	<-done
}

// giveUpNice takes from the calling thread the right to lower nice values.
func giveUpNice(t *testing.T) {
	const cap = unix.CAP_SYS_NICE
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	if err := unix.Capget(&h, &d[0]); err != nil {
		t.Error(err)
	}
	d[cap/32].Effective &^= 1 << (cap % 32)
	d[cap/32].Permitted &^= 1 << (cap % 32)
	if err := unix.Capset(&h, &d[0]); err != nil {
		t.Error(err)
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
		started <- takeThread(0)
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
