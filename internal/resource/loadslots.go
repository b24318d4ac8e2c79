package resource

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/source"
)

// acquire takes a place among the loads, and among those of each table. While the feed lags
// every read may be a load, and fewer may run at a time: the database that makes it lag is
// perhaps as busy as it can be. The error is a *source.Error.
func (u *sourceState) acquire(ctx context.Context, lanes []*lane) (release func(), err error) {
	return u.admit(ctx, func(ctx context.Context) (func(), error) { return u.place(ctx, lanes) })
}

// acquireWrite is acquire for a write. Writes that a source makes one after the other take
// no place among the loads: they would have all of them, and no read any, as long as
// another program keeps the database locked.
func (u *sourceState) acquireWrite(
	ctx context.Context, lanes []*lane,
) (release func(), err error) {
	if _, ok := u.source.(source.SerialWriter); ok {
		return u.admit(ctx, u.placeOfWrite)
	}
	return u.acquire(ctx, lanes)
}

// admit takes a place of a source unless that cannot be reached.
func (u *sourceState) admit(
	ctx context.Context, place func(context.Context) (func(), error),
) (release func(), err error) {
	if !u.admits() {
		return nil, &source.Error{
			Class: source.Unavailable, After: time.Second,
			Message: fmt.Sprintf("source %s cannot be reached", u.name),
		}
	}
	if release, err = place(ctx); err != nil && u.down.Load() != 0 {
		u.down.Store(monotonic()) // who was to probe the source has not asked it
	}
	return release, err
}

// placeOfWrite takes one of the places of writes that wait for their turn.
func (u *sourceState) placeOfWrite(context.Context) (release func(), err error) {
	if u.writing.Add(1) > maxWaiting {
		u.writing.Add(-1)
		return nil, u.busy(fmt.Sprintf("source %s: %d writes wait already", u.name, maxWaiting))
	}
	return func() { u.writing.Add(-1) }, nil
}

// pause is how long a source that has failed while its feed lags is left alone.
const pause = 100 * time.Millisecond

// admits reports whether a load may ask the source. One that has failed while its
// feed lags is asked by one load at a time, each a pause after the last has failed,
// until it answers: all others fail at once, and do not each wait for a connection
// that is not made.
func (u *sourceState) admits() bool {
	until := u.down.Load()
	if until == 0 || !u.suspect() {
		return true
	}
	now := monotonic()
	retry := now + 2*int64(u.opts.Timeout) // observe ends it
	return now >= until && u.down.CompareAndSwap(until, retry)
}

// suspect reports whether the feed does not say that the source is well.
func (u *sourceState) suspect() bool {
	state, _ := u.domain.Gate(monotonic())
	return state != fresh.Fresh
}

// observe counts a query, and says from its end whether the source can be reached.
func (u *sourceState) observe(op string, took int64, err error) {
	u.timing.add(op, took)
	u.slow(op, took)
	class := source.ClassOf(err)
	asked := u.down.Load() != 0
	switch {
	case errors.Is(err, context.Canceled): // who asked has left, and has learned nothing
		if asked {
			u.down.Store(monotonic())
		}
	case err == nil || class != source.Unavailable && class != source.Internal:
		if asked {
			u.down.Store(0)
		}
	case asked || class == source.Unavailable && u.suspect():
		u.down.Store(monotonic() + int64(pause))
	}
}

// place is acquire of a source that can be reached.
func (u *sourceState) place(ctx context.Context, lanes []*lane) (release func(), err error) {
	// Fast path: nobody waits.
	slots := u.permits(lanes, u.lags())
	if takeNow(slots) {
		return func() { giveBack(slots) }, nil
	}

	// Slow path.
	if u.waiting.Add(1) > maxWaiting {
		u.waiting.Add(-1)
		return nil, u.busy(fmt.Sprintf("all %d readers of source %s are busy and %d requests"+
			" wait already", u.opts.Readers, u.name, maxWaiting))
	}
	defer u.waiting.Add(-1)
	ctx, cancel := context.WithTimeout(ctx, u.opts.Acquire)
	defer cancel()
	for i, s := range slots {
		if !put(ctx, s.places) {
			giveBack(slots[:i])
			return nil, u.full(s)
		}
	}
	return func() { giveBack(slots) }, nil
}

// lags reports whether the source has a feed that is not complete at present.
func (u *sourceState) lags() bool {
	if !u.followed.Load() {
		return false
	}
	state, _ := u.domain.Gate(monotonic())
	return state != fresh.Fresh
}

// put waits until places takes one more; false: ctx has ended.
func put(ctx context.Context, places chan<- struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// busy is the error of a load that found no place.
func (u *sourceState) busy(why string) error {
	u.timing.rejected.Add(1)
	return &source.Error{Class: source.Busy, After: time.Second, Message: why}
}
