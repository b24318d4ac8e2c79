package resource

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

const (
	// lookEvery is how often lists that are watched are looked at while changes come, at
	// most: with very many it is a tenth of the time. lookAnyway is how often when none do:
	// that a revision was replaced no change tells.
	lookEvery  = 2 * time.Millisecond
	lookShare  = 10
	lookAnyway = 250 * time.Millisecond

	// A list that memory does not keep, because changes go on beside or the feed lags, is
	// read again after a pause that grows from one to the other.
	againMin = 20 * time.Millisecond
	againMax = time.Second
)

// A SeenList is what somebody who waits for a list to change knows of it. It does not have
// the answer itself: only memory that is accounted for does.
type SeenList struct {
	tag  string
	copy *fresh.ReadSet // nil: the list was not kept
}

// NextList waits until the answer to an ask is not the one that last has seen, and returns
// it; nil: it returns the first. What was written and taken back in between is not told. The
// list is kept in memory, so that who asks the same then is answered from there.
//
// It goes on while the source cannot be reached. Errors: those of SelectList that another
// attempt cannot mend, and the context's.
func (r *Resource) NextList(
	ctx context.Context, ask *ListAsk, of row.Format, last *SeenList,
) (a ListAnswer, seen *SeenList, err error) {
	r.watch.lists.Add(1) // who watches asks all the time: see sourceState.mayIdle
	defer r.watch.lists.Add(-1)
	watched := *ask
	watched.watched = true
	for pause := againMin; ; pause = min(2*pause, againMax) {
		if last != nil {
			r.awaitMove(ctx, last, pause)
		}
		a, err = r.SelectList(ctx, &watched, Options{Format: of})
		switch {
		case ctx.Err() != nil:
			return a, nil, ctx.Err()
		case passing(err):
			sleep(ctx, pause)
			continue
		case err != nil:
			return a, nil, err
		}
		if seen = a.seen(); last == nil || seen.tag != last.tag {
			return a, seen, nil
		}
		if last = seen; seen.copy != nil {
			pause = againMin / 2
		}
	}
}

// seen returns what is known of l by who has got it.
func (l *List) seen() *SeenList {
	s := &SeenList{tag: l.Doc.ETag()}
	if l.copy != nil {
		s.copy = l.copy
	}
	return s
}

// passing reports whether another attempt may mend an error.
func passing(err error) bool {
	return err != nil && (source.ClassOf(err).Passing() || errors.Is(err, errReplaced) ||
		errors.Is(err, context.DeadlineExceeded))
}

// awaitMove returns when a list may not be good any more, one that is not kept after a
// pause, or when ctx ends.
func (r *Resource) awaitMove(ctx context.Context, l *SeenList, pause time.Duration) {
	u := r.revision.Load().src
	if l.copy == nil || !u.enter() {
		sleep(ctx, pause)
		return
	}
	moved := u.watches.add(u, l)
	u.loads.Done()
	select {
	case <-moved:
	case <-ctx.Done():
		u.watches.remove(l)
	}
}

// listWatches are the lists of a source that somebody waits for to change. One goroutine
// looks at all of them, as long as there are any.
type listWatches struct {
	mu    sync.Mutex // guards what follows
	moved map[*SeenList]chan struct{}
	looks bool
}

// add returns what is closed when l may not be good any more. The caller has entered u.
func (w *listWatches) add(u *sourceState, l *SeenList) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.moved == nil {
		w.moved = make(map[*SeenList]chan struct{})
	}
	moved := make(chan struct{})
	w.moved[l] = moved
	if !w.looks {
		w.looks = true
		u.loads.Add(1)
		u.workers.Go(func() {
			defer u.loads.Done()
			defer w.look(true) // whatever has ended it: those who wait look themselves
			u.guarded("look at lists that are watched", func() { w.run(u) })
		})
	}
	return moved
}

// remove takes back an add.
func (w *listWatches) remove(l *SeenList) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.moved, l)
}

// run looks at the lists whenever something has changed.
func (w *listWatches) run(u *sourceState) {
	for {
		_, changed := u.domain.Changed() // before the look: what comes later is told
		began := time.Now()
		left, dirty := w.look(u.ctx.Err() != nil)
		if !left {
			return
		}
		rest := max(lookEvery, (lookShare-1)*time.Since(began))
		wait := lookAnyway
		if dirty {
			wait = rest
		}
		t := time.NewTimer(wait)
		select {
		case <-changed:
			sleep(u.ctx, rest)
		case <-t.C:
		case <-u.ctx.Done():
		}
		t.Stop()
	}
}

// look tells those whose list is not good any more; all of them at the end. It reports
// whether others are left, and whether one of them waits for a change to be settled.
func (w *listWatches) look(end bool) (left, dirty bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l, moved := range w.moved {
		switch {
		case end:
		case l.copy.Valid():
			continue
		case l.copy.Check() == fresh.Dirty: // a read would not be kept
			dirty = true
			continue
		}
		close(moved)
		delete(w.moved, l)
	}
	w.looks = len(w.moved) > 0
	return w.looks, dirty
}
