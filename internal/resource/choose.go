package resource

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

const (
	// lookAgain is how often a database that allows no feed is asked again, and how long
	// a feed must have been unable to attach before a worse one takes its place: what
	// passes by itself is waited for.
	lookAgain = 10 * time.Second

	// lookLost is lookAgain of a database that has allowed a feed before.
	lookLost = time.Second

	// lookBetter is how often it is looked, beside a feed that works, whether a better one
	// is possible by now: an administrator has allowed it. It is doubled, up to
	// lookBetterMax, for each that was chosen so and then did not attach.
	lookBetter    = time.Minute
	lookBetterMax = time.Hour

	// chooseLimit bounds one choice, and openLimit the first; for each resource there is
	// limitEach more: the catalogue is read for all of them.
	chooseLimit = 5 * time.Second
	openLimit   = 10 * time.Second
	limitEach   = 10 * time.Millisecond
)

// within returns a limit of what looks at the tables of all resources of u.
func (u *sourceState) within(limit time.Duration) time.Duration {
	return limit + time.Duration(len(*u.served.Load()))*limitEach
}

// errOutgrown ends the Run of a feed that does not tell what the revisions need, and cannot be
// made to.
var errOutgrown = errors.New("resources need columns that the feed does not tell")

// errBetter ends the Run of a feed in whose place a better one can be.
var errBetter = errors.New("a better feed is possible")

// rank orders feeds by what they are worth.
func rank(feed source.Feed) int {
	switch {
	case feed == nil:
		return 0
	case feed.Mode() == source.FeedNotify:
		return 1
	}
	return bestRank
}

const bestRank = 2

// feed returns the feed that is followed now; nil: there is none at present.
func (f *follower) feed() source.Feed { return f.u.feed.Load().feed }

// runFeed runs the feed until it ends, until it does not tell what the revisions need, or
// until a better one is possible.
func (f *follower) runFeed() error {
	ctx, cancel := context.WithCancelCause(f.u.ctx)
	var looking sync.WaitGroup
	defer looking.Wait()
	defer cancel(nil)
	if f.u.opts.Mode == source.FeedAuto && rank(f.feed()) < bestRank || len(f.excluded) > 0 {
		looking.Go(func() {
			f.u.guarded("look for a better feed", func() { f.lookForBetter(ctx, cancel) })
		})
	}
	looking.Go(func() {
		f.u.guarded("follow other tables", func() { f.followMore(ctx, cancel) })
	})
	f.u.locked(func() {
		f.end = cancel
		f.replan()
	})
	err := f.feed().Run(ctx, f)
	if cause := context.Cause(ctx); cause == errOutgrown || cause == errBetter {
		return cause
	}
	return err
}

// lookForBetter ends a feed that works once a better one would take its place at once.
func (f *follower) lookForBetter(ctx context.Context, end context.CancelCauseFunc) {
	f.backoff = max(f.backoff, f.u.opts.LookBetter)
	every, most := f.backoff, f.backoff
	if len(f.excluded) > 0 { // somebody may be about to mend that
		every, most = min(every, lookLost), min(most, lookAgain)
	}
	for ; sleep(ctx, every); every = min(2*every, most) {
		if f.betterPossible(ctx) {
			f.backoff = min(2*f.backoff, lookBetterMax)
			end(errBetter)
			return
		}
	}
}

// betterPossible reports whether a better feed than the present one could begin now, or one
// that follows more tables.
func (f *follower) betterPossible(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, f.u.within(chooseLimit))
	defer cancel()
	o, err := f.u.open(ctx)
	now := o.feed
	if err != nil || now == nil {
		return false
	}
	defer f.shut(now)
	if more := rank(now) - rank(f.feed()); more < 0 || more == 0 && !f.readmits(&o) {
		return false
	}
	if t, ok := now.(source.Trier); ok {
		err = t.Try(ctx)
	}
	if err != nil && ctx.Err() == nil {
		f.u.log.Info("a better feed is possible, but not now", "event", eventFeed,
			"feed", now.Mode(), "err", err)
	}
	return err == nil
}

// choose opens a feed again where another may be better than the one that has ended:
// what that depends on may have changed. It reports whether there is a feed to run.
func (f *follower) choose() bool {
	feed := f.feed()
	f.u.locked(func() { f.asked = f.u.wanted(f.u.excluded) })
	want := f.asked
	auto, grown := f.u.opts.Mode == source.FeedAuto, f.again || outgrown(f.opened, want)
	if feed != nil && !grown && (!auto || f.lost == 0 && rank(feed) == bestRank) {
		return true
	}
	ctx, cancel := context.WithTimeout(f.u.ctx, f.u.within(chooseLimit))
	defer cancel()
	o, err := f.u.open(ctx)
	switch {
	case err != nil: // with auto, the same database decides when it answers
		return feed != nil && !(auto && source.ClassOf(err).Passing())
	case !f.better(o.feed, grown):
		if o.feed != nil {
			f.shut(o.feed)
		}
		return feed != nil
	}
	f.change(&o)
	return o.feed != nil
}

// better reports whether now is to take the place of the feed: if it is worth more, or
// as much and tells more, or when the feed has been of no use for long.
func (f *follower) better(now source.Feed, grown bool) bool {
	switch before, after := rank(f.feed()), rank(now); {
	case after == before:
		return grown && now != nil
	case after > before:
		return true
	}
	return f.lost != 0 && monotonic()-f.lost >= int64(lookAgain)
}

// change puts a feed, or none, in the place of the one that has ended. A new feed does
// not know of changes of definitions before it was opened: every revision is compiled again.
func (f *follower) change(o *opened) {
	old, feed, reason := f.feed(), o.feed, o.reason
	f.changed.Store(true) // before the new feed is asked about transactions of the old
	f.u.followed.Store(feed != nil)
	if feed == nil {
		f.u.log.Warn("no feed: nothing is kept", "event", eventFeed, "why", reason)
	} else {
		f.u.log.Info("feed chosen", "event", eventFeed, "feed", feed.Mode(), "why", reason)
		f.keep(feed)
	}
	f.u.feed.Store(&chosen{feed, reason})
	f.lost = 0
	f.u.locked(func() {
		f.opened, f.asked, f.excluded, f.again = o.want, o.want, o.excluded, false
		both := maps.Clone(o.excluded)
		maps.Copy(both, f.u.excluded) // until the feed has attached
		f.u.exclude(both)
		if feed == nil && !f.u.broken {
			f.beginOnDisk()
			f.u.domain.Reset("", 0, nil, 0)
			f.u.begun("no feed: " + reason)
			f.beginOnDisk()
			f.notifyWatchers(false)
		}
	})
	if old != nil {
		f.shut(old)
	}
	if feed != nil {
		f.u.schemaChanged(tablesOf(o.want))
	}
}

// keep has a feed that can go on after a restart told what is on disk.
func (f *follower) keep(feed source.Feed) {
	if r, ok := feed.(source.Resumer); ok && f.u.disk != nil {
		r.UseCheckpoints(checkpoints{f.u.disk})
	}
}

// shut closes a feed that does not run.
func (f *follower) shut(feed source.Feed) {
	if err := feed.Close(); err != nil {
		f.u.log.Warn("feed did not close", "err", err)
	}
}

func tablesOf(list []source.Watched) []string {
	names := make([]string, len(list))
	for i, w := range list {
		names[i] = w.Table
	}
	return names
}
