package sqlcache

import (
	"sync/atomic"
	"time"
)

// A reader says when the catalogue is read: at each tick, until nobody has asked for a while. Then
// it rests. Who asks first finds a reading that counts no more, and wakes it.
type reader struct {
	restAfter time.Duration

	asked atomic.Bool // since the last tick
	rests atomic.Bool
	quiet time.Duration // nobody has asked for so long; of who has the ticks
}

// ask notes that somebody asks, and reports whether the reader is to be woken.
func (r *reader) ask() (wake bool) {
	if r.asked.Load() {
		return false
	}
	r.asked.Store(true) // the order matters: see tick
	return r.rests.Load()
}

// tick reports whether the catalogue is to be read at a tick. If not, there are no more of them.
func (r *reader) tick(t *time.Ticker) (due bool) {
	if r.asked.Swap(false) {
		r.quiet = 0
		return true
	}
	if r.quiet += lookEvery; r.quiet < r.restAfter {
		return true
	}
	t.Stop()
	r.rests.Store(true)
	return r.woken(t) // by who has asked meanwhile, and was not told to wake it
}

// woken reports whether the catalogue is to be read because somebody has asked while it rested.
func (r *reader) woken(t *time.Ticker) (due bool) {
	if !r.rests.Load() || !r.asked.Load() {
		return false
	}
	r.rests.Store(false)
	r.quiet = 0
	t.Reset(lookEvery)
	return true
}
