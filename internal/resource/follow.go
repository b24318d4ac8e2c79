package resource

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/source"
)

const (
	fenceEvery   = 50 * time.Millisecond
	fenceTimeout = time.Second
	settleMin    = time.Millisecond
	settleMax    = 20 * time.Millisecond

	// A probe for new transactions comes settleEvery after the one before at least, if
	// somebody waits for what it proves, and settleIdle after it if nobody does: it settles
	// several transactions then. With each on its own, a node that follows 500 transactions
	// a second costs the database more than by reading its log.
	settleEvery = 5 * time.Millisecond
	settleIdle  = 25 * time.Millisecond
)

// A follower turns what a feed says into what package fresh needs: it is the
// source.Handler of one source state.
type follower struct {
	u            *sourceState
	kick         chan struct{} // something is to be settled
	begun        chan struct{} // the feed has attached: nothing is fresh before a fence
	attached     atomic.Bool
	suspect      atomic.Bool // the feed has resumed, and has not caught up yet
	gaps, fences atomic.Uint64
	failed       atomic.Uint64 // fences that were not reached
	probes       atomic.Uint64 // of what is settled
	failedSaid   atomic.Int64  // when the log said so

	loss atomic.Pointer[string] // why the feed was lost last; nil: it was not

	changed atomic.Bool // another feed was chosen, and has not attached yet

	// lost is since when no attempt has attached, 0: the last did; backoff is how long a feed
	// that works is left before it is looked for a better one. Only run and what it calls use
	// them.
	lost     int64
	backoff  time.Duration
	excluded map[string]string // the tables that the feed leaves out, and why

	// opened is what the feed follows, asked what one was last asked for, and end ends its Run.
	// again says that it is to be opened again, whatever it follows. They are guarded by
	// sourceState.apply where the feed may run.
	opened, asked []source.Watched
	again         bool
	end           context.CancelCauseFunc

	wants chan struct{} // it is to be looked which tables the feed is to follow
}

// applied is the proof that travels with a pending transaction, and what it
// means for those who watch.
type applied struct {
	tx            *source.Tx
	invalidations []fresh.Invalidation
}

// follow runs the feed until the source state is closed.
func (u *sourceState) follow(o *opened) {
	f := &follower{u: u, opened: o.want, asked: o.want, excluded: o.excluded,
		kick: make(chan struct{}, 1), begun: make(chan struct{}, 1),
		wants: make(chan struct{}, 1)}
	u.follower = f
	f.keep(o.feed)
	u.locked(func() { u.exclude(o.excluded) })
	u.followed.Store(true)
	u.loops.Go(func() { u.outlives("follow the feed", f.run) })
	u.loops.Go(func() { u.outlives("take fences", f.fence) })
	u.loops.Go(func() { u.outlives("settle changes", f.settle) })
	if u.opts.Audit > 0 {
		u.loops.Go(func() { u.outlives("audit", u.audit) })
	}
	u.warmSoon()
}

// run keeps the feed connected, and chooses another when that is due.
func (f *follower) run() {
	wait := reconnectMin
	var last string
	for f.u.ctx.Err() == nil {
		if f.feed() == nil {
			if sleep(f.u.ctx, lookLost) && f.choose() {
				wait, last = reconnectMin, ""
			}
			continue
		}
		err := f.runFeed()
		if f.u.ctx.Err() != nil {
			return
		}
		if f.attached.Swap(false) {
			wait = reconnectMin
			f.gaps.Add(1)
			last, f.lost = "", 0
			if rank(f.feed()) == bestRank {
				f.backoff = 0
			}
		} else if f.lost == 0 {
			f.lost = monotonic()
		}
		if err == nil {
			err = errors.New("the feed ended")
		}
		f.again = f.again || errors.Is(err, errBetter) || errors.Is(err, errOutgrown) ||
			source.UnfollowedOf(err) != nil
		text := err.Error()
		f.loss.Store(&text)
		if errors.Is(err, source.ErrUnseen) { // nothing kept is worth anything any more
			f.change(&opened{reason: text, excluded: f.excluded})
			continue
		}
		switch {
		case errors.Is(err, errOutgrown), errors.Is(err, errBetter):
			f.u.log.Info("feed opened again", "event", eventFeed, "feed", f.feed().Mode(),
				"why", text)
		case text != last: // once, not at every attempt
			log := f.u.log.With("event", eventGap, "feed", f.feed().Mode())
			source.LogRetry(log, "feed lost, connecting again", err)
			last = text
		}
		for more := true; more; more = f.feed() != nil && !f.choose() {
			sleep(f.u.ctx, wait/2+rand.N(wait/2+1))
			wait = min(2*wait, reconnectMax)
			if f.u.ctx.Err() != nil {
				return
			}
		}
	}
}

// fence asks every 50 ms whether all that is visible has been applied. It is
// what bounds the age of an answer, and what notices a feed that is dead or
// stalled, whatever the connection says. While the source state rests it asks less often.
func (f *follower) fence() {
	every := fenceEvery
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		f.u.waits.Look()
		if f.attached.Load() {
			f.fenceOnce(f.u.ctx)
		}
		next := fenceEvery
		if f.u.mayIdle() {
			next = idleFence
		}
		if next != every {
			every = next
			tick.Reset(every)
		}
		select {
		case <-f.u.ctx.Done():
			return
		case <-tick.C:
		case <-f.begun:
		}
	}
}

// fenceSoon has the next fence taken now, and not when its time has come.
func (f *follower) fenceSoon() {
	select {
	case f.begun <- struct{}{}:
	default:
	}
}

// fenceOnce takes a fence. It may be called by many goroutines.
func (f *follower) fenceOnce(ctx context.Context) {
	begin := monotonic()
	epoch, suspect := f.u.domain.Applied().Epoch, f.suspect.Load()
	ctx, cancel := context.WithTimeout(ctx, fenceTimeout)
	defer cancel()
	feed := f.feed()
	if feed == nil {
		return
	}
	if _, err := feed.Fence(ctx); err != nil {
		f.fenceFailed(err, begin)
		return
	}
	if f.u.domain.Applied().Epoch != epoch {
		return
	}
	f.fences.Add(1)
	f.u.storeDue()
	if suspect {
		f.caughtUp()
	}
	f.u.domain.Fenced(begin)
}

// fenceFailed counts a fence that was not reached, and says so once a minute. That the
// feed is lost is said by who connects it again.
func (f *follower) fenceFailed(err error, now int64) {
	if f.u.ctx.Err() != nil || errors.Is(err, context.Canceled) { // who waited has gone
		return
	}
	f.failed.Add(1)
	said := f.failedSaid.Load()
	recent := said != 0 && now-said < int64(time.Minute)
	if recent || errors.Is(err, source.ErrDetached) || errors.Is(err, source.ErrUnseen) {
		return
	}
	f.failedSaid.Store(now)
	f.u.log.Warn("the feed could not be shown to be complete, and what is kept counts as stale "+
		"until it is", "event", eventGap, "failed", f.failed.Load(), "err", err)
}

// settle proves transactions visible, all that are pending with one probe, and
// asks again later for those that are not.
func (f *follower) settle() {
	wait, probed, gaveBack := settleMin, monotonic()-int64(settleIdle), false
	for {
		select {
		case <-f.u.ctx.Done():
			return
		case <-f.kick:
			wait = settleMin
		}
		f.untilProbe(probed)
		probed = monotonic()
		for f.settleOnce() > 0 && sleep(f.u.ctx, wait) {
			wait = min(2*wait, settleMax)
		}
		if !gaveBack && f.givesBack() {
			gaveBack = true
			f.u.loops.Go(debug.FreeOSMemory)
		}
	}
}

// untilProbe waits until a probe is due, one having been made at probed.
func (f *follower) untilProbe(probed int64) {
	idle := settleIdle - time.Duration(monotonic()-probed)
	if idle <= 0 {
		return
	}
	if !f.u.watched() {
		timer := time.NewTimer(idle)
		defer timer.Stop()
		select {
		case <-f.u.ctx.Done():
		case <-timer.C:
		case <-f.u.domain.Wanted():
		}
	}
	if early := settleEvery - time.Duration(monotonic()-probed); early > 0 {
		sleep(f.u.ctx, early)
	}
}

// settleOnce probes once and returns how many transactions are still pending.
func (f *follower) settleOnce() int {
	pending := f.u.domain.Unsettled() // before the probe: what comes later is not covered
	if len(pending) == 0 {
		return 0
	}
	txs := make([]*source.Tx, len(pending))
	for i, p := range pending {
		txs[i] = p.Ref.(*applied).tx
	}
	ctx, cancel := context.WithTimeout(f.u.ctx, fenceTimeout)
	defer cancel()
	// A feed says nothing of what another has delivered: until it has attached, what is
	// pending may be that. The order of these two matters.
	feed := f.feed()
	if feed == nil || f.changed.Load() {
		return len(pending)
	}
	f.probes.Add(1)
	settled, err := feed.Settled(ctx, txs)
	if err != nil {
		return len(pending)
	}
	proved := pending[:0]
	for i, p := range pending {
		if settled[i] {
			proved = append(proved, p)
		}
	}
	left := len(pending) - len(proved)
	f.u.domain.Settle(proved...)
	for _, p := range proved {
		announce(p.Ref.(*applied), p.Invalidations(), f.u)
	}
	f.u.storeDue()
	f.u.apply.Lock()
	defer f.u.apply.Unlock()
	f.settledOnDisk()
	return left
}

// Attached begins a new epoch. Those who watch read again at once, and once more
// when what was before is visible for sure.
func (f *follower) Attached(origin string, pos source.Position, before uint64) {
	f.u.apply.Lock()
	defer f.u.apply.Unlock()
	defer f.caught("begin to follow the feed")
	if f.u.broken {
		return
	}
	first := f.u.domain.Applied().Epoch == 0
	f.suspect.Store(false)
	f.beginOnDisk()
	var ref any
	if before != 0 {
		tx := &source.Tx{ID: before, Pos: pos, All: true}
		ref = &applied{tx: tx, invalidations: f.u.invalidations(tx)}
	}
	f.u.domain.Reset(origin, fresh.Position(pos), ref, monotonic())
	f.u.setFollows(namesOf(f.opened))
	f.u.exclude(f.excluded)
	why := f.cause(first)
	f.u.begun(why)
	f.u.changes.begin(time.Now())
	f.beginOnDisk()
	f.follows("feed attached: a new epoch", pos, "event", eventEpoch,
		"epoch", f.u.domain.Applied().Epoch, "why", why)
	f.notifyWatchers(first)
	f.settleSoon()
}

// givesBack reports whether what reading the catalogue took is to be given back. It is several
// times what stays, and nothing else may need it. On MariaDB the feed reads the log before its
// beginning after it has attached, and the catalogue for that: until all of it is settled.
func (f *follower) givesBack() bool {
	f.u.apply.Lock()
	defer f.u.apply.Unlock()
	return len(f.u.revisions) >= manyForms && f.u.domain.Applied().Epoch != 0
}

// manyForms is from how many resources on memory is given back.
const manyForms = 500

// Resumed goes on in the epoch that there is. In a process that has just begun
// it is the first, with nothing in memory, and what is on disk is good as soon
// as the feed has caught up. Where tables are left out, or were, copies may be of what no
// feed has told.
func (f *follower) Resumed(origin string, pos source.Position) (goesOn bool) {
	f.u.apply.Lock()
	defer f.u.apply.Unlock()
	defer f.caught("go on with the feed")
	switch {
	case f.u.broken, len(f.excluded)+len(f.u.excluded) > 0, f.u.readmits(f.opened):
		return false
	case f.u.domain.Resume(origin, fresh.Position(pos)):
		f.follows("feed goes on without a gap", pos, "event", eventFeed)
	case f.u.domain.Applied().Epoch == 0 && f.resumeOnDisk():
		f.u.domain.Reset(origin, fresh.Position(pos), nil, 0)
		f.u.begun("hotrow has started, and goes on where an earlier process stopped")
		f.u.changes.begin(time.Now())
		f.suspect.Store(true)
		f.u.setFollows(namesOf(f.opened))
		f.follows("feed goes on where an earlier process stopped", pos, "event", eventFeed)
		f.notifyWatchers(true)
	default:
		return false
	}
	return true
}

// follows notes that the feed is there, and has a fence taken at once. What a feed has
// reached loads can reach: they need not wait for the next that may try.
func (f *follower) follows(how string, pos source.Position, more ...any) {
	f.attached.Store(true)
	f.changed.Store(false)
	f.u.down.Store(0)
	f.fenceSoon()
	f.followSoon() // a reload may have been beside
	feed := f.feed()
	f.u.log.Info(how, append([]any{"feed", feed.Mode(), "position", source.Spell(feed, pos)},
		more...)...)
}

// notifyWatchers ends what watchers have seen so far: they must read again. u.apply
// is held.
func (f *follower) notifyWatchers(first bool) {
	for _, form := range f.u.revisions {
		if !first {
			form.r.counts.gaps.Add(1)
		}
		form.r.watch.reset(f.u.token(f.u.domain.Applied()))
	}
	f.u.waits.Look()
}

// Apply drops what a transaction touched.
func (f *follower) Apply(tx *source.Tx) {
	f.u.apply.Lock()
	defer f.u.apply.Unlock()
	defer f.caught("apply a change")
	if f.u.broken {
		return
	}
	a := &applied{tx: tx, invalidations: f.u.invalidations(tx)}
	var ref any
	if tx.ID != 0 {
		ref = a
	}
	f.u.domain.Apply(fresh.Position(tx.Pos), a.invalidations, ref, monotonic())
	f.settledOnDisk()
	f.u.storeDue()
	if !tx.All { // which is counted as a gap, or is the beginning of a feed
		f.u.count(a.invalidations, func(c *counts) *atomic.Uint64 { return &c.fed })
		f.u.countHot(a.invalidations)
	}
	f.u.changes.note(f.u.bySpace, a, f.u.token(f.u.domain.Applied()))
	if ref == nil {
		announceTo(a, a.invalidations, f.u, f.u.bySpace)
		return
	}
	f.settleSoon()
}

// settleSoon has the settler look at what is pending.
func (f *follower) settleSoon() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// Advance publishes a position up to which there is nothing more to come.
func (f *follower) Advance(pos source.Position) {
	f.u.apply.Lock()
	defer f.u.apply.Unlock()
	defer f.caught("note a position")
	if f.u.broken {
		return
	}
	f.u.domain.Advance(fresh.Position(pos))
	f.settledOnDisk()
}

// SchemaChanged has the resources of these tables compiled again before anything of
// them is kept.
func (f *follower) SchemaChanged(tables []string) {
	f.u.log.Info("tables have changed their definition", "event", eventSchema, "tables", tables)
	f.u.outlives("note a changed definition", func() { f.u.schemaChanged(tables) })
}

// sleep waits for d and reports whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
