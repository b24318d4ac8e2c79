package front

import (
	"sync/atomic"
	"time"
)

// Buckets are the upper bounds of the duration histograms, in seconds: from what
// a wake-up of a loop takes to what makes a client give up.
var Buckets = [...]float64{0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025,
	0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// Durations counts requests by how long they took. The zero value is ready, and
// it takes no lock.
type Durations struct {
	buckets [len(Buckets) + 1]atomic.Uint64
	nanos   atomic.Uint64
}

// Add counts n requests that took so long each.
func (d *Durations) Add(took time.Duration, n uint64) {
	took = max(took, 0)
	d.buckets[bucketOf(took)].Add(n)
	d.nanos.Add(n * uint64(took))
}

// AddTo adds what was counted to h.
func (d *Durations) AddTo(h *Histogram) {
	if h.Buckets == nil {
		h.Buckets = make([]uint64, len(d.buckets))
	}
	for i := range d.buckets {
		h.Buckets[i] += d.buckets[i].Load()
	}
	h.Seconds += float64(d.nanos.Load()) / 1e9
}

// A Histogram is a snapshot of Durations.
type Histogram struct {
	Buckets []uint64 // requests, not cumulated, by Buckets; the last: slower than all; or nil
	Seconds float64  // sum of the durations
}

// AddTo adds h to another.
func (h *Histogram) AddTo(to *Histogram) {
	if to.Buckets == nil {
		to.Buckets = make([]uint64, len(h.Buckets))
	}
	for i, n := range h.Buckets {
		to.Buckets[i] += n
	}
	to.Seconds += h.Seconds
}

// bucketOf returns the bucket of a duration. Most are short.
func bucketOf(d time.Duration) int {
	seconds, i := d.Seconds(), 0
	for i < len(Buckets) && seconds > Buckets[i] {
		i++
	}
	return i
}
