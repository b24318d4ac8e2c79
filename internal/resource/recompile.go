package resource

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// renewEvery is how often a form whose statements fail is compiled again.
const renewEvery = time.Second

// recompile compiles the resources over tables again, because the definition
// of the tables has changed: until the database has answered, since a feed
// tells of a change once.
func (s *Set) recompile(u *upstream, tables []string) {
	s.loops.Add(1)
	go func() {
		defer s.loops.Done()
		wait := u.opts.ReconnectMin
		for !s.compileAgain(u, tables) && sleep(u.ctx, wait) {
			wait = min(2*wait, u.opts.ReconnectMax)
		}
	}()
}

// compileAgain reports whether the database has answered for all of them.
func (s *Set) compileAgain(u *upstream, tables []string) bool {
	u.compiling.Lock()
	defer u.compiling.Unlock()
	u.apply.Lock()
	forms := u.forms
	u.apply.Unlock()
	done := true
	for i, f := range forms {
		if f.plan != nil && reads(f.plan, tables) {
			done = s.refresh(u, i, f) && done
		}
	}
	return done
}

// renew compiles a form again whose statements name what is not there any more:
// the feed may tell of that only seconds later. Who finds it being done waits.
func (s *Set) renew(u *upstream, f *form) {
	u.compiling.Lock()
	defer u.compiling.Unlock()
	now := monotonic()
	if f.r.form.Load() != f || f.renewed != 0 && now-f.renewed < int64(renewEvery) {
		return
	}
	f.renewed = now
	u.apply.Lock()
	i := slices.Index(u.forms, f)
	u.apply.Unlock()
	if i >= 0 {
		s.refresh(u, i, f)
	}
}

// refresh compiles one form again and reports whether the database has answered.
// A resource that does not compile any more keeps its old form: its reads say
// what is wrong. u.compiling is held.
func (s *Set) refresh(u *upstream, i int, f *form) bool {
	ctx, cancel := context.WithTimeout(u.ctx, 10*time.Second)
	defer cancel()
	plan, err := u.compile(ctx, &f.spec)
	switch {
	case err == nil && !alike(plan, f.plan):
		s.replace(u, i, plan)
	case err == nil:
	case source.ClassOf(err) == source.Unavailable:
		return false
	default:
		u.log.Error("resource does not compile any more", "resource", f.r.name, "err", err)
	}
	return true
}

// outdated reports whether err comes from a form that is not the resource's any
// more, so that the caller asks the new one.
func (r *Resource) outdated(f *form, err error) bool {
	if source.ClassOf(err) == source.Missing {
		f.src.renew(f)
	} else if !errors.Is(err, errReplaced) {
		return false
	}
	return r.form.Load() != f
}
