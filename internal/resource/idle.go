package resource

import (
	"context"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/source"
)

// A source state of which nobody has asked anything for a while rests: it takes a fence now
// and then only, and its feed need not look for changes by itself. While it rests memory
// answers nothing. Who asks then has a fence taken at once and waits for it, so that what
// an answer promises is the same: no copy is called fresh but by a fence of less than
// stale_after ago, and by a feed that looks.

const (
	// idleAfter is how long nobody has asked when an source state goes to rest.
	idleAfter = 5 * time.Second

	// idleFence is how often a fence is taken while it rests: so often is a feed that is
	// dead noticed, and the time noted up to which copies are known to have been good.
	idleFence = 500 * time.Millisecond

	// askedEvery is how exactly the time of the last question is kept, so that loops do
	// not write to one place at every wake-up.
	askedEvery = 100 * time.Millisecond
)

// noteRequest notes that somebody asks, and reports whether u rests: then the caller has no
// answer from memory, and wake is to be called.
func (u *sourceState) noteRequest(now int64) (rests bool) {
	last := u.lastRequest.Load()
	if last != 0 && now-last > int64(askedEvery) {
		u.lastRequest.CompareAndSwap(last, now)
	}
	return last == 0
}

// wake notes that somebody asks. If u rests, it ends that: it returns when a fence that
// began after the call has been reached, or could not be within stale_after. Then the
// feed lags, and the gate says so.
func (u *sourceState) wake(ctx context.Context) {
	if !u.noteRequest(monotonic()) {
		return
	}
	_, _ = u.wakeFences.Join(ctx, func(ctx context.Context) (source.Position, error) {
		if u.lastRequest.Load() != 0 {
			return 0, nil
		}
		u.setFeedIdle(false)
		// Also for those who have joined, and so not only until its leader leaves.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), u.opts.StaleAfter)
		defer cancel()
		u.follower.fenceOnce(ctx)
		u.lastRequest.Store(monotonic()) // after the fence
		u.follower.fenceSoon()
		return 0, nil
	})
}

// mayIdle reports whether u rests, and lets it if nobody has asked for a while. Who
// watches asks all the time. It is called by the follower's fence only.
func (u *sourceState) mayIdle() bool {
	last := u.lastRequest.Load()
	if last != 0 && monotonic()-last < int64(idleAfter) {
		return false
	}
	if u.watched() {
		u.wake(u.ctx)
		return false
	}
	u.idling.Lock()
	defer u.idling.Unlock()
	if last != 0 && !u.lastRequest.CompareAndSwap(last, 0) {
		return false
	}
	u.tellFeedIdle(true)
	return true
}

// watched reports whether somebody is to be told of changes.
func (u *sourceState) watched() bool {
	u.apply.Lock()
	defer u.apply.Unlock()
	for _, f := range u.revisions {
		if f.watched() || f.r.listWatches.n.Load() > 0 {
			return true
		}
	}
	return false
}

// setFeedIdle tells the feed whether it may rest.
func (u *sourceState) setFeedIdle(rests bool) {
	u.idling.Lock()
	defer u.idling.Unlock()
	u.tellFeedIdle(rests)
}

// tellFeedIdle is feedRests with u.resting held.
func (u *sourceState) tellFeedIdle(rests bool) {
	if c := u.feed.Load(); c != nil {
		if feed, ok := c.feed.(source.Rester); ok {
			feed.Rest(rests)
		}
	}
}

// condition is what the domain's gate says, for those who look at u and ask nothing of
// it: one that rests is as well as its last fence.
func (u *sourceState) condition(now int64) (fresh.State, time.Duration) {
	state, lag := u.domain.Gate(now)
	if u.lastRequest.Load() != 0 || u.domain.FencedAt() == 0 {
		return state, lag
	}
	if idleIsFresh(lag, u.opts.StaleAfter, u.follower.attached.Load()) {
		state = fresh.Fresh
	}
	return state, lag
}

// idleIsFresh reports whether the last fence of an source state that rests is so recent that the
// next one has not failed: it is due, or under way.
func idleIsFresh(lag, staleAfter time.Duration, attached bool) bool {
	if attached {
		staleAfter = max(staleAfter, fenceTimeout)
	}
	return lag <= idleFence+staleAfter
}

// idle reports whether u rests and nothing is known to be wrong with it. Then its lag says
// when a fence was taken last, and not that the feed is behind.
func (u *sourceState) idle(state fresh.State) bool {
	return state == fresh.Fresh && u.lastRequest.Load() == 0
}
