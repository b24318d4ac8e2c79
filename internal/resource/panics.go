package resource

import (
	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/workers"
)

// A panic ends what it happened in, see workers.Caught, and leaves nothing behind: each
// function here is deferred by whoever has taken something that others wait for.

// begunAll ends what begin has begun if that panics: the reads of list, and the loads that it
// leads and that nobody else ends.
func (f *revision) begunAll(list []pending, lead *[]*fresh.Lease) {
	err := workers.Caught(f.src.log, "read "+f.r.name, recover())
	if err == nil {
		return
	}
	for _, l := range *lead {
		f.space.Fail(l, err)
	}
	for i := range list {
		switch rd := &list[i]; {
		case rd.leader:
			f.space.Fail(rd.lease, err)
		case rd.lease == nil && rd.answer.Doc == nil && rd.answer.Err == nil:
			rd.answer.Err = err
		}
	}
}

// loadedAll ends the leases of a load that panics.
func (f *revision) loadedAll(leases []*fresh.Lease) {
	err := workers.Caught(f.src.log, "load "+f.r.name, recover())
	if err == nil {
		return
	}
	f.r.counts.errors.Add(uint64(len(leases)))
	for _, l := range leases {
		f.space.Fail(l, err)
	}
}

// listLoaded ends the lease of a list whose load panics.
func (f *revision) listLoaded(l *fresh.Lease) {
	if err := workers.Caught(f.src.log, "list "+f.r.name, recover()); err != nil {
		f.lists.Fail(l, err)
	}
}

// written ends a write that panics. Nobody knows whether it was committed.
func (h *writeIntent) written(err *error) {
	caught := workers.Caught(h.f.src.log, "write "+h.f.r.nameOf(h.key), recover())
	if caught == nil {
		return
	}
	h.end(&source.Error{Class: source.Unknown, Err: caught})
	*err = caught
}

// guarded runs f, whose panic ends f alone.
func (u *sourceState) guarded(what string, f func()) { workers.Guard(u.log, what, f)() }

// caught is deferred by what follows the feed, with u.apply held: what a change means may not
// have been done to its end. The source begins anew.
func (f *follower) caught(what string) {
	if workers.Caught(f.u.log, what, recover()) != nil {
		f.u.breaks()
	}
}

// breaks says that nobody knows what of the source's copies is good, in memory and on disk.
// u.apply is held.
func (u *sourceState) breaks() {
	if u.broken {
		return
	}
	u.broken = true
	u.domain.Break()
	if u.disk != nil {
		u.disk.Begin(tier.Mark{})
		u.disk = nil
	}
	u.log.Error("the source begins anew, with nothing in memory: what a change means was not"+
		" done to its end", "event", eventEpoch)
	u.rebuild()
}

// outlives runs what follows the feed, which is to go on as long as u: its panic has the source
// begin anew.
func (u *sourceState) outlives(what string, f func()) {
	defer func() {
		if workers.Caught(u.log, what, recover()) != nil {
			u.locked(u.breaks)
		}
	}()
	f()
}

// locked runs f with u.apply held.
func (u *sourceState) locked(f func()) {
	u.apply.Lock()
	defer u.apply.Unlock()
	f()
}

// rebuild puts a new source state in the place of u, which is broken, and tries until it can. It
// does not wait for that.
func (s *Set) rebuild(u *sourceState) {
	go func() {
		for wait := reconnectMin; sleep(u.ctx, wait); wait = min(2*wait, reconnectMax) {
			var gone []*sourceState
			u.guarded("begin anew", func() { gone = s.rebuilt(u) })
			for _, old := range gone {
				old.close()
			}
		}
	}()
}

// rebuilt is one attempt of rebuild. It returns what is to be closed, which ends the attempts.
func (s *Set) rebuilt(u *sourceState) []*sourceState {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.sources[u.name] != u {
		return nil
	}
	now, err := s.build(u.ctx, s.options[u.name], u.specs())
	if err != nil {
		source.LogRetry(u.log, "the source cannot begin anew yet", err)
		return nil
	}
	return s.swap(map[string]*sourceState{u.name: now})
}
