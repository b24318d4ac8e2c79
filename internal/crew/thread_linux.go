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

// A thread of Linux has a scheduling policy of its own. One of SCHED_IDLE gives its
// processor up at once when any other thread wakes there. A nice value alone would
// not do: who wakes waits for the slice of the one that runs, whatever their weights,
// and that is milliseconds.
type thread struct {
	id     int
	normal unix.SchedAttr // what it has when it hurries

	mu      sync.Mutex // guards what follows
	polite  bool       // it was told to yield
	hurries bool       // but not now
	yields  bool       // to all others
	stuck   bool       // it is as it was: the system does not let it change
}

// newThread gives the calling goroutine a thread of its own, which ends with it.
func newThread(nice int) *thread {
	runtime.LockOSThread()
	t := &thread{id: unix.Gettid()}
	now, err := unix.SchedGetAttr(t.id, 0)
	if err != nil || now.Policy != schedNormal {
		t.stuck = true // somebody has given the process another policy on purpose
		return t
	}
	t.normal = *now
	t.normal.Nice = min(now.Nice+int32(nice), 19)
	return t
}

// yield says whether the thread lets all others pass from now on.
func (t *thread) yield(yes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.polite = yes
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
	yes := t.polite && !t.hurries
	if t.yields == yes || t.stuck {
		return
	}
	a := t.normal
	if yes {
		a.Policy = schedIdle
	}
	// Where it is not allowed all is slower, but right. Whoever may have the nice
	// value of t.normal may leave SCHED_IDLE again.
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
