package resource

import (
	"context"
	"time"
)

// Nobody tells of changes of what a revision was compiled from that no feed follows: those who
// read it have it compiled again, each revision beside the others, whose tables may be locked.

const (
	// One revision is compiled again every recompileEvery, or recompileBurst of them after a while
	// without any: compiling one takes a database some milliseconds.
	recompileEvery = 40 * time.Millisecond
	recompileBurst = 50

	// recompileWait is how long after a compilation has begun a load waits for it: beyond that
	// the table is locked, or the database does not answer.
	recompileWait = time.Second
)

// A recompilation is that of a revision that no feed follows.
type recompilation struct {
	begun int64
	done  chan struct{} // closed when it has ended
}

// ended reports whether nothing is under way.
func (r *recompilation) ended() bool {
	if r == nil {
		return true
	}
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// recompile has a revision that no feed follows compiled again if that is due. A load waits for
// that once its copies would be too old, but not for ever: then it reads by the revision that there
// is, and has the error of that, if any.
func (f *revision) recompile(ctx context.Context) {
	r, age := f.recompileSoon()
	if r == nil || age < f.recompileWithin() {
		return
	}
	wait := time.Duration(r.begun + int64(recompileWait) - monotonic())
	if r.ended() || wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// recompileWithin is how old what a revision was compiled from may be.
func (f *revision) recompileWithin() time.Duration { return max(f.src.opts.StaleAfter, f.spec.TTL) }

// recompileSoon begins to compile a revision that no feed follows again, when that was last begun
// as long ago as half of recompileWithin, and waits for nothing. It returns the last one, nil
// for none, and how old what the revision was compiled from is.
func (f *revision) recompileSoon() (*recompilation, time.Duration) {
	if f.plan == nil || f.followed() {
		return nil, 0
	}
	u, half := f.src, f.recompileWithin()/2
	u.apply.Lock()
	defer u.apply.Unlock()
	now := monotonic()
	age := time.Duration(now - f.schema.known.begun)
	last := f.again
	switch {
	case age < half, !last.ended(), last != nil && time.Duration(now-last.begun) < half,
		u.recompiled > now, u.recompiling >= u.opts.bypass(), u.down.Load() != 0, !u.enter():
		return last, age
	}
	const every = int64(recompileEvery)
	u.recompiled = max(u.recompiled, now-recompileBurst*every) + every
	u.recompiling++
	f.again = &recompilation{begun: now, done: make(chan struct{})}
	done := f.again.done
	go u.guarded("compile "+f.r.name, func() {
		defer u.loads.Done()
		defer close(done)
		defer u.locked(func() { u.recompiling-- })
		u.again(f)
	})
	return f.again, age
}

// again compiles a revision again, beside others.
func (s *Set) again(u *sourceState, f *revision) {
	c := u.compilationOf(f)
	u.compiling.Lock()
	defer u.compiling.Unlock()
	u.apply.Lock()
	known := f.schema.known.begun
	u.apply.Unlock()
	if known < c.begun && f.r.revision.Load() == f {
		s.compiled(u, f, &c, false)
	}
}
