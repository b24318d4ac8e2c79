package crew

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The scheduling policies of sched(7) that a thread may have.
const (
	schedNormal = 0
	schedIdle   = 5
)

// longTurn is what a thread that lets others pass may have of a processor at a time where
// it cannot have SCHED_IDLE. Who wakes with a shorter one need not wait for its end.
const longTurn = 10 * time.Millisecond

// A thread of Linux has a scheduling policy of its own. One of SCHED_IDLE gives its
// processor up at once when any other thread wakes there. A nice value alone would
// not do: who wakes waits for the slice of the one that runs, whatever their weights,
// and that is milliseconds.
//
// Who has no right to lower nice values can take SCHED_IDLE, and cannot leave it. There
// a thread that lets others pass has long turns, which since Linux 6.12 is nearly as good.
type thread struct {
	id     int
	normal unix.SchedAttr // what it has when it hurries
	polite unix.SchedAttr // and when it lets others pass

	mu      sync.Mutex // guards what follows
	told    bool       // to yield
	hurries bool       // but not now
	yields  bool       // to all others
	stuck   bool       // it is as it was: the system does not let it change
}

// takeThread has the calling goroutine keep its thread until release. nice is added to
// its nice value from now on; the thread must then end with the goroutine.
func takeThread(nice int) *thread {
	runtime.LockOSThread()
	t := &thread{id: unix.Gettid()}
	now, err := unix.SchedGetAttr(t.id, 0)
	if err != nil || now.Policy != schedNormal {
		t.stuck = true // somebody has given the process another policy on purpose
		return t
	}
	t.normal = *now
	t.normal.Nice = min(now.Nice+int32(nice), 19)
	t.polite = politeAttr(t.normal, leavesIdle())
	t.stuck = t.polite == *now
	return t
}

// politeAttr returns what a thread has that lets others pass. leaves says whether it may
// leave SCHED_IDLE again. Where turns are not known to the system Runtime is 0.
func politeAttr(normal unix.SchedAttr, leaves bool) unix.SchedAttr {
	polite := normal
	switch {
	case leaves:
		polite.Policy = schedIdle
	case normal.Runtime != 0:
		polite.Runtime = max(normal.Runtime, uint64(longTurn))
	}
	return polite
}

// leavesIdle reports whether threads of this process may leave SCHED_IDLE.
var leavesIdle = sync.OnceValue(func() bool {
	answer := make(chan bool)
	go func() {
		runtime.LockOSThread() // for good: it may be stuck
		answer <- triesToLeaveIdle()
	}()
	return <-answer
})

// triesToLeaveIdle is leavesIdle for the calling thread, which must end with its
// goroutine. Nobody else can say: a capability within a container may be worth nothing.
func triesToLeaveIdle() bool {
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return false
	}
	idle := *a
	idle.Policy = schedIdle
	return unix.SchedSetAttr(0, &idle, 0) == nil && unix.SchedSetAttr(0, a, 0) == nil
}

// release lets the goroutine go to other threads. One that lets others pass for good,
// because the system takes no more advice, ends with the goroutine.
func (t *thread) release() {
	if !t.yields {
		runtime.UnlockOSThread()
	}
}

// mayStarve reports whether the thread has no processor at all while others want it.
func (t *thread) mayStarve() bool { return !t.stuck && t.polite.Policy == schedIdle }

// yield says whether the thread lets all others pass from now on.
func (t *thread) yield(yes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = yes
	t.set()
}

// hurry says whether it does not, whatever yield says.
func (t *thread) hurry(yes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hurries = yes
	t.set()
}

// set tells the system, if anything has changed. t.mu is held.
func (t *thread) set() {
	yes := t.told && !t.hurries
	if t.yields == yes || t.stuck {
		return
	}
	a := t.normal
	if yes {
		a = t.polite
	}
	// Where it is not allowed all is slower, but right.
	if unix.SchedSetAttr(t.id, &a, 0) != nil {
		t.stuck = true
		return
	}
	t.yields = yes
}

// used returns the time that the thread has had a processor, 0 if nobody knows.
func (t *thread) used() time.Duration {
	// The clock of a thread as glibc's pthread_getcpuclockid makes it.
	const perThread, scheduled = 4, 2
	var at unix.Timespec
	if unix.ClockGettime(int32(^t.id<<3|perThread|scheduled), &at) != nil {
		return 0
	}
	return time.Duration(at.Nano())
}
