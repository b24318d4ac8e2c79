package load

import (
	"math"
	"math/bits"
	"time"
)

// The buckets of a Histogram: exact below 128 ns, then 128 of equal width for
// each doubling, so that a quantile is at most 1/128 too high. The layout is
// that of Gil Tene's HdrHistogram.
const (
	subBits = 7
	perTwo  = 1 << subBits
	buckets = (63 - subBits + 1) * perTwo
)

// A Histogram counts durations. It is 57 KB large and for one goroutine.
type Histogram struct {
	counts [buckets]uint64
	n      uint64
	sum    float64 // ns
	max    int64   // ns
}

// Record counts one duration; a negative one counts as zero.
func (h *Histogram) Record(d time.Duration) {
	ns := max(int64(d), 0)
	h.counts[bucket(uint64(ns))]++
	h.n++
	h.sum += float64(ns)
	h.max = max(h.max, ns)
}

// Add adds what other has counted.
func (h *Histogram) Add(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.n += other.n
	h.sum += other.sum
	h.max = max(h.max, other.max)
}

// Count returns how many durations were counted.
func (h *Histogram) Count() uint64 { return h.n }

// Quantile returns the duration that a share q (0 to 1) of all do not exceed.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := max(uint64(math.Ceil(q*float64(h.n))), 1)
	for i, n := range h.counts {
		if rank <= n {
			return time.Duration(min(highest(i), h.max))
		}
		rank -= n
	}
	return time.Duration(h.max)
}

// Summary returns the figures that a table shows.
func (h *Histogram) Summary() Summary {
	if h.n == 0 {
		return Summary{}
	}
	return Summary{
		Count: h.n,
		Mean:  micros(time.Duration(h.sum / float64(h.n))),
		P50:   micros(h.Quantile(0.50)),
		P90:   micros(h.Quantile(0.90)),
		P99:   micros(h.Quantile(0.99)),
		P999:  micros(h.Quantile(0.999)),
		Max:   micros(time.Duration(h.max)),
	}
}

// micros returns d in microseconds.
func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// bucket returns the bucket of a value.
func bucket(v uint64) int {
	if v < perTwo {
		return int(v)
	}
	shift := bits.Len64(v) - subBits - 1 // v>>shift is perTwo to 2*perTwo-1
	return shift<<subBits + int(v>>shift)
}

// highest returns the largest value of a bucket.
func highest(i int) int64 {
	if i < 2*perTwo {
		return int64(i)
	}
	shift := i>>subBits - 1
	return (int64(i-shift<<subBits)+1)<<shift - 1
}
