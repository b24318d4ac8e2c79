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
	// lookEvery is how often lists that are watched are looked at while changes come, and
	// lookAnyway how often when none do: a list of a form that was replaced is told by none.
	lookEvery  = 2 * time.Millisecond
	lookAnyway = 250 * time.Millisecond

	// A list that memory does not keep, because changes go on beside or the feed lags, is
	// read again after a pause that grows from one to the other.
	againMin = 20 * time.Millisecond
	againMax = time.Second
)

// NextList waits until the answer to an ask is not what last is, and returns it; nil: it
// returns the first. What was written and taken back in between is not told. The list is
// kept in memory, so that who asks the same then is answered from there.
//
// It goes on while the source cannot be reached. Errors: those of SelectList that another
// attempt cannot mend, and the context's.
func (r *Resource) NextList(
	ctx context.Context, ask *ListAsk, of row.Format, last *List,
) (ListAnswer, error) {
	r.watch.count.Add(1) // who watches asks all the time: see upstream.mayRest
	defer r.watch.count.Add(-1)
	watched := *ask
	watched.watched = true
	for pause := againMin; ; pause = min(2*pause, againMax) {
		if last != nil {
			if err := r.awaitMove(ctx, last, pause); err != nil {
				return ListAnswer{}, err
			}
		}
		a, err := r.SelectList(ctx, &watched, Options{Format: of})
		switch {
		case ctx.Err() != nil:
			return ListAnswer{}, ctx.Err()
		case passing(err):
			if !sleep(ctx, pause) {
				return ListAnswer{}, ctx.Err()
			}
			continue
		case err != nil:
			return ListAnswer{}, err
		case last == nil || a.Doc.ETag() != last.Doc.ETag():
			return a, nil
		case a.copy != nil:
			pause = againMin / 2
		}
		last = a.List
	}
}

// passing reports whether another attempt may mend an error.
func passing(err error) bool {
	return err != nil && (source.ClassOf(err).Passing() || errors.Is(err, errReplaced) ||
		errors.Is(err, context.DeadlineExceeded))
}

// awaitMove returns when a list may not be good any more; one that is not kept after a
// pause. Errors: the context's.
func (r *Resource) awaitMove(ctx context.Context, l *List, pause time.Duration) error {
	f := r.form.Load()
	if l.copy == nil || !f.src.enter() {
		sleep(ctx, pause)
		return ctx.Err()
	}
	moved := f.src.watches.add(f.src, l)
	f.src.loads.Done()
	select {
	case <-moved:
		return nil
	case <-ctx.Done():
		f.src.watches.remove(l)
		return ctx.Err()
	}
}

// listWatches are the lists of a source that somebody waits for to change. One goroutine
// looks at all of them, as long as there are any.
type listWatches struct {
	mu    sync.Mutex // guards what follows
	moved map[*List]*listWait
	looks bool
}

// A listWait is those who wait for one list.
type listWait struct {
	n    int
	done chan struct{}
}

// add returns what is closed when l may not be good any more. The caller has entered u.
func (w *listWatches) add(u *upstream, l *List) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.moved == nil {
		w.moved = make(map[*List]*listWait)
	}
	if w.moved[l] == nil {
		w.moved[l] = &listWait{done: make(chan struct{})}
	}
	w.moved[l].n++
	if !w.looks {
		w.looks = true
		u.loads.Add(1)
		u.crew.Go(func() {
			defer u.loads.Done()
			w.run(u)
		})
	}
	return w.moved[l].done
}

// remove takes back one add.
func (w *listWatches) remove(l *List) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.moved[l]; x != nil {
		if x.n--; x.n == 0 {
			delete(w.moved, l)
		}
	}
}

// run looks at the lists whenever something has changed.
func (w *listWatches) run(u *upstream) {
	for {
		_, changed := u.domain.Changed() // before the look: what comes later is told
		left, dirty := w.look(u.ctx.Err() != nil)
		if !left {
			return
		}
		wait := lookAnyway
		if dirty {
			wait = lookEvery
		}
		t := time.NewTimer(wait)
		select {
		case <-changed:
			sleep(u.ctx, lookEvery)
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
	for l, x := range w.moved {
		switch {
		case end:
		case l.copy.Valid():
			continue
		case l.copy.Check() == fresh.Dirty: // a read would not be kept
			dirty = true
			continue
		}
		close(x.done)
		delete(w.moved, l)
	}
	w.looks = len(w.moved) > 0
	return w.looks, dirty
}
