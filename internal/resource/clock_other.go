//go:build !linux

package resource

import "time"

// monotonic returns a clock in nanoseconds. Where there is no CLOCK_BOOTTIME a
// suspended machine is noticed only by the fence that fails after it wakes.
func monotonic() int64 { return int64(time.Since(start)) + 1 }

// monotonicAt returns what monotonic said at now, which time.Now has returned.
func monotonicAt(now time.Time) int64 { return int64(now.Sub(start)) + 1 }
