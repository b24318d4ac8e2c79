package resource

import (
	"fmt"
	"time"
)

// A beginning says since when an epoch of a source counts, and why the one before ended.
type beginning struct {
	at  time.Time
	why string
}

// begun notes that an epoch has begun. Who begins it says why.
func (u *sourceState) begun(why string) {
	u.epoch.Store(&beginning{at: time.Now(), why: why})
}

// beginning returns since when the epoch counts, and why; the zero beginning before the
// first.
func (u *sourceState) beginning() beginning {
	if b := u.epoch.Load(); b != nil {
		return *b
	}
	return beginning{}
}

// cause returns why a feed that has attached begins a new epoch.
func (f *follower) cause(first bool) string {
	if first {
		return "hotrow has started"
	}
	if why := f.loss.Load(); why != nil {
		return fmt.Sprintf("the feed was lost and could not go on without a gap: %s", *why)
	}
	return "the feed is another one now"
}
