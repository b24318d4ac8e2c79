package crew

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// counted returns a function to run n times that calls do, and one that waits for
// all and says how many ran at a time.
func counted(n int, do func()) (run func(), most func() int64) {
	var running, top atomic.Int64
	var ended sync.WaitGroup
	ended.Add(n)
	run = func() {
		defer ended.Done()
		now := running.Add(1)
		for old := top.Load(); now > old && !top.CompareAndSwap(old, now); {
			old = top.Load()
		}
		do()
		running.Add(-1)
	}
	return run, func() int64 { ended.Wait(); return top.Load() }
}

// workersOf returns how many workers a desk has when those that are done have gone.
func workersOf(t *testing.T, d *Desk) int {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		d.mu.Lock()
		n, left := d.workers, len(d.queue)-d.head
		d.mu.Unlock()
		if n == 0 || time.Now().After(deadline) {
			if left != 0 {
				t.Errorf("%d functions are left", left)
			}
			return n
		}
	}
}

func TestDesk_RunsAllFewAtATime(t *testing.T) {
	var d Desk
	const n = 20_000
	run, most := counted(n, func() {})
	for range 4 {
		go func() {
			for range n / 4 {
				d.Go(run)
			}
		}()
	}
	// Where the machine is busy a worker may be taken for one that waits.
	if got := most(); got > int64(fewWorkers)+16 {
		t.Errorf("%d at a time, want about %d", got, fewWorkers)
	}
	if n := workersOf(t, &d); n != 0 {
		t.Errorf("%d workers with nothing to do", n)
	}
}

func TestDesk_MoreWhenTheyWait(t *testing.T) {
	var d Desk
	const n = 400
	run, most := counted(n, func() { <-time.After(5 * time.Millisecond) })
	for range n {
		d.Go(run)
	}
	if got := most(); got < 4*int64(fewWorkers) || got > mostWorkers {
		t.Errorf("%d at a time that wait, want %d to %d", got, 4*fewWorkers, mostWorkers)
	}
	if n := workersOf(t, &d); n != 0 {
		t.Errorf("%d workers with nothing to do", n)
	}
}

func TestDesk_InOrder(t *testing.T) {
	d := Desk{workers: fewWorkers} // nobody begins yet
	var got []int
	for i := range 3000 {
		d.Go(func() { got = append(got, i) })
	}
	for f := d.next(0); f != nil; f = d.next(0) {
		f()
	}
	for i, n := range got {
		if i != n {
			t.Fatalf("%d came as the %d.", n, i)
		}
	}
	if len(got) != 3000 || d.workers != fewWorkers-1 {
		t.Errorf("%d ran, %d workers", len(got), d.workers)
	}
}

func BenchmarkDesk(b *testing.B) {
	var d Desk
	run, most := counted(b.N, func() {})
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		d.Go(run)
	}
	most()
}
