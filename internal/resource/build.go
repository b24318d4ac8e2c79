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

// specs returns what the configuration says of the upstream's resources. Set.mu is held.
func (u *upstream) specs() []Spec {
	list := make([]Spec, len(u.forms))
	for i, f := range u.forms {
		list[i] = f.r.Spec()
	}
	return list
}

// build makes the upstream of a source with its resources, compiled if the
// database is there. s.mu is held.
func (s *Set) build(ctx context.Context, o SourceOptions, specs []Spec) (*upstream, error) {
	u := newUpstream(o, s.log)
	u.domain.Slots(s.lists.words())
	if s.disk != nil {
		u.disk = s.disk.Source(o.Name)
	}
	u.renew = func(f *form, reshaped bool) { s.renew(u, f, reshaped) }
	u.again = func(f *form) { s.again(u, f) }
	u.rebuild = func() { s.rebuild(u) }
	var errs []error
	plans, failed := u.compileAll(ctx, specs)
	for i, sp := range specs {
		f := s.form(u, sp)
		f.doubt.known.begun = u.born // or later
		u.forms = append(u.forms, f)
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
	u.setForms(u.forms)
	return u, nil
}

// compileAll makes the plans of resources, each with its own error.
func (u *upstream) compileAll(ctx context.Context, specs []Spec) ([]source.Plan, []error) {
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
func (u *upstream) compileMany(
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
func (u *upstream) compile(ctx context.Context, sp *Spec) (plan source.Plan, err error) {
	defer func() {
		if v := workers.Caught(u.log, "compile "+sp.Table.Name, recover()); v != nil {
			err = v
		}
	}()
	return u.source.Compile(ctx, sp.Table)
}

// form makes the form of a spec, not compiled, for the resource that has its
// name already or a new one.
func (s *Set) form(u *upstream, sp Spec) *form {
	r, ok := (*s.byName.Load())[sp.Table.Name]
	if !ok {
		r = &Resource{name: sp.Table.Name, hot: s.hot}
		r.rules.Store(u.rules(sp))
	}
	f := &form{r: r, spec: sp, src: u, number: s.number.Add(1), copier: s.copier,
		kept: s.lists}
	if !sp.Pass {
		f.memory = s.memory
	}
	return f
}

// complete gives f its plan. It runs before anybody else sees f, and not while
// a transaction is applied.
func (s *Set) complete(f *form, plan source.Plan) {
	f.plan, f.key = plan, plan.KeyType()
	f.wide = f.key.Wide()
	if t := plan.Table(); t != nil {
		f.table = t.Bounded(f.spec.MaxLimit)
	}
	f.src.mark(f)
	f.dependOnWords()
	f.space = f.src.domain.NewSpace(f.drop, f.evictOthers)
	f.definition = f.src.domain.NewTable()
	var tables []*fresh.Table
	for _, d := range plan.Deps() {
		t := f.src.table(d.Table) // for lists that embed rows of it, whatever is kept of f
		tables = append(tables, t.words)
		f.lanes = append(f.lanes, f.src.lane(d.Table))
	}
	f.lanes = lanesOf(f, f)
	if f.worded != nil {
		f.space.Watched(f.watched, f.notifyChanged, tables)
	}
	f.keepLists(s.lists)
	f.keepOnDisk(s.disk)
	s.forms.Store(f.number, f)
}

// drop forgets every format of a document; see fresh.Domain.NewSpace.
func (f *form) drop(k row.Key) {
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

// start opens the feed of an upstream, at once or when the database comes.
// s.mu is held.
func (s *Set) start(u *upstream) {
	if len(u.forms) == 0 {
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
func (s *Set) opensFeed(u *upstream) (err error) {
	defer func() {
		if v := workers.Caught(u.log, "open the feed", recover()); v != nil {
			err = v
		}
	}()
	return s.openFeed(u)
}

// openFeed compiles what is not compiled yet, chooses the feed and follows it.
func (s *Set) openFeed(u *upstream) error {
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
			u.locked(func() { u.leave(o.left) })
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
	u.wonders()
	return nil
}

// compileRest compiles what is not compiled yet, and returns how many forms do not compile:
// they cost themselves. Its error is that the database is not there.
func (s *Set) compileRest(ctx context.Context, u *upstream) (refused int, err error) {
	u.compiling.Lock()
	defer u.compiling.Unlock()
	var rest []*form
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
func (s *Set) compilesLater(u *upstream) {
	if !u.later {
		u.later = true
		u.loops.Go(func() { u.outlives("compile later", func() { s.compileLater(u) }) })
	}
}

// compileLater compiles what did not compile when the database came, or was reloaded while it
// was away, until it does.
func (s *Set) compileLater(u *upstream) {
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
func (s *Set) compiledAll(u *upstream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.later = slices.ContainsFunc(u.forms, func(f *form) bool { return f.plan == nil })
	return !u.later
}

// listenForRestarts forgets what is kept of a server that has forgotten it, too.
func (u *upstream) listenForRestarts() {
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

// replace puts a new form of a resource, with the plan that c has made, in the place of old,
// unless a reload has done so.
func (s *Set) replace(u *upstream, old *form, c *compilation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || u.ctx.Err() != nil {
		return
	}
	u.apply.Lock()
	defer u.apply.Unlock()
	i := slices.Index(u.forms, old)
	if i < 0 {
		return
	}
	f := s.form(u, old.spec)
	s.complete(f, c.plan)
	if f.doubt = (doubt{changes: old.doubt.changes, known: c.compiledAt}); f.doubt.old() {
		u.hold(f)
		f.try()
	}
	forms := append([]*form(nil), u.forms...)
	forms[i] = f
	u.setForms(forms)
	f.bind()
	f.r.form.Store(f)
	f.r.watch.reset(u.token(u.domain.Applied())) // what was answered by the old one is another
	s.end(u, old)
	if old.root != nil {
		old.root.table.forgetTemplates()
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
