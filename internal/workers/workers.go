// Package workers runs functions on goroutines that are used again. A goroutine
// begins with a small stack; one that answers a request or reads a database
// outgrows it several times, and copying it each time was an eighth of what a hit
// on disk costs. A Pool bounds nothing: whoever needs a bound has one.
package workers

import (
	"slices"
	"sync"
	"time"
)

// idleLimit is how long a goroutine of a Pool waits for work: between one and two
// times this.
const idleLimit = 100 * time.Millisecond

// A Pool runs functions, each in a goroutine of its own, and uses goroutines
// again (BenchmarkPool). The zero Pool is ready for use; those of its goroutines
// that find nothing to do end by themselves. A function that panics ends alone: what
// others wait for it has to give back by defer.
type Pool struct {
	mu    sync.Mutex    // guards what follows
	idle  []chan func() // of those who wait, the latest last; nil ends one
	least int           // so many have waited at any time since the last sweep
	sweep *time.Timer   // nil: nobody waits
}

// Go runs f. It never waits for another function to end.
func (c *Pool) Go(f func()) {
	c.mu.Lock()
	n := len(c.idle)
	if n == 0 {
		c.mu.Unlock()
		go c.run(f)
		return
	}
	work := c.idle[n-1]
	c.idle = c.idle[:n-1]
	c.least = min(c.least, n-1)
	c.mu.Unlock()
	work <- f
}

// run runs f, and then what it is given, until it has waited in vain.
func (c *Pool) run(f func()) {
	work := make(chan func(), 1)
	for f != nil {
		guarded(f)
		c.mu.Lock()
		c.idle = append(c.idle, work)
		if c.sweep == nil {
			c.least, c.sweep = 0, time.AfterFunc(idleLimit, c.dismiss)
		}
		c.mu.Unlock()
		f = <-work
	}
}

// guarded runs f, and outlives its panic.
func guarded(f func()) {
	defer func() { _ = Caught(nil, "work in the background", recover()) }()
	f()
}

// dismiss ends those who were not needed since it was called last: the ones at
// the front have waited longest.
func (c *Pool) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, work := range c.idle[:c.least] {
		work <- nil // there is room: it waits
	}
	c.idle = slices.Delete(c.idle, 0, c.least)
	if c.least = len(c.idle); c.least == 0 {
		c.sweep = nil
		return
	}
	c.sweep.Reset(idleLimit)
}
