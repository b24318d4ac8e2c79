package resource

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// bootTime asks the kernel.
func bootTime(t *testing.T) int64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano()
}

func TestBootClock_SaysWhatTheKernelSays(t *testing.T) {
	var c bootClock
	for range 1000 { // the first asks, the others go by Go's clock
		before := bootTime(t)
		got := c.read(time.Now())
		if after := bootTime(t); got < before-int64(slack) || got > after+int64(slack) {
			t.Fatalf("read = %d, the kernel says %d to %d", got, before, after)
		}
	}
}

func TestBootClock_AsksOnlyAfterASuspension(t *testing.T) {
	var c bootClock
	c.read(time.Now())
	now := time.Now()
	tests := []struct {
		name string
		wall time.Duration // by which the wall clock has gone ahead of the other
		asks bool
	}{
		{"no suspension", 0, false},
		{"read a moment apart", time.Millisecond, false},
		{"suspended", 6 * time.Millisecond, true},
		{"suspended for an hour", time.Hour, true},
		{"the wall clock was set back", -time.Hour, true},
	}
	for _, tt := range tests {
		const wrong = 42 // as boot time, so that it shows who has answered
		old := now.Add(-time.Second)
		c.seen.Store(&reading{boot: wrong, at: old, wall: old.UnixNano() - int64(tt.wall)})
		got := c.read(now)
		if asked := got != wrong+int64(time.Second); asked != tt.asks {
			t.Errorf("%s: read = %d, asked the kernel: %v, want %v", tt.name, got, asked, tt.asks)
		}
		if c.seen.Load().boot == wrong == tt.asks {
			t.Errorf("%s: what was seen is %+v", tt.name, c.seen.Load())
		}
	}
}
