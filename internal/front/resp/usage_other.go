//go:build !unix

package respfront

import "time"

// cpuTimes returns nothing where the system is not asked.
func cpuTimes() (system, user time.Duration) { return 0, 0 }
