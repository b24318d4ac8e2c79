//go:build unix

package respfront

import (
	"syscall"
	"time"
)

// cpuTimes returns what the process has used of the processors.
func cpuTimes() (system, user time.Duration) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return time.Duration(u.Stime.Nano()), time.Duration(u.Utime.Nano())
}
