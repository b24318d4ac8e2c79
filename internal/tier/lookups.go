package tier

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// stripesPerProc makes it unlikely that two goroutines that run at the same
// time share a stripe.
const stripesPerProc = 16

// lookups counts hits and misses without making cores share a cache line: each
// goroutine counts in the stripe that the address of its stack picks, and a
// scrape adds them up.
type lookups struct {
	stripes []stripe
}

// A stripe fills two cache lines, because processors fetch them in pairs.
type stripe struct {
	hits   atomic.Uint64
	misses atomic.Uint64
	_      [112]byte
}

func newLookups() *lookups {
	n := bits.Len(uint(stripesPerProc*runtime.GOMAXPROCS(0) - 1))
	return &lookups{stripes: make([]stripe, 1<<n)}
}

// hit counts a hit and returns how many the stripe has counted.
func (l *lookups) hit() uint64 { return l.here().hits.Add(1) }

func (l *lookups) miss() { l.here().misses.Add(1) }

func (l *lookups) count(hit bool) {
	if hit {
		l.hit()
	} else {
		l.miss()
	}
}

func (l *lookups) here() *stripe { return &l.stripes[stackHash()&uint(len(l.stripes)-1)] }

func (l *lookups) sum() (hits, misses uint64) {
	for i := range l.stripes {
		hits += l.stripes[i].hits.Load()
		misses += l.stripes[i].misses.Load()
	}
	return hits, misses
}

// stackHash returns a number that tells apart goroutines that run at the same
// time. It is good as a number only: the stack may move, and then the
// goroutine has another. The low 11 bits depend on the depth of the call, not
// on the goroutine (a stack has at least 2 KiB), and are left out.
func stackHash() uint {
	var here byte
	return uint((uint64(uintptr(unsafe.Pointer(&here))>>11) * 0x9e3779b97f4a7c15) >> 32)
}
