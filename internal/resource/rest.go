package resource

import (
	"context"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/source"
)

// An upstream of which nobody has asked anything for a while rests: it takes a fence now
// and then only, and its feed need not look for changes by itself. While it rests memory
// answers nothing. Who asks then has a fence taken at once and waits for it, so that what
// an answer promises is the same: no copy is called fresh but by a fence of less than
// stale_after ago, and by a feed that looks.

const (
	// restAfter is how long nobody has asked when an upstream goes to rest.
	restAfter = 5 * time.Second

	// restFence is how often a fence is taken while it rests: so often is a feed that is
	// dead noticed, and the time noted up to which copies are known to have been good.
	restFence = 500 * time.Millisecond

	// askedEvery is how exactly the time of the last question is kept, so that loops do
	// not write to one place at every wake-up.
	askedEvery = 100 * time.Millisecond
)

// asks notes that somebody asks, and reports whether u rests: then the caller has no
// answer from memory, and awake is to be called.
func (u *upstream) asks(now int64) (rests bool) {
	last := u.asked.Load()
	if last != 0 && now-last > int64(askedEvery) {
		u.asked.CompareAndSwap(last, now)
	}
	return last == 0
}

// awake notes that somebody asks. If u rests, it ends that: it returns when a fence that
// began after the call has been reached, or could not be within stale_after. Then the
// feed lags, and the gate says so.
func (u *upstream) awake(ctx context.Context) {
	if !u.asks(monotonic()) {
		return
	}
	_, _ = u.wakes.Join(ctx, func(ctx context.Context) (source.Position, error) {
		if u.asked.Load() != 0 {
			return 0, nil
		}
		u.feedRests(false)
		// Also for those who have joined, and so not only until its leader leaves.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), u.opts.StaleAfter)
		defer cancel()
		u.follower.fenceOnce(ctx)
		u.asked.Store(monotonic()) // after the fence
		u.follower.fenceSoon()
		return 0, nil
	})
}

// mayRest reports whether u rests, and lets it if nobody has asked for a while. Who
// watches asks all the time. It is called by the follower's fence only.
func (u *upstream) mayRest() bool {
	last := u.asked.Load()
	if last != 0 && monotonic()-last < int64(restAfter) {
		return false
	}
	if u.watched() {
		u.awake(u.ctx)
		return false
	}
	u.resting.Lock()
	defer u.resting.Unlock()
	if last != 0 && !u.asked.CompareAndSwap(last, 0) {
		return false
	}
	u.setFeedRests(true)
	return true
}

// watched reports whether somebody is to be told of changes.
func (u *upstream) watched() bool {
	u.apply.Lock()
	defer u.apply.Unlock()
	for _, f := range u.forms {
		if f.watched() || f.r.watch.lists.Load() > 0 {
			return true
		}
	}
	return false
}

// feedRests tells the feed whether it may rest.
func (u *upstream) feedRests(rests bool) {
	u.resting.Lock()
	defer u.resting.Unlock()
	u.setFeedRests(rests)
}

// setFeedRests is feedRests with u.resting held.
func (u *upstream) setFeedRests(rests bool) {
	if c := u.feed.Load(); c != nil {
		if feed, ok := c.feed.(source.Rester); ok {
			feed.Rest(rests)
		}
	}
}

// condition is what the domain's gate says, for those who look at u and ask nothing of
// it: one that rests is as well as its last fence.
func (u *upstream) condition(now int64) (fresh.State, time.Duration) {
	state, lag := u.domain.Gate(now)
	if u.asked.Load() != 0 || u.domain.FencedAt() == 0 {
		return state, lag
	}
	if restsWell(lag, u.opts.StaleAfter, u.follower.attached.Load()) {
		state = fresh.Fresh
	}
	return state, lag
}

// restsWell reports whether the last fence of an upstream that rests is so recent that the
// next one has not failed: it is due, or under way.
func restsWell(lag, staleAfter time.Duration, attached bool) bool {
	if attached {
		staleAfter = max(staleAfter, fenceTimeout)
	}
	return lag <= restFence+staleAfter
}

// idle reports whether u rests and nothing is known to be wrong with it. Then its lag says
// when a fence was taken last, and not that the feed is behind.
func (u *upstream) idle(state fresh.State) bool {
	return state == fresh.Fresh && u.asked.Load() == 0
}
