package fallback

import (
	"sync/atomic"
	"time"
)

const (
	failuresToOpen = 5 // in a row
	openFirst      = time.Second
	openLast       = 15 * time.Second // it doubles up to there
)

// A circuit says whether a server is asked: not for a while when it has failed so often in a
// row. After that one request tries it, and the others wait for what comes of that.
type circuit struct {
	failures atomic.Int64
	until    atomic.Int64 // Unix nanoseconds; 0: it is asked
}

// admits reports whether the server may be asked now.
func (c *circuit) admits(now time.Time) bool {
	until := c.until.Load()
	if until == 0 {
		return true
	}
	at := now.UnixNano()
	return at >= until && c.until.CompareAndSwap(until, at+int64(c.pause()))
}

// failed notes a request that came to nothing, and returns for how long the server is left
// alone then; 0: it is not, or was already.
func (c *circuit) failed(now time.Time) time.Duration {
	if c.failures.Add(1) < failuresToOpen {
		return 0
	}
	wait := c.pause()
	if was := c.until.Swap(now.UnixNano() + int64(wait)); was != 0 {
		return 0
	}
	return wait
}

// pause is for how long the server is left alone after so many failures.
func (c *circuit) pause() time.Duration {
	n := max(c.failures.Load()-failuresToOpen, 0)
	return min(openFirst<<min(n, 10), openLast)
}

// succeeded notes an answer, and reports whether the server was left alone.
func (c *circuit) succeeded() bool {
	// Fast path: all is well.
	if c.failures.Load() == 0 {
		return false
	}

	// Slow path.
	c.failures.Store(0)
	return c.until.Swap(0) != 0
}
