package crew

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// A Clerk runs functions one at a time on a thread of its own that lets others
// pass: work of milliseconds beside answers of microseconds. It is used by one
// goroutine at a time. The zero Clerk is ready for use; its thread begins with the
// first function.
//
// On Linux the thread has a processor only while nobody else wants it. On a machine
// that is never idle that may be never, so that it lasts only for a while: see Do.
// Elsewhere it is as all others. It counts as one more of GOMAXPROCS: the scheduler
// of Go would let others wait for it for 10 ms at a time, and a processor of the
// runtime whose thread waits for one of the machine serves nobody else.
type Clerk struct {
	Nice int // of the thread once it does not wait any longer: 0 as others, to 19

	thread *thread // nil: there is none
	work   chan func()
	done   chan string // what a function panicked with and where, or ""
	timer  *time.Timer
}

// Do runs f and returns when it has. For so long as patience says f lets all others
// pass, and then it has its share. If f panics, Do does.
func (c *Clerk) Do(patience time.Duration, f func()) {
	if c.thread == nil {
		c.begin()
	}
	c.thread.yield(patience > 0)
	c.timer.Reset(patience)
	c.work <- f
	var failed string
	select {
	case failed = <-c.done:
	case <-c.timer.C:
		c.thread.yield(false)
		failed = <-c.done
	}
	c.timer.Stop()
	if failed != "" {
		panic("BUG: " + failed)
	}
}

// begin starts the thread.
func (c *Clerk) begin() {
	addProcessors(1)
	c.work, c.done, c.timer = make(chan func()), make(chan string), time.NewTimer(0)
	started := make(chan *thread)
	go run(c.Nice, started, c.work, c.done)
	c.thread = <-started
}

// Close ends the thread. Do begins another one.
func (c *Clerk) Close() {
	if c.thread != nil {
		close(c.work)
		c.thread = nil
		addProcessors(-1)
	}
}

var processors sync.Mutex // held while their number is changed

// addProcessors changes GOMAXPROCS by n.
func addProcessors(n int) {
	processors.Lock()
	defer processors.Unlock()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
}

// run runs what it is given on a thread of its own, which ends with it.
func run(nice int, started chan<- *thread, work <-chan func(), done chan<- string) {
	started <- newThread(nice)
	for f := range work {
		done <- attempt(f)
	}
}

// attempt runs f and returns what it panicked with and where.
func attempt(f func()) (failed string) {
	defer func() {
		if what := recover(); what != nil {
			failed = fmt.Sprintf("%v\n\n%s", what, debug.Stack())
		}
	}()
	f()
	return ""
}
