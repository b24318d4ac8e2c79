package resource

import (
	"context"
	"errors"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/source"
)

const (
	// renewEvery is how often a revision whose statements fail is compiled again, and
	// reshapedEvery the same of one that is of other types than its tables.
	renewEvery    = time.Second
	reshapedEvery = 100 * time.Millisecond

	// compileStaleEvery bounds the wait between two attempts to compile a revision whose
	// definition has changed so that it does not compile.
	compileStaleEvery = 5 * time.Second
)

// A schemaState is what a revision knows of changes of what it was compiled from. It is guarded
// by sourceState.apply.
type schemaState struct {
	changes int        // how often the definition was said to have changed
	known   compiledAt // the last that compiled; of a revision that no feed follows: that was tried
	held    bool       // nothing is kept until it has been compiled again
}

// A compiledAt is when a revision was compiled: told is how many changes it was told of before,
// and begun when that began.
type compiledAt struct {
	told  int
	begun int64
}

// A compilation is what has come of compiling a revision.
type compilation struct {
	compiledAt
	plan source.Plan
	err  error
}

// stale reports whether there are changes that the last compilation does not know.
func (d *schemaState) stale() bool { return d.changes != d.known.told }

// schemaChanged has the revisions over tables compiled again. Nothing is kept of them until that
// is done: a document made by an old revision would be served for as long as no row of it
// changes. Their loads wait for that.
func (u *sourceState) schemaChanged(tables []string) {
	if len(tables) == 0 {
		return
	}
	u.locked(func() { u.doubt(tables) })
}

// doubt is schemaChanged with u.apply held.
func (u *sourceState) doubt(tables []string) {
	u.told++
	for _, f := range u.revisions {
		if f.plan != nil && reads(f.plan, tables) {
			f.schema.changes++
			u.hold(f)
			f.verifyAgain()
		}
	}
	u.compileSoon()
}

// hold has nothing kept of a revision. u.apply is held.
func (u *sourceState) hold(f *revision) {
	if !f.schema.held {
		f.schema.held = true
		f.unverified.Store(true)
		u.domain.Hold(f.everything())
		u.redefined(f)
	}
}

// schemaUnsure has the revisions compiled again that stand on more than tables. The feed knows
// of every change of those since it was opened; they were compiled before.
func (u *sourceState) schemaUnsure() {
	u.locked(func() {
		for _, f := range u.revisions {
			if f.plan != nil && len(f.spec.Table.Depends) > 0 {
				f.schema.changes++
			}
		}
	})
	u.compileSoon()
}

func (u *sourceState) compileSoon() {
	select {
	case u.schemaStale <- struct{}{}:
	default:
	}
}

// verified says that a revision is what c would make of it. A change of which it was told since
// goes on.
func (u *sourceState) verified(f *revision, c *compilation) {
	u.apply.Lock()
	defer u.apply.Unlock()
	f.schema.known = c.compiledAt
	if f.schema.stale() || u.bySpace[f.space] != f { // a reload has another
		return
	}
	f.endVerification(nil)
	if f.schema.held {
		f.schema.held = false
		f.unverified.Store(false)
		u.domain.Release(f.everything(), 0)
	}
}

// everything is a touch of all that is kept of f.
func (f *revision) everything() []fresh.Invalidation {
	list := []fresh.Invalidation{{Space: f.space, Whole: true}}
	if f.lists != nil {
		list = append(list, fresh.Invalidation{Space: f.lists, Whole: true})
	}
	return list
}

// refuted says that a revision does not compile. Its loads go on, and say what is wrong, if
// anything is. It is tried again; of one that no feed follows the loads do that, and nothing
// is kept but for a time.
func (u *sourceState) refuted(f *revision, c *compilation) {
	u.apply.Lock()
	defer u.apply.Unlock()
	if f.schema.changes == c.told {
		f.endVerification(nil)
	}
	if !f.followed() {
		f.schema.known = c.compiledAt
		return
	}
	if u.bySpace[f.space] != f {
		return
	}
	u.hold(f)
	if !f.schema.stale() {
		f.schema.changes++
		u.compileSoon()
	}
}

// recompile compiles revisions again whenever definitions have changed: until the
// database has answered, since a feed tells of a change once, and until they compile.
func (s *Set) recompile(u *sourceState) {
	wait, timer := reconnectMin, time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-u.ctx.Done():
			return
		case <-u.schemaStale:
			wait = reconnectMin
		case <-timer.C:
			wait = min(2*wait, compileStaleEvery)
		}
		done := false
		u.guarded("compile again", func() { done = s.compileStale(u) })
		if !done {
			timer.Reset(wait)
		}
	}
}

// compileStale reports whether no revision is left in doubt.
func (s *Set) compileStale(u *sourceState) bool {
	u.compiling.Lock()
	defer u.compiling.Unlock()
	u.apply.Lock()
	var doubted []*revision
	for _, f := range u.revisions {
		if f.schema.stale() {
			doubted = append(doubted, f)
		}
	}
	u.apply.Unlock()
	done := true
	for _, f := range doubted {
		done = s.refresh(u, f, false) && done
	}
	return done
}

// renew compiles a revision again whose statements name what is not there any more:
// the feed tells of that later. Who finds it being done waits. With reshaped, what it
// names is there and of other types: who is too early waits too, and whatever is compiled
// replaces f, since the types may be again what they were.
func (s *Set) renew(u *sourceState, f *revision, reshaped bool) {
	every := renewEvery
	if reshaped {
		every = reshapedEvery
	}
	for {
		wait := s.renewOnce(u, f, every, reshaped)
		if wait <= 0 || !reshaped || !sleep(u.ctx, wait) {
			return
		}
	}
}

// renewOnce compiles f again if that was not done for so long, and returns how long that
// must wait otherwise.
func (s *Set) renewOnce(u *sourceState, f *revision, every time.Duration, anew bool) time.Duration {
	u.compiling.Lock()
	defer u.compiling.Unlock()
	if f.r.revision.Load() != f {
		return 0
	}
	now := monotonic()
	if ago := time.Duration(now - f.renewed); f.renewed != 0 && ago < every {
		return every - ago
	}
	f.renewed = now
	s.refresh(u, f, anew)
	if next := f.r.revision.Load(); next != f && samePlan(next.plan, f.plan) {
		next.renewed = f.renewed
	}
	return 0
}

// refresh compiles one revision again and reports whether it compiles. A resource that
// does not any more keeps its old revision, and nothing in memory: its reads say what is
// wrong, if anything is. With anew it has a new revision even if that is like the old one.
// u.compiling is held.
func (s *Set) refresh(u *sourceState, f *revision, anew bool) bool {
	c := u.compilationOf(f)
	return s.compiled(u, f, &c, anew)
}

// compilationOf compiles a revision.
func (u *sourceState) compilationOf(f *revision) (c compilation) {
	ctx, cancel := context.WithTimeout(u.ctx, 10*time.Second)
	defer cancel()
	u.apply.Lock()
	c.told, c.begun = f.schema.changes, monotonic()
	u.apply.Unlock()
	c.plan, c.err = u.compile(ctx, &f.spec)
	if c.err != nil && !source.ClassOf(c.err).Passing() {
		// The catalogue is read by several statements, and a table may be replaced between two.
		c.plan, c.err = u.compile(ctx, &f.spec)
	}
	return c
}

// compiled does what a compilation of f means, see refresh. u.compiling is held.
func (s *Set) compiled(u *sourceState, f *revision, c *compilation, anew bool) bool {
	switch err := c.err; {
	case err == nil && (anew || !samePlan(c.plan, f.plan)):
		s.replace(u, f, c)
	case err == nil:
		u.verified(f, c)
	case source.ClassOf(err) == source.Unavailable:
		u.apply.Lock()
		f.endVerification(err)
		u.apply.Unlock()
		return false
	case source.ClassOf(err).Passing():
		return false
	default:
		what := "resource does not compile: it is not served"
		if f.plan == nil {
			f.refused.Store(&err)
		} else {
			what = "resource does not compile any more: nothing of it is kept"
			u.refuted(f, c)
		}
		if text := err.Error(); text != f.complaint { // once, not at every attempt
			f.complaint = text
			u.log.Error(what, "event", eventSchema, "resource", f.r.name, "err", err)
		}
		return false
	}
	return true
}

// outdated reports whether err comes from a revision that is not the resource's any
// more, so that the caller, who began at begun, asks the new one.
func (r *Resource) outdated(f *revision, err error, begun int64) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, source.ErrReshaped):
		if monotonic()-begun > int64(f.src.opts.Timeout) {
			return false
		}
		f.src.renew(f, true)
	case source.Reshaped(err):
		f.src.renew(f, false)
	case !errors.Is(err, errReplaced):
		return false
	}
	return r.revision.Load() != f
}
