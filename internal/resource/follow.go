package resource

import (
	"context"
	"errors"
	"math/rand/v2"
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
)

// A follower turns what a feed says into what package fresh needs: it is the
// source.Handler of one upstream.
type follower struct {
	u        *upstream
	feed     source.Feed
	kick     chan struct{} // something is to be settled
	begun    chan struct{} // the feed has attached: nothing is fresh before a fence
	attached atomic.Bool
	suspect  atomic.Bool // the feed has resumed, and has not caught up yet
	schema   func(tables []string)

	gaps, fences atomic.Uint64
}

// applied is the proof that travels with a pending transaction, and what it
// means for those who watch.
type applied struct {
	tx      *source.Tx
	touches []fresh.Touch
}

// follow runs the feed until the upstream is closed.
func (u *upstream) follow(feed source.Feed, schema func([]string)) {
	f := &follower{u: u, feed: feed, kick: make(chan struct{}, 1), schema: schema,
		begun: make(chan struct{}, 1)}
	u.follower = f
	if r, ok := feed.(source.Resumer); ok && u.disk != nil {
		r.Keep(keeper{u.disk})
	}
	u.followed.Store(true)
	u.loops.Add(3)
	go f.run()
	go f.fence()
	go f.settle()
	u.loops.Go(u.refillAll)
	if u.opts.Audit > 0 {
		u.loops.Go(u.audit)
	}
	var warm []*Resource
	for _, form := range u.forms {
		if form.spec.Warm != nil {
			warm = append(warm, form.r)
		}
	}
	if len(warm) > 0 {
		u.loops.Go(func() { u.warm(warm) })
	}
}

// run keeps the feed connected.
func (f *follower) run() {
	defer f.u.loops.Done()
	wait := f.u.opts.ReconnectMin
	var last string
	for f.u.ctx.Err() == nil {
		err := f.feed.Run(f.u.ctx, f)
		if f.u.ctx.Err() != nil {
			return
		}
		if f.attached.Swap(false) {
			wait = f.u.opts.ReconnectMin
			f.gaps.Add(1)
			last = ""
		}
		if err == nil {
			err = errors.New("the feed ended")
		}
		if text := err.Error(); text != last { // once, not at every attempt
			f.u.log.Warn("feed lost, connecting again", "feed", f.feed.Mode(), "err", err)
			last = text
		}
		sleep(f.u.ctx, wait/2+rand.N(wait/2+1))
		wait = min(2*wait, f.u.opts.ReconnectMax)
	}
}

// fence asks every 50 ms whether all that is visible has been applied. It is
// what bounds the age of an answer, and what notices a feed that is dead or
// stalled, whatever the connection says.
func (f *follower) fence() {
	defer f.u.loops.Done()
	tick := time.NewTicker(fenceEvery)
	defer tick.Stop()
	for {
		if f.attached.Load() {
			f.fenceOnce()
		}
		select {
		case <-f.u.ctx.Done():
			return
		case <-tick.C:
		case <-f.begun:
		}
	}
}

func (f *follower) fenceOnce() {
	begin := monotonic()
	epoch, suspect := f.u.domain.Applied().Epoch, f.suspect.Load()
	ctx, cancel := context.WithTimeout(f.u.ctx, fenceTimeout)
	defer cancel()
	_, err := f.feed.Fence(ctx)
	if err != nil || f.u.domain.Applied().Epoch != epoch {
		return
	}
	f.fences.Add(1)
	f.u.keepDue()
	if suspect {
		f.caughtUp()
	}
	f.u.domain.Fenced(begin)
}

// settle proves transactions visible, all that are pending with one probe, and
// asks again later for those that are not.
func (f *follower) settle() {
	defer f.u.loops.Done()
	wait := settleMin
	for {
		select {
		case <-f.u.ctx.Done():
			return
		case <-f.kick:
			wait = settleMin
		}
		for f.settleOnce() > 0 && sleep(f.u.ctx, wait) {
			wait = min(2*wait, settleMax)
		}
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
	settled, err := f.feed.Settled(ctx, txs)
	if err != nil {
		return len(pending)
	}
	left := 0
	for i, p := range pending {
		if !settled[i] {
			left++
			continue
		}
		f.u.domain.Settle(p)
		announce(p.Ref.(*applied), f.u)
	}
	f.u.keepDue()
	f.u.apply.Lock()
	defer f.u.apply.Unlock()
	f.settledOnDisk()
	return left
}

// Attached begins a new epoch.
func (f *follower) Attached(origin string, pos source.Position) {
	f.u.apply.Lock()
	defer f.u.apply.Unlock()
	first := f.u.domain.Applied().Epoch == 0
	f.suspect.Store(false)
	f.beginOnDisk()
	f.u.domain.Reset(origin, fresh.Position(pos))
	f.beginOnDisk()
	f.follows("feed attached", pos)
	f.tellWatchers(first)
}

// Resumed goes on in the epoch that there is. In a process that has just begun
// it is the first, with nothing in memory, and what is on disk is good as soon
// as the feed has caught up.
func (f *follower) Resumed(origin string, pos source.Position) bool {
	f.u.apply.Lock()
	defer f.u.apply.Unlock()
	switch {
	case f.u.domain.Resume(origin, fresh.Position(pos)):
		f.follows("feed goes on without a gap", pos)
	case f.u.domain.Applied().Epoch == 0 && f.resumeOnDisk():
		f.u.domain.Reset(origin, fresh.Position(pos))
		f.suspect.Store(true)
		f.follows("feed goes on where an earlier process stopped", pos)
		f.tellWatchers(true)
	default:
		return false
	}
	return true
}

// follows notes that the feed is there, and has a fence taken at once.
func (f *follower) follows(how string, pos source.Position) {
	f.attached.Store(true)
	select {
	case f.begun <- struct{}{}:
	default:
	}
	f.u.log.Info(how, "feed", f.feed.Mode(), "position", uint64(pos))
}

// tellWatchers ends what watchers have seen so far: they must read again. u.apply
// is held.
func (f *follower) tellWatchers(first bool) {
	for _, form := range f.u.forms {
		if !first {
			form.r.counts.gaps.Add(1)
		}
		form.r.watch.reset(form.token(f.u.domain.Applied()))
	}
}

// Apply drops what a transaction touched.
func (f *follower) Apply(tx *source.Tx) {
	f.u.apply.Lock()
	defer f.u.apply.Unlock()
	a := &applied{tx: tx, touches: f.u.touches(tx)}
	var ref any
	if tx.ID != 0 {
		ref = a
	}
	f.u.domain.Apply(fresh.Position(tx.Pos), a.touches, ref, monotonic())
	f.settledOnDisk()
	f.u.keepDue()
	if !tx.All { // which is counted as a gap, or is the beginning of a feed
		f.u.count(a.touches, func(c *counts) *atomic.Uint64 { return &c.fed })
	}
	if ref == nil {
		announceTo(a, f.u, f.u.bySpace)
		return
	}
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// Advance publishes a position up to which there is nothing more to come.
func (f *follower) Advance(pos source.Position) {
	f.u.apply.Lock()
	defer f.u.apply.Unlock()
	f.u.domain.Advance(fresh.Position(pos))
	f.settledOnDisk()
}

// SchemaChanged has the resources of these tables compiled again.
func (f *follower) SchemaChanged(tables []string) {
	f.u.log.Info("tables have changed their definition", "tables", tables)
	f.schema(tables)
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
