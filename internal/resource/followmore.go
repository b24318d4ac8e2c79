package resource

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// What the revisions read may change while the feed runs: by a reload, or by a definition. The
// feed then follows other tables in the epoch that there is, and what is kept of the rest stays
// good. Of a table that it did not follow nothing is kept until it does, and until what it had
// passed over of it is visible; of one that it gives up nothing may be kept from before.

// followLimit is for how long it is tried again to have the feed follow other tables; then it
// is opened again.
const followLimit = 10 * time.Second

// outgrown reports whether now has a table or a column that opened has not.
func outgrown(opened, now []source.Watched) bool {
	for _, w := range now {
		i := slices.IndexFunc(opened, func(o source.Watched) bool { return o.Table == w.Table })
		if i < 0 {
			return true
		}
		for _, c := range w.Columns {
			if !slices.Contains(opened[i].Columns, c) {
				return true
			}
		}
	}
	return false
}

// differs reports whether a feed that was opened for some tables is to follow others now.
func differs(opened, now []source.Watched) bool {
	return len(opened) != len(now) || outgrown(opened, now)
}

// replan has the feed follow what the revisions need now: another one, if this has not attached
// yet. u.apply is held.
func (f *follower) replan() {
	want := f.u.wanted(f.u.excluded)
	switch {
	case f.end == nil:
	case f.attached.Load():
		if differs(f.opened, want) {
			f.followSoon()
		}
	case outgrown(f.asked, want):
		f.end(errOutgrown)
	}
}

// followSoon has it looked which tables the feed is to follow.
func (f *follower) followSoon() {
	select {
	case f.wants <- struct{}{}:
	default:
	}
}

// followMore has the feed follow what the revisions need, whenever that changes, until ctx ends.
// Where the feed cannot, or not within followLimit, it is ended, to be opened again.
func (f *follower) followMore(ctx context.Context, end context.CancelCauseFunc) {
	defer end(errOutgrown) // after a panic, too
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wants:
		}
		wait, said, since := reconnectMin, "", monotonic()
		for more := true; more; {
			var err error
			more, err = f.followNow(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case err == nil:
				wait, since = reconnectMin, monotonic()
				continue
			case errors.Is(err, source.ErrReopen), source.UnfollowedOf(err) != nil,
				monotonic()-since > int64(followLimit):
				f.u.log.Info("the feed cannot follow other tables as it runs",
					"event", eventFeed, "feed", f.feed().Mode(), "why", err)
				return
			case err.Error() != said:
				said = err.Error()
				source.LogRetry(f.u.log.With("event", eventFeed),
					"tables not followed yet, trying again", err)
			}
			sleep(ctx, wait)
			wait = min(2*wait, reconnectMax)
		}
	}
}

// followNow has the feed follow what the revisions need now, and reports whether that was not
// what it follows. Until it has succeeded nobody knows what the feed tells.
func (f *follower) followNow(ctx context.Context) (more bool, err error) {
	u := f.u
	var want []source.Watched
	u.locked(func() {
		want = u.wanted(u.excluded)
		if more = f.again || differs(f.opened, want); !more {
			return
		}
		f.asked, f.again = want, true
		left := namesOf(want)
		follows := maps.Clone(u.follows)
		maps.DeleteFunc(follows, func(table string, _ bool) bool { return !left[table] })
		u.setFollows(follows)
	})
	if !more {
		return false, nil
	}
	before, err := f.feed().Follow(ctx, want)
	if err != nil {
		return true, err
	}
	u.locked(func() { f.include(want, before) })
	return true, nil
}

// include notes that the feed follows tables. Of those that it did not follow nothing counts that
// was read before, nor until all is visible that before stands for. u.apply is held.
func (f *follower) include(tables []source.Watched, before uint64) {
	u := f.u
	defer f.caught("follow other tables")
	if u.broken {
		return
	}
	tx := &source.Tx{ID: before}
	for _, w := range tables {
		if !u.follows[w.Table] {
			tx.Tables = append(tx.Tables, w.Table)
		}
	}
	f.opened = tables
	f.again = false
	a := &applied{tx: tx, invalidations: u.invalidations(tx)}
	var ref any
	if before != 0 && len(tx.Tables) > 0 {
		ref = a
	}
	u.domain.Include(a.invalidations, ref, monotonic())
	u.setFollows(namesOf(tables))
	for _, r := range u.revisions { // after what was kept of them is gone
		u.mark(r)
	}
	u.log.Info("the feed follows other tables", "event", eventFeed, "feed", f.feed().Mode(),
		"tables", len(tables), "new", tx.Tables)
	if ref == nil {
		announceTo(a, a.invalidations, u, u.bySpace)
	} else {
		f.settleSoon()
	}
	u.doubt(tx.Tables) // nobody has told of their definitions since they were compiled
}
