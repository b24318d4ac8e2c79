package resource

import (
	"fmt"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/source"
)

// OnLag is what plain reads get while nobody knows what has changed, because
// the feed lags.
type OnLag string

// The policies. Whatever the policy, no stale answer goes to a reader who asked
// for the database or for a position.
const (
	// LagStale answers with copies, flagged as stale, up to MaxStale; then from
	// the source.
	LagStale OnLag = "stale"

	// LagBypass answers from the source.
	LagBypass OnLag = "bypass"

	// LagFail answers with an error, from neither.
	LagFail OnLag = "fail"
)

// A StalePolicy is what a resource does when its feed lags or its source fails. In a
// Spec nil stands for what the source says.
type StalePolicy struct {
	OnLag        *OnLag
	MaxStale     *time.Duration // how long copies are good, flagged, while the feed lags
	StaleIfError *time.Duration // the same while the source cannot be read
}

// stalePolicy is a StalePolicy that has been decided.
type stalePolicy struct {
	onLag                  OnLag
	maxStale, staleIfError time.Duration
}

// stalePolicy returns what o says, and the source where o says nothing.
func (u *sourceState) stalePolicy(o StalePolicy) stalePolicy {
	d := stalePolicy{u.opts.OnLag, u.opts.MaxStale, u.opts.StaleIfError}
	if o.OnLag != nil {
		d.onLag = *o.OnLag
	}
	if o.MaxStale != nil {
		d.maxStale = *o.MaxStale
	}
	if o.StaleIfError != nil {
		d.staleIfError = *o.StaleIfError
	}
	return d
}

// need says how a read that asks for no position must be made at a time when the gate says
// state.
func (f *revision) need(o *Options, state fresh.State, lag time.Duration) (fresh.Need, error) {
	if state == fresh.Fresh {
		return fresh.Any, nil
	}
	policy := &f.r.rules.Load().stale
	switch policy.onLag {
	case LagFail:
		return 0, &source.Error{
			Class: source.Unavailable, After: time.Second,
			Message: fmt.Sprintf("resource %s: the feed of source %s lags, and on_lag is fail",
				f.r.name, f.src.name),
		}
	case LagBypass:
		return fresh.Now, nil
	}
	if o.NoStale || lag > policy.maxStale {
		return fresh.Now, nil // stale for too long: the source, while it answers
	}
	return fresh.Any, nil
}

// available reports whether a read of what is kept can be answered now.
func (f *revision) available() bool {
	now := monotonic()
	state, lag := f.src.condition(now)
	at := AsOf{Lag: lag, now: now}
	switch {
	case state == fresh.Fresh || f.src.feedless():
		return true
	case f.src.down.Load() > at.now:
		return at.Lag <= f.staleLimit(&at, true)
	}
	return f.r.rules.Load().stale.onLag != LagFail
}
