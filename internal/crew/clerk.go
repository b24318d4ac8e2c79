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
// On Linux the thread has a processor only while nobody else wants it, unless that is
// too seldom: see Do. Elsewhere it is as all others. It counts as one more of
// GOMAXPROCS: the scheduler of Go would let others wait for it for 10 ms at a time, and
// a processor of the runtime whose thread waits for one of the machine serves nobody
// else.
type Clerk struct {
	Nice int // of the thread where it does not let all pass: 0 as others, to 19

	thread *thread // nil: there is none
	work   chan func()
	done   chan string // what a function panicked with and where, or ""
	timer  *time.Timer
}

// starved is the part of its time that a thread must have had of a processor if it is
// to go on letting all others pass: one in so many.
const starved = 8

// Do runs f and returns when it has. f lets all others pass; after a time of patience
// in which it has hardly had a processor, it has its share for another such time. So
// work is done on a machine that is never idle, and those who stop the world for a
// moment, as the collector of garbage does, wait no longer than that for a thread
// that cannot stop because it does not run. If f panics, Do does.
func (c *Clerk) Do(patience time.Duration, f func()) {
	if c.thread == nil {
		c.begin()
	}
	c.thread.yield(true)
	c.timer.Reset(patience)
	c.work <- f
	if failed := c.wait(patience); failed != "" {
		panic("BUG: " + failed)
	}
}

// Hurry runs f, within a function that Do runs, without letting others pass: for what
// others might wait for in a loop, which they would never end while the thread that
// they wait for lets them pass.
func (c *Clerk) Hurry(f func()) {
	c.thread.hurry(true)
	defer c.thread.hurry(false)
	f()
}

// wait returns what the function panicked with, once it has ended.
func (c *Clerk) wait(patience time.Duration) (failed string) {
	defer c.timer.Stop()
	had := c.thread.used()
	for {
		select {
		case failed = <-c.done:
			return failed
		case <-c.timer.C:
		}
		has := c.thread.used()
		c.thread.yield(has-had > patience/starved)
		had = has
		c.timer.Reset(patience)
	}
}

// begin starts the thread.
func (c *Clerk) begin() {
	AddProcessors(1)
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
		AddProcessors(-1)
	}
}

var processors sync.Mutex // held while their number is changed

// AddProcessors changes GOMAXPROCS by n, for threads that are busy or asleep without
// the scheduler of Go being told, and would keep one from others.
func AddProcessors(n int) {
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
