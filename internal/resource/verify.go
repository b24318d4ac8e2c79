package resource

import (
	"context"
	"fmt"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// No load is made by a revision that is known to be of another definition than its tables
// have: a document lacks a column, or has one that is gone, for as long as that goes on.
// Loads wait for the revision to be compiled again. While the feed lags nobody tells of
// definitions, so that loads ask the source for them.

// A verification is an attempt to compile a revision that loads wait for.
type verification struct {
	done chan struct{} // closed when it has ended
	err  error         // why it says nothing about the revision; set before
}

// verifyAgain has loads wait for the next attempt to compile f. u.apply is held.
func (f *revision) verifyAgain() {
	if f.verification.Load() == nil {
		f.verification.Store(&verification{done: make(chan struct{})})
	}
}

// endVerification lets loads go on, or fail by err. Then those that come wait for the next
// attempt. u.apply is held.
func (f *revision) endVerification(err error) {
	var next *verification
	if err != nil {
		next = &verification{done: make(chan struct{})}
	}
	if t := f.verification.Load(); t != nil {
		f.verification.Store(next)
		t.err = err
		close(t.done)
	}
}

// verify waits until f is not known to be of another definition than its tables have. Its
// error is errReplaced when the resource has another revision meanwhile.
func (f *revision) verify(ctx context.Context) error {
	f.recompile(ctx)
	for t := f.verification.Load(); t != nil; t = f.verification.Load() {
		f.src.compileSoon()
		select {
		case <-t.done:
			if t.err != nil {
				return t.err
			}
		case <-f.src.ctx.Done():
			return errReplaced
		case <-ctx.Done():
			return &source.Error{Class: source.Busy, After: time.Second, Err: ctx.Err(),
				Message: fmt.Sprintf("the tables of %s have changed their definition, and the"+
					" new one could not be read in time", f.r.name)}
		}
	}
	if f.r.revision.Load() != f {
		return errReplaced
	}
	return nil
}

// place takes a place among the loads of the source once f may load, which reads rows of
// others, too. Its error is errReplaced or a *source.Error.
func (f *revision) place(ctx context.Context, others ...*revision) (release func(), err error) {
	for {
		if err := f.verify(ctx); err != nil {
			return nil, err
		}
		if release, err = f.src.acquire(ctx, lanesOf(f, others...)); err != nil {
			return nil, err
		}
		begin := monotonic()
		if err := f.src.lookAtSchema(ctx); err != nil {
			f.src.observe("look", monotonic()-begin, err)
			release()
			return nil, err
		}
		if f.verification.Load() == nil { // else who waits for it needs no place
			return release, nil
		}
		release()
	}
}

// lookAtSchema asks the source for changes of definitions while the feed does not tell of them.
func (u *sourceState) lookAtSchema(ctx context.Context) error {
	c := u.feed.Load()
	if c == nil || !u.lags() || u.lookedRecently() {
		return nil
	}
	feed, ok := c.feed.(source.SchemaWatcher)
	if !ok {
		return nil
	}
	_, err := u.looks.Join(ctx, func(ctx context.Context) (source.Position, error) {
		if u.lookedRecently() {
			return 0, nil
		}
		at := monotonic()
		tables, err := feed.Look(ctx)
		if err == nil {
			u.schemaChanged(tables)
			u.lookedAt.Store(at)
		}
		return 0, err
	})
	return err
}

// lookedRecently reports whether the last look is so recent that it need not be repeated.
func (u *sourceState) lookedRecently() bool {
	at := u.lookedAt.Load()
	return at != 0 && monotonic()-at < int64(fenceEvery)
}
