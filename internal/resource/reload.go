package resource

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/hotrow/hotrow/internal/source"
)

// A reload replaces the revisions that the configuration says otherwise, and leaves all else as it
// is: the source state with its feed, epoch and positions, and the other revisions with what is
// kept of them. What a new revision reads is followed before anything of it is kept: see
// revision.followed.

// rules are what a configuration says of requests for a resource, and not of its documents.
type rules struct {
	Spec
	stale stalePolicy
}

// rules are those of sp, a Spec of a resource of u.
func (u *sourceState) rules(sp Spec) *rules { return &rules{sp, u.stalePolicy(sp.Stale)} }

// definition returns what of s documents and lists depend on.
func (s Spec) definition() Spec {
	s.Access, s.Writable, s.Methods, s.RequireIfMatch = Access{}, false, nil, false
	s.Stale, s.Warm = StalePolicy{}, nil
	return s
}

// Reload replaces the resources by specs. When one of them is wrong nothing
// changes and the error names all that are.
//
// A resource that is defined as before keeps all that is kept of it, and its watchers. Another
// one begins with nothing in memory. Its source is followed anew only if the feed does not tell
// of what it reads.
func (s *Set) Reload(ctx context.Context, specs []Spec) error {
	gone, err := s.reload(ctx, specs)
	for _, u := range gone { // without s.mu, for which what it waits for may wait
		u.close()
	}
	return err
}

// reload is Reload, and returns the sources that are to be closed.
func (s *Set) reload(ctx context.Context, specs []Spec) (gone []*sourceState, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed // what is built now nobody would close
	}
	bySource := make(map[string][]Spec)
	for _, sp := range specs {
		if _, ok := s.options[sp.Source]; !ok {
			return nil, fmt.Errorf("resource %s: there is no source %q", sp.Table.Name, sp.Source)
		}
		if sp.MaxLimit == 0 {
			sp.MaxLimit = 1000
		}
		bySource[sp.Source] = append(bySource[sp.Source], sp)
	}
	built := make(map[string]*sourceState)
	var changes []*sourceChange
	var errs []error
	for name, o := range s.options {
		u, list := s.sources[name], bySource[name]
		if u != nil && u.stays(list) {
			c, err := u.changeTo(ctx, list)
			changes, errs = append(changes, c), append(errs, err)
			continue
		}
		u, err := s.build(ctx, o, list)
		built[name], errs = u, append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		for _, u := range built {
			if u != nil {
				s.discard(u)
			}
		}
		return nil, err
	}
	var told []*revision
	for _, c := range changes {
		told = append(told, s.change(c)...)
	}
	gone = s.swap(built)
	for _, f := range told { // after the names: who reads again finds what there is now
		f.r.watch.redefined(f.src.token(f.src.domain.Applied()))
	}
	return gone, nil
}

// stays reports whether u can serve specs, whatever it serves now. Set.mu is held.
func (u *sourceState) stays(specs []Spec) bool {
	broken := false
	u.locked(func() { broken = u.broken })
	return !broken && (len(u.revisions) == 0) == (len(specs) == 0)
}

// A sourceChange is what a reload makes of one source.
type sourceChange struct {
	u     *sourceState
	specs []Spec
	kept  []*revision   // by the place of its spec; nil: it is a new one
	plans []source.Plan // of the new; nil: the database was not there
	told  int           // see sourceState.told, before they were compiled
}

// changeTo compiles what specs define otherwise than u has it. Set.mu is held.
func (u *sourceState) changeTo(ctx context.Context, specs []Spec) (*sourceChange, error) {
	c := &sourceChange{u: u, specs: specs, kept: make([]*revision, len(specs)),
		plans: make([]source.Plan, len(specs))}
	u.locked(func() { c.told = u.told })
	have := make(map[string]*revision, len(u.revisions))
	for _, f := range u.revisions {
		have[f.r.name] = f
	}
	var at []int
	var others []Spec
	var errs []error
	for i, sp := range specs {
		f := have[sp.Table.Name]
		if f != nil && reflect.DeepEqual(f.spec.definition(), sp.definition()) {
			c.kept[i] = f
		} else {
			at, others = append(at, i), append(others, sp)
		}
		if w := sp.Warm; w != nil && (f == nil || !reflect.DeepEqual(f.r.Spec().Warm, w)) {
			if err := CheckWarm(ctx, u.source, sp.Table.Name, w.Query); err != nil {
				errs = append(errs, &CompileError{Resource: sp.Table.Name, Err: err})
			}
		}
	}
	var plans []source.Plan
	var failed []error
	if len(others) > 0 {
		plans, failed = u.compileAll(ctx, others)
	}
	for i, which := range at {
		switch name, err := others[i].Table.Name, failed[i]; {
		case err == nil:
			c.plans[which] = plans[i]
		case source.ClassOf(err).Passing():
			u.log.Warn("resource not compiled yet", "resource", name, "err", err)
		default:
			errs = append(errs, &CompileError{Resource: name, Err: err})
		}
	}
	return c, errors.Join(errs...)
}

// change makes a change, and returns the revisions whose watchers are to be told: they are out of
// use, or others may read them. Set.mu is held.
func (s *Set) change(c *sourceChange) (told []*revision) {
	u, later := c.u, false
	kept := make(map[*revision]bool)
	u.locked(func() {
		old := u.revisions
		revisions := slices.Clone(c.kept)
		for i, sp := range c.specs {
			if kept[revisions[i]] = true; revisions[i] == nil {
				revisions[i] = s.newRevision(u, sp)
				later = later || c.plans[i] == nil
				s.begin(revisions[i], c.plans[i], u.told != c.told)
			}
		}
		u.setRevisions(revisions)
		for i, f := range revisions {
			now, was := u.rules(c.specs[i]), f.r.rules.Load()
			f.r.rules.Store(now)
			if c.kept[i] == nil {
				f.bind()
				f.r.revision.Store(f)
			}
			if now.Access != was.Access {
				s.lists.access.Add(1)
				told = append(told, f)
			}
		}
		for _, f := range old {
			if !kept[f] {
				s.end(u, f)
				told = append(told, f)
			}
		}
		if u.follower != nil {
			u.follower.replan()
		}
	})
	u.compileSoon()
	if u.followed.Load() {
		u.warmSoon()
	}
	if later && u.feed.Load() != nil {
		s.compilesLater(u)
	}
	return told
}

// begin makes f, a new revision, with its plan. doubted says that definitions have changed since
// it was compiled. u.apply is held.
func (s *Set) begin(f *revision, plan source.Plan, doubted bool) {
	u := f.src
	f.schema.known.begun = u.born // or later
	if plan == nil {
		return
	}
	s.complete(f, plan)
	if doubted {
		f.schema.changes++
		u.hold(f)
		f.verifyAgain()
	}
}

// end takes a revision of u that was replaced, or whose resource is no more, out of use. Who waits
// for it goes on, and lists that embed rows of it are read again. u.apply is held.
func (s *Set) end(u *sourceState, f *revision) {
	u.redefined(f)
	f.endVerification(nil)
	s.retire(f)
	if f.schema.held {
		f.schema.held = false
		u.domain.Release(f.everything(), 0)
	}
}

// swap puts the new source states in the place of the old, which do nothing any more, and returns
// those. s.mu is held.
func (s *Set) swap(built map[string]*sourceState) (gone []*sourceState) {
	for name, u := range built {
		if old := s.sources[name]; old != nil {
			old.next.Store(u)
			gone = append(gone, old)
		}
		s.sources[name] = u
		for _, f := range u.revisions {
			f.bind()
			f.r.rules.Store(u.rules(f.spec))
			f.r.revision.Store(f)
		}
		s.lists.access.Add(1)
	}
	m := make(map[string]*Resource)
	for _, u := range s.sources {
		for _, f := range u.revisions {
			m[f.r.name] = f.r
		}
	}
	s.byName.Store(&m)
	for _, u := range gone {
		u.leaveDisk()
	}
	for _, u := range built {
		s.start(u)
	}
	for _, u := range gone {
		for _, f := range u.revisions {
			s.retire(f)
		}
		u.cancel()
	}
	return gone
}
