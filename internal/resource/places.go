package resource

import (
	"context"
	"fmt"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/source"
)

// acquire takes a place among the loads. While the feed lags every read may be a
// load, and fewer may run at a time: the database that makes it lag is perhaps
// as busy as it can be. The error is a *source.Error.
func (u *upstream) acquire(ctx context.Context) (release func(), err error) {
	if until := u.down.Load(); until != 0 && monotonic() < until {
		return nil, &source.Error{
			Class: source.Unavailable, After: time.Second,
			Message: fmt.Sprintf("source %s cannot be reached", u.name),
		}
	}
	// Fast path: nobody waits.
	lags := u.lags()
	if release, ok := u.take(lags); ok {
		return release, nil
	}

	// Slow path.
	if u.waiting.Add(1) > int64(u.opts.Waiting) {
		u.waiting.Add(-1)
		return nil, u.busy(fmt.Sprintf("and %d requests wait already", u.opts.Waiting))
	}
	defer u.waiting.Add(-1)
	ctx, cancel := context.WithTimeout(ctx, u.opts.Acquire)
	defer cancel()
	if lags && !put(ctx, u.bypass) {
		return nil, u.busy(fmt.Sprintf("or kept free, %d serve while the feed lags", u.opts.Bypass))
	}
	if !put(ctx, u.places) {
		if lags {
			<-u.bypass
		}
		return nil, u.busy(fmt.Sprintf("for %v already", u.opts.Acquire))
	}
	return u.release(lags), nil
}

// lags reports whether the source has a feed that is not complete at present.
func (u *upstream) lags() bool {
	if !u.followed.Load() {
		return false
	}
	state, _ := u.domain.Gate(monotonic())
	return state != fresh.Fresh
}

// take takes a place if one is free.
func (u *upstream) take(lags bool) (release func(), ok bool) {
	if lags {
		select {
		case u.bypass <- struct{}{}:
		default:
			return nil, false
		}
	}
	select {
	case u.places <- struct{}{}:
		return u.release(lags), true
	default:
	}
	if lags {
		<-u.bypass
	}
	return nil, false
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

// release returns what gives back the places of a load.
func (u *upstream) release(lags bool) func() {
	return func() {
		<-u.places
		if lags {
			<-u.bypass
		}
	}
}

// busy is the error of a load that found no place.
func (u *upstream) busy(how string) error {
	u.timing.rejected.Add(1)
	return &source.Error{
		Class: source.Unavailable, After: time.Second,
		Message: fmt.Sprintf("source %s: all %d readers are busy %s", u.name, u.opts.Readers, how),
	}
}
