package crew

import (
	"runtime"
	"sync"
	"time"
)

// A Clerk runs functions one at a time on a thread that lets others pass meanwhile: work
// of milliseconds beside answers of microseconds. The zero Clerk is ready for use.
//
// On Linux the thread has a processor only while nobody else wants it, unless that is
// too seldom: see Do. Elsewhere it is as all others. It is the thread of the goroutine
// that asks: to have one of its own do the work, and to wait for it, took a seventh of
// what a PUT to SQLite costs.
//
// While it has something to do, and a second longer, a Clerk counts as one more of
// GOMAXPROCS: a processor of the runtime whose thread waits for one of the machine serves
// nobody else, and the scheduler of Go would let others wait for it for 10 ms at a time.
type Clerk struct {
	// Nice is added to the nice value of the thread where it does not let all pass: 0
	// as others, to 19. With another one than 0 the thread is kept: all functions are
	// of one goroutine, which ends soon after Close, and its thread with it.
	Nice int

	// Askers is how many more of GOMAXPROCS there are meanwhile for those who have the
	// work done, if they compute as well: else they take those of who answers from
	// memory.
	Askers int

	thread *thread // of the function that runs, or that is kept
	watch  watch
	count  count
}

// starved is the part of its time that a thread must have had of a processor if it is
// to go on letting all others pass: one in so many.
const starved = 8

// Do runs f, which lets all others pass; after a time of patience in which it has hardly
// had a processor, it has its share for another such time. So work is done on a machine
// that is never idle, and those who stop the world for a moment, as the collector of
// garbage does, wait no longer than that for a thread that cannot stop because it does
// not run.
func (c *Clerk) Do(patience time.Duration, f func()) {
	c.count.begin(1 + c.Askers)
	defer c.count.end()
	if c.thread == nil {
		c.thread = takeThread(c.Nice)
	}
	c.thread.yield(true)
	c.watch.begin(c.thread, patience)
	defer func() {
		c.watch.end()
		if c.thread.yield(false); c.Nice == 0 {
			c.thread.release()
			c.thread = nil
		}
	}()
	f()
}

// Hurry runs f, within a function that Do runs, without letting others pass: for what
// others might wait for in a loop, which they would never end while the thread that
// they wait for lets them pass.
func (c *Clerk) Hurry(f func()) {
	c.thread.hurry(true)
	defer c.thread.hurry(false)
	f()
}

// Close gives back at once what the Clerk counts for. Do begins again.
func (c *Clerk) Close() { c.count.giveBack() }

// restAfter is when what a Clerk counts for is given back.
const restAfter = time.Second

// A count is what a Clerk adds to GOMAXPROCS. To change that stops the world for a
// moment, so it stays for a while.
type count struct {
	mu    sync.Mutex // guards what follows
	added int
	busy  bool
	last  time.Time   // when a function has ended
	timer *time.Timer // nil: not set
}

func (c *count) begin(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy = true; c.added == 0 {
		c.added = n
		AddProcessors(n)
	}
}

func (c *count) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy, c.last = false, time.Now(); c.timer == nil {
		c.timer = time.AfterFunc(restAfter, c.rest)
	}
}

// rest gives the processors back if nothing was done for a while.
func (c *count) rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := restAfter - time.Since(c.last)
	switch {
	case c.busy:
		c.timer = nil // end sets it again
	case left > 0 && c.added > 0:
		c.timer.Reset(left)
	default:
		c.timer = nil
		c.drop()
	}
}

func (c *count) giveBack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
}

// drop is giveBack with the lock held.
func (c *count) drop() {
	if c.added > 0 {
		AddProcessors(-c.added)
		c.added = 0
	}
}

// A watch looks now and then whether a thread that lets others pass has had a processor.
type watch struct {
	timer *time.Timer

	mu       sync.Mutex // guards what follows
	thread   *thread    // nil: no function runs
	patience time.Duration
	had      time.Duration
}

// begin watches over t until end.
func (w *watch) begin(t *thread, patience time.Duration) {
	if !t.mayStarve() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.thread, w.patience, w.had = t, patience, t.used()
	if w.timer == nil {
		w.timer = time.AfterFunc(patience, w.look)
	} else {
		w.timer.Reset(patience)
	}
}

// look is called when the patience is over. Where the timer was late it is that of the
// function before: then this one is as others for a while.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.thread == nil {
		return
	}
	has := w.thread.used()
	w.thread.yield(has-w.had > w.patience/starved)
	w.had = has
	w.timer.Reset(w.patience)
}

// end watches no longer.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.thread = nil; w.timer != nil {
		w.timer.Stop()
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
