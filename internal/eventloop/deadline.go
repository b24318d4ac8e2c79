package eventloop

import (
	"sync/atomic"
	"time"
)

// A deadline is a net.Conn's: setting one is a store, and a timer is only made
// by who has to wait.
type deadline struct {
	start time.Time    // what at counts from; set before use, and never again
	at    atomic.Int64 // nanoseconds; 0: none
}

func (d *deadline) set(t time.Time) {
	at := int64(0)
	if !t.IsZero() {
		if at = int64(t.Sub(d.start)); at == 0 {
			at = 1
		}
	}
	d.at.Store(at)
}

// passed reports whether there is a deadline and it has passed.
func (d *deadline) passed() bool {
	left, limited := d.left()
	return limited && left <= 0
}

// left returns the time until the deadline, if there is one.
func (d *deadline) left() (time.Duration, bool) {
	at := d.at.Load()
	if at == 0 {
		return 0, false
	}
	return time.Duration(at) - time.Since(d.start), true
}

// poke wakes who waits at ch, now or next.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)
