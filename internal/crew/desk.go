package crew

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// A Desk runs functions that take microseconds, in the order in which they came
// and few at a time: thousands that each had a goroutine would spend most of their
// time on bringing stacks back into the processor's caches. When functions take
// long after all, because they wait for a disk, more of them run at a time.
//
// The zero Desk is ready for use.
type Desk struct {
	crew Crew

	mu      sync.Mutex // guards what follows
	queue   []func()   // from head on
	head    int
	workers int
}

// fewWorkers is how many a Desk has while nobody waits for anything: more would
// only take turns.
var fewWorkers = runtime.GOMAXPROCS(0)

// The other bounds of a Desk. A worker who has found slowTask calls for another one, and
// one whom nothing but load has called goes after quickTasks in a row.
const (
	mostWorkers = 256
	slowTask    = time.Millisecond
	quickTasks  = 32
)

// Go runs f soon. f must not wait for another function of the Desk.
func (d *Desk) Go(f func()) {
	d.mu.Lock()
	d.queue = append(d.queue, f)
	call := d.workers < fewWorkers
	if call {
		d.workers++
	}
	d.mu.Unlock()
	if call {
		d.crew.Go(d.work)
	}
}

// work runs what there is.
func (d *Desk) work() {
	began := time.Now()
	for quick := 0; ; {
		f := d.next(quick)
		if f == nil {
			return
		}
		f()
		now := time.Now()
		if quick++; now.Sub(began) > slowTask {
			quick = 0
			d.callAnother()
		}
		began = now
	}
}

// next takes the next function, nil: the worker may go. quick is how many it has
// run in a row that were.
func (d *Desk) next(quick int) func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.head == len(d.queue) || quick >= quickTasks && d.workers > fewWorkers {
		d.workers--
		return nil
	}
	f := d.queue[d.head]
	d.queue[d.head] = nil
	if d.head++; d.head == len(d.queue) {
		d.queue, d.head = d.queue[:0], 0
	} else if d.head >= 1024 && d.head*2 >= len(d.queue) {
		d.queue, d.head = slices.Delete(d.queue, 0, d.head), 0
	}
	return f
}

// callAnother adds a worker if there is work for it.
func (d *Desk) callAnother() {
	d.mu.Lock()
	call := d.head < len(d.queue) && d.workers < mostWorkers
	if call {
		d.workers++
	}
	d.mu.Unlock()
	if call {
		d.crew.Go(d.work)
	}
}
