//go:build !unix

package sourcetest

import "time"

// cpuTime returns nothing where the system is not asked.
func cpuTime() time.Duration { return 0 }
