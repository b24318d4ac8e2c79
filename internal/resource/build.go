package resource

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/workers"
)

// specs returns what the configuration says of the source state's resources. Set.mu is held.
func (u *sourceState) specs() []Spec {
	list := make([]Spec, len(u.revisions))
	for i, f := range u.revisions {
		list[i] = f.r.Spec()
	}
	return list
}

// build makes the source state of a source with its resources, compiled if the
// database is there. s.mu is held.
func (s *Set) build(ctx context.Context, o SourceOptions, specs []Spec) (*sourceState, error) {
	u := newSourceState(o, s.log)
	u.domain.Slots(s.lists.versions)
	if s.disk != nil {
		u.disk = s.disk.Source(o.Name)
	}
	u.renew = func(f *revision, reshaped bool) { s.renew(u, f, reshaped) }
	u.again = func(f *revision) { s.again(u, f) }
	u.rebuild = func() { s.rebuild(u) }
	var errs []error
	plans, failed := u.compileAll(ctx, specs)
	for i, sp := range specs {
		f := s.newRevision(u, sp)
		f.schema.known.begun = u.born // or later
		u.revisions = append(u.revisions, f)
		err := failed[i]
		if err == nil && sp.Warm != nil {
			err = CheckWarm(ctx, u.source, sp.Table.Name, sp.Warm.Query)
		}
		switch {
		case err == nil:
			s.complete(f, plans[i])
		case source.ClassOf(err).Passing():
			u.log.Warn("resource not compiled yet", "resource", sp.Table.Name, "err", err)
		default:
			errs = append(errs, &CompileError{Resource: sp.Table.Name, Err: err})
		}
	}
	if len(errs) > 0 {
		s.discard(u)
		return nil, errors.Join(errs...)
	}
	u.setRevisions(u.revisions)
	return u, nil
}

// compileAll makes the plans of resources, each with its own error.
func (u *sourceState) compileAll(ctx context.Context, specs []Spec) ([]source.Plan, []error) {
	if plans, errs, ok := u.compileMany(ctx, specs); ok {
		return plans, errs
	}
	plans, errs := make([]source.Plan, len(specs)), make([]error, len(specs))
	for i := range specs {
		plans[i], errs[i] = u.compile(ctx, &specs[i])
	}
	return plans, errs
}

// compileMany is compileAll by a source that compiles many at a time. It reports false for
// others, and if that panics: compiling one after the other shows which of them does.
func (u *sourceState) compileMany(
	ctx context.Context, specs []Spec,
) (plans []source.Plan, errs []error, ok bool) {
	c, ok := u.source.(source.ManyCompiler)
	if !ok {
		return nil, nil, false
	}
	list := make([]*source.Spec, len(specs))
	for i := range specs {
		list[i] = specs[i].Table
	}
	ok = false
	u.guarded("compile all", func() {
		plans, errs = c.CompileAll(ctx, list)
		ok = true
	})
	return plans, errs, ok
}

// compile makes the plan of a resource.
func (u *sourceState) compile(ctx context.Context, sp *Spec) (plan source.Plan, err error) {
	defer func() {
		if v := workers.Caught(u.log, "compile "+sp.Table.Name, recover()); v != nil {
			err = v
		}
	}()
	return u.source.Compile(ctx, sp.Table)
}

// newRevision makes the revision of a spec, not compiled, for the resource that has its
// name already or a new one.
func (s *Set) newRevision(u *sourceState, sp Spec) *revision {
	r, ok := (*s.byName.Load())[sp.Table.Name]
	if !ok {
		r = &Resource{name: sp.Table.Name, hot: s.hot}
		r.rules.Store(u.rules(sp))
	}
	f := &revision{r: r, spec: sp, src: u, number: s.Number(r.name, kindRows),
		listed: s.Number(r.name, kindLists), spellings: s.Number(r.name, kindSpellings),
		copier: s.copier, kept: s.lists}
	if !sp.Pass {
		f.memory = s.memory
	}
	return f
}

// complete gives f its plan. It runs before anybody else sees f, and not while
// a transaction is applied.
func (s *Set) complete(f *revision, plan source.Plan) {
	f.plan, f.key = plan, plan.KeyType()
	f.wide = f.key.Wide()
	if t := plan.Table(); t != nil {
		f.table = t.Bounded(f.spec.MaxLimit)
	}
	f.src.mark(f)
	f.trackDeps()
	f.space = f.src.domain.NewSpace(f.drop, f.evictOthers)
	f.definition = f.src.domain.NewTable()
	var tables []*fresh.Table
	for _, d := range plan.Deps() {
		t := f.src.table(d.Table) // for lists that embed rows of it, whatever is kept of f
		tables = append(tables, t.versions)
		f.lanes = append(f.lanes, f.src.lane(d.Table))
	}
	f.lanes = lanesOf(f, f)
	if f.docDeps != nil {
		f.space.Watch(f.watched, f.notifyChanged, tables)
	}
	f.keepLists(s.lists)
	f.keepOnDisk(s.disk)
	s.revisions.Store(f.number, f)
}

// drop forgets every format of a document; see fresh.Domain.NewSpace.
func (f *revision) drop(k row.Key) {
	if f.memory == nil {
		return
	}
	for of := range row.Format(row.NumFormats) {
		ref := tier.Ref{Resource: f.number, Format: of, Key: k}
		f.memory.Drop(ref)
		if f.disk != nil {
			f.disk.Drop(ref)
		}
	}
}

// start opens the feed of an source state, at once or when the database comes.
// s.mu is held.
func (s *Set) start(u *sourceState) {
	if len(u.revisions) == 0 {
		u.feed.Store(&chosen{nil, "no resource uses this source"})
		return
	}
	s.loops.Add(1)
	go func() {
		defer s.loops.Done()
		wait := reconnectMin
		for last := ""; ; {
			err := s.opensFeed(u)
			if u.ctx.Err() != nil {
				return
			}
			if err == nil && (u.followed.Load() || u.opts.Mode == source.FeedNone) {
				return
			}
			if err == nil { // none is possible now, but whoever mends that need not restart us
				sleep(u.ctx, lookAgain)
				continue
			}
			if err.Error() != last {
				source.LogRetry(u.log, "feed not opened, trying again", err)
				last = err.Error()
			}
			sleep(u.ctx, wait)
			wait = min(2*wait, reconnectMax)
		}
	}()
}

// opensFeed is openFeed, whose panic is its error.
func (s *Set) opensFeed(u *sourceState) (err error) {
	defer func() {
		if v := workers.Caught(u.log, "open the feed", recover()); v != nil {
			err = v
		}
	}()
	return s.openFeed(u)
}

// openFeed compiles what is not compiled yet, chooses the feed and follows it.
func (s *Set) openFeed(u *sourceState) error {
	ctx, cancel := context.WithTimeout(u.ctx, u.within(openLimit))
	defer cancel()
	refused, err := s.compileRest(ctx, u)
	if err != nil {
		return err
	}
	o, err := u.open(ctx)
	feed, reason := o.feed, o.reason
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || u.ctx.Err() != nil {
		if feed != nil {
			return feed.Close()
		}
		return nil
	}
	before := u.feed.Swap(&chosen{feed, reason})
	if feed == nil {
		if before == nil {
			u.log.Warn("no feed: nothing is kept", "event", eventFeed, "why", reason)
			u.locked(func() { u.exclude(o.excluded) })
			u.domain.Reset("", 0, nil, 0)
			u.begun("no feed: " + reason)
			u.listenForRestarts()
		}
		return nil
	}
	u.log.Info("feed chosen", "event", eventFeed, "feed", feed.Mode(), "why", reason)
	u.loops.Go(func() { u.outlives("compile again", func() { s.recompile(u) }) })
	if refused > 0 {
		s.compilesLater(u)
	}
	u.follow(&o)
	u.schemaUnsure()
	return nil
}

// compileRest compiles what is not compiled yet, and returns how many revisions do not compile:
// they cost themselves. Its error is that the database is not there.
func (s *Set) compileRest(ctx context.Context, u *sourceState) (refused int, err error) {
	u.compiling.Lock()
	defer u.compiling.Unlock()
	var rest []*revision
	var specs []Spec
	for _, f := range *u.served.Load() {
		if f.plan == nil {
			rest, specs = append(rest, f), append(specs, f.spec)
		}
	}
	if len(rest) == 0 {
		return 0, nil
	}
	at := compiledAt{begun: monotonic()} // nobody is told of changes of what has no plan
	plans, errs := u.compileAll(ctx, specs)
	for i, which := range rest {
		c := &compilation{compiledAt: at, plan: plans[i], err: errs[i]}
		switch {
		case s.compiled(u, which, c, false):
		case source.ClassOf(c.err).Passing():
			return refused, c.err
		default:
			refused++
		}
	}
	return refused, nil
}

// compilesLater has what is not compiled yet compiled later. s.mu is held.
func (s *Set) compilesLater(u *sourceState) {
	if !u.later {
		u.later = true
		u.loops.Go(func() { u.outlives("compile later", func() { s.compileLater(u) }) })
	}
}

// compileLater compiles what did not compile when the database came, or was reloaded while it
// was away, until it does.
func (s *Set) compileLater(u *sourceState) {
	for wait := reconnectMax; sleep(u.ctx, wait); wait = min(2*wait, lookAgain) {
		ctx, cancel := context.WithTimeout(u.ctx, u.within(openLimit))
		_, _ = s.compileRest(ctx, u)
		cancel()
		if s.compiledAll(u) {
			return
		}
	}
}

// compiledAll reports whether nothing of u is left to be compiled later, which ends that.
func (s *Set) compiledAll(u *sourceState) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.later = slices.ContainsFunc(u.revisions, func(f *revision) bool { return f.plan == nil })
	return !u.later
}

// listenForRestarts forgets what is kept of a server that has forgotten it, too.
func (u *sourceState) listenForRestarts() {
	r, ok := u.source.(source.Restarter)
	if !ok {
		return
	}
	r.OnRestart(func() {
		u.apply.Lock()
		defer u.apply.Unlock()
		if u.broken {
			return
		}
		u.domain.Reset("", 0, nil, 0)
		u.begun("the server has forgotten what it kept")
	})
}

// replace puts a new revision of a resource, with the plan that c has made, in the place of old,
// unless a reload has done so.
func (s *Set) replace(u *sourceState, old *revision, c *compilation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || u.ctx.Err() != nil {
		return
	}
	u.apply.Lock()
	defer u.apply.Unlock()
	i := slices.Index(u.revisions, old)
	if i < 0 {
		return
	}
	f := s.newRevision(u, old.spec)
	s.complete(f, c.plan)
	f.schema = schemaState{changes: old.schema.changes, known: c.compiledAt}
	if f.schema.stale() {
		u.hold(f)
		f.verifyAgain()
	}
	revisions := append([]*revision(nil), u.revisions...)
	revisions[i] = f
	u.setRevisions(revisions)
	f.bind()
	f.r.revision.Store(f)
	f.r.watch.reset(u.token(u.domain.Applied())) // what was answered by the old one is another
	s.end(u, old)
	if old.root != nil {
		old.root.table.forgetTagColumns()
	}
	if u.follower != nil {
		u.follower.replan()
	}
}

// samePlan reports whether two plans make the same documents of the same tables; nil is as no
// plan.
func samePlan(a, b source.Plan) bool {
	if a == nil || b == nil {
		return false
	}
	return reflect.DeepEqual(a.Shape(), b.Shape()) &&
		reflect.DeepEqual(a.KeyType(), b.KeyType()) &&
		reflect.DeepEqual(a.Deps(), b.Deps()) && reflect.DeepEqual(a.SQL(), b.SQL()) &&
		reflect.DeepEqual(a.Table(), b.Table()) && reflect.DeepEqual(foreign(a), foreign(b)) &&
		reflect.DeepEqual(Paths(a), Paths(b)) &&
		reflect.DeepEqual(types(a), types(b))
}

// types returns the names of the types that a plan's statements have.
func types(p source.Plan) []string {
	if t, ok := p.(source.Typed); ok {
		return t.Types()
	}
	return nil
}

// foreign returns the foreign keys of a plan's table.
func foreign(p source.Plan) []source.ForeignKey {
	if r, ok := p.(related); ok && r.Base() != nil {
		return r.Base().Foreign
	}
	return nil
}

// reads reports whether a plan reads one of tables.
func reads(p source.Plan, tables []string) bool {
	for _, d := range p.Deps() {
		for _, t := range tables {
			if d.Table == t {
				return true
			}
		}
	}
	return false
}
