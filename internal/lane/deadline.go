package lane

import (
	"sync/atomic"
	"time"
)

// A deadline is a net.Conn's: setting one is a store, and a timer is only made
// by who has to wait. The zero value is no deadline.
type deadline struct{ at atomic.Pointer[time.Time] }

func (d *deadline) set(t time.Time) {
	if t.IsZero() {
		d.at.Store(nil)
		return
	}
	d.at.Store(&t)
}

// passed reports whether there is a deadline and it has passed.
func (d *deadline) passed() bool {
	left, limited := d.left()
	return limited && left <= 0
}

// left returns the time until the deadline, if there is one.
func (d *deadline) left() (time.Duration, bool) {
	t := d.at.Load()
	if t == nil {
		return 0, false
	}
	return time.Until(*t), true
}

// poke wakes who waits at ch, now or next.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
