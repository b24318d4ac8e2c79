package resource

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic returns a clock in nanoseconds that goes on while the process is
// stopped and while the machine is suspended, which Go's own does not: an
// answer given after a pause must know how old the feed's last word is.
func monotonic() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return int64(time.Since(start))
	}
	return ts.Nano()
}
