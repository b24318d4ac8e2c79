package resource

import (
	"context"
	"maps"
	"slices"

	"github.com/hotrow/hotrow/internal/source"
)

// A table that the feed cannot follow costs the resources that read it, and no others: of
// them nothing is kept, or it is kept for their ttl, as of a source without a feed.
//
// Its resources are left out before a feed is run that does not follow it, and come back in
// the epoch that begins with one that does. No copy of one lives in the other.

// followed reports whether a feed tells of what changes the revision's documents.
func (f *revision) followed() bool { return f.src.followed.Load() && f.excluded.Load() == nil }

// unfollowed says why no feed tells of changes, where followed reports that.
func (f *revision) unfollowed() string {
	if why := f.excluded.Load(); why != nil {
		return "no feed tells of changes: " + *why
	}
	return "no feed tells of changes"
}

// opened is a feed, or none, with what it was opened for.
type opened struct {
	feed     source.Feed // nil: none is possible
	reason   string
	want     []source.Watched
	excluded map[string]string // the tables that it leaves out, and why
}

// open opens the best feed for the revisions of u, as they are now: of all their tables, or
// without those of which none can tell every change.
func (u *sourceState) open(ctx context.Context) (o opened, err error) {
	o.excluded = make(map[string]string)
	for {
		u.apply.Lock()
		o.want = u.wanted(o.excluded)
		u.apply.Unlock()
		o.feed, o.reason, err = u.source.OpenFeed(ctx, u.opts.Mode, o.want)
		e := source.UnfollowedOf(err)
		if e == nil || !slices.ContainsFunc(o.want, e.Names) {
			break
		}
		maps.Copy(o.excluded, e.Why)
		if !e.Leaves(o.want) { // as if the mode were none, until that is mended
			o.feed, o.want, err = nil, nil, nil
			break
		}
	}
	if err == nil && len(o.want) == 0 && len(o.excluded) > 0 {
		none := source.UnfollowedError{Why: o.excluded}
		o.reason = "no feed, so nothing is cached but for a ttl: " + none.Error()
	}
	return o, err
}

// without returns the first of a plan's tables that is in left, and why; "": none is.
func without(p source.Plan, left map[string]string) (table, why string) {
	if len(left) == 0 {
		return "", ""
	}
	for _, w := range Watched([]source.Plan{p}) {
		if why, found := left[w.Table]; found {
			return w.Table, why
		}
	}
	return "", ""
}

// exclude makes left the tables that the feed leaves out. u.apply is held.
func (u *sourceState) exclude(left map[string]string) {
	for _, table := range slices.Sorted(maps.Keys(left)) {
		if _, known := u.excluded[table]; known {
			continue
		}
		log := u.log.With("event", eventFeed, "table", table, "why", left[table])
		if u.allTimed(table) {
			log.Info("a table is not followed: its rows are kept for the ttl of their resources")
		} else {
			log.Error("a table cannot be followed: no resource without a ttl keeps its rows")
		}
	}
	for _, table := range slices.Sorted(maps.Keys(u.excluded)) {
		if _, still := left[table]; !still {
			u.log.Info("a table is followed again", "event", eventFeed, "table", table)
		}
	}
	u.excluded = left
	u.leaves.Store(int64(len(left)))
	for _, f := range u.revisions {
		u.mark(f)
	}
}

// allTimed reports whether every resource that reads a table has a ttl. u.apply is held.
func (u *sourceState) allTimed(table string) bool {
	only := map[string]string{table: ""}
	return !slices.ContainsFunc(u.revisions, func(f *revision) bool {
		if f.plan == nil || f.spec.TTL > 0 {
			return false
		}
		reads, _ := without(f.plan, only)
		return reads != ""
	})
}

// mark notes whether the feed leaves f out. u.apply is held, or nobody else sees f yet.
func (u *sourceState) mark(f *revision) {
	if f.plan == nil {
		return
	}
	if found, ok := source.ByItself(f.plan, f.r.name); ok {
		why := f.plan.ByItself()
		if f.excluded.Swap(&why) == nil && f.spec.TTL == 0 {
			u.log.Warn(found.Text, "event", eventFeed, "resource", f.r.name, "mend", found.Why)
		}
	} else if _, why := without(f.plan, u.excluded); why != "" {
		f.excluded.Store(&why)
	} else if u.unwatched(f.plan) {
		f.excluded.Store(&toBeFollowed)
	} else {
		f.excluded.Store(nil)
	}
}

// toBeFollowed is why the feed leaves out what a reload has added: see sourceState.unwatched.
var toBeFollowed = "it does not follow all of the tables yet"

// unwatched reports whether a plan reads a table that the feed which has attached does not
// follow. Before one has, nothing is kept. u.apply is held, or nobody else knows u yet.
func (u *sourceState) unwatched(p source.Plan) bool { return u.readmits(Watched([]source.Plan{p})) }

// readmits reports whether a feed of tables follows one that the feed which has attached does not:
// of that nobody has told changes. u.apply is held.
func (u *sourceState) readmits(tables []source.Watched) bool {
	return u.follows != nil && slices.ContainsFunc(tables, func(w source.Watched) bool {
		return !u.follows[w.Table]
	})
}

// namesOf returns the names of tables.
func namesOf(tables []source.Watched) map[string]bool {
	names := make(map[string]bool, len(tables))
	for _, w := range tables {
		names[w.Table] = true
	}
	return names
}

// readmits reports whether a feed follows a table that the present one leaves out.
func (f *follower) readmits(o *opened) bool {
	for table := range f.excluded {
		if _, still := o.excluded[table]; !still {
			return true
		}
	}
	return false
}
