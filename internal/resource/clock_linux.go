package resource

import (
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A bootClock reads CLOCK_BOOTTIME, which goes on while the process is stopped
// and while the machine is suspended: an answer given after a pause must know
// how old the feed's last version is. Go's own clock stands still meanwhile.
//
// The kernel is asked for it only when the machine may have been suspended: a
// suspension moves the wall clock against the monotonic one by exactly the
// time that CLOCK_BOOTTIME gains, and so time.Now, which reads both without a
// system call, shows it. So does setting the wall clock, which costs one
// question more. Not seen are suspensions that together stay below slack, and
// one that ends with the wall clock set back by its own length.
type bootClock struct {
	seen atomic.Pointer[reading]
}

// A reading is what the three clocks said at one time.
type reading struct {
	boot int64     // CLOCK_BOOTTIME in nanoseconds
	at   time.Time // the wall clock and the monotonic one
	wall int64     // at in nanoseconds
}

const (
	// slack is by how much the clocks may seem to differ because they are not
	// read at the same instant.
	slack = 5 * time.Millisecond

	// closely is how long a good reading takes at most.
	closely = 50 * time.Microsecond
)

// clock is the clock of the process.
var clock bootClock

// monotonic returns a clock in nanoseconds that goes on while the process is
// stopped and while the machine is suspended.
func monotonic() int64 { return clock.read(time.Now()) }

// monotonicAt returns what monotonic said at now, which time.Now has returned.
func monotonicAt(now time.Time) int64 { return clock.read(now) }

// read returns what CLOCK_BOOTTIME says at now, which time.Now has returned.
func (c *bootClock) read(now time.Time) int64 {
	// Fast path: no suspension since the last question.
	if r := c.seen.Load(); r != nil {
		passed := now.Sub(r.at)
		if drift := time.Duration(now.UnixNano()-r.wall) - passed; -slack < drift && drift < slack {
			return r.boot + int64(passed)
		}
	}

	// Slow path: ask the kernel.
	return c.ask()
}

// ask asks the kernel, between two looks at Go's clock that are close together
// unless the machine is too busy for it.
func (c *bootClock) ask() int64 {
	var best reading
	width := time.Duration(math.MaxInt64)
	for range 8 {
		var ts unix.Timespec
		at := time.Now()
		if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
			return int64(time.Since(start))
		}
		if w := time.Since(at); w < width {
			best, width = reading{boot: ts.Nano(), at: at, wall: at.UnixNano()}, w
		}
		if width < closely {
			break
		}
	}
	c.seen.Store(&best)
	return best.boot
}
