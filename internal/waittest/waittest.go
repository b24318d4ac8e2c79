// Package waittest bounds what tests wait for. A test waits for a condition, and its limit
// grows with the machine: what a quiet one does within the limit, one that is ten times
// slower has ten times as long for.
package waittest

import (
	"hash/maphash"
	"sync/atomic"
	"testing"
	"time"
)

// Patience is how long a test waits for a condition on a quiet machine.
const Patience = time.Minute

// A probe is a piece of work of one processor, and how long a quiet machine takes for it.
const (
	probeRounds = 8_000
	probeQuiet  = 10 * time.Millisecond
	probes      = 5  // of which the slowest counts: a busy machine is slow now and then
	slowest     = 20 // a machine that is slower than this is broken
)

// factor is how many times slower this machine was than a quiet one, in hundredths, at the
// slowest that has been seen; 0: not measured.
var factor atomic.Int64

// measure measures the machine again, and returns the largest factor so far.
func measure() int64 {
	now := int64(100)
	for range probes {
		took := probe()
		now = max(now, min(int64(100*took/probeQuiet), 100*slowest))
		<-time.After(time.Millisecond) // another process's turn
	}
	for {
		old := factor.Load()
		if old >= now {
			return old
		}
		if factor.CompareAndSwap(old, now) {
			return now
		}
	}
}

// probe does a piece of work, with a turn of another goroutine between the parts, and
// returns how long that took.
func probe() time.Duration {
	begin := time.Now()
	var block [4096]byte
	seed := maphash.MakeSeed()
	turn := make(chan uint64)
	for range 4 {
		go func() {
			var sum uint64
			for range probeRounds {
				sum += maphash.Bytes(seed, block[:])
			}
			turn <- sum
		}()
		<-turn
	}
	return time.Since(begin)
}

// Limit returns how long to wait on this machine for what takes d at most on a quiet one.
func Limit(d time.Duration) time.Duration {
	f := factor.Load()
	if f == 0 {
		f = measure()
	}
	return d / 100 * time.Duration(f)
}

// Deadline returns when the Limit of d ends, counted from now.
func Deadline(d time.Duration) time.Time { return time.Now().Add(Limit(d)) }

// Late reports whether something took longer than the Limit of d, measured again: a machine may
// have become busy meanwhile.
func Late(took, d time.Duration) bool {
	if took <= d || took <= Limit(d) {
		return false
	}
	measure()
	return took > Limit(d)
}

// Until polls ok until it is true. It fails the test when the Limit of Patience has passed,
// measured again at that moment: a machine may have become busy meanwhile.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	UntilEvery(t, time.Millisecond, what, ok, nil)
}

// UntilEvery is Until with another time between two polls, and with what a failure shows
// besides; show may be nil.
func UntilEvery(
	t testing.TB, poll time.Duration, what string, ok func() bool, show func() string,
) {
	t.Helper()
	untilWithin(t, Patience, poll, what, ok, show)
}

func untilWithin(
	t testing.TB, limit, poll time.Duration, what string, ok func() bool, show func() string,
) {
	t.Helper()
	for begin := time.Now(); !ok(); time.Sleep(poll) {
		since := time.Since(begin)
		if !Late(since, limit) {
			continue
		}
		if show == nil {
			show = func() string { return "" }
		}
		t.Fatalf("%s: not within %v\n%s", what, since.Round(time.Second), show())
	}
}
