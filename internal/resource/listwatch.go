package resource

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A list that memory does not keep, because changes go on beside or the feed lags, is
// read again after a pause that grows from one to the other.
const (
	againMin = 20 * time.Millisecond
	againMax = time.Second
)

// The pauses of untilKept.
const (
	heldMin = 100 * time.Microsecond
	heldMax = 2 * time.Millisecond
)

// A ListWatch follows one representation of a list. It does not have the answer itself: only
// memory that is accounted for does. It belongs to one goroutine.
//
// Whoever reads a list makes all representations that are followed, out of what was read: a
// change costs one read, however many follow, in whatever formats.
type ListWatch struct {
	r   *Resource
	ask ListAsk
	of  row.Format

	tag  string         // of what was told last; "": nothing was
	copy *fresh.ReadSet // nil: it was not kept
}

// WatchList follows the answer to an ask. Call Close.
func (r *Resource) WatchList(ask *ListAsk, of row.Format) *ListWatch {
	w := &ListWatch{r: r, ask: *ask, of: of}
	w.ask.watched = true
	r.listWatches.add(w)
	return w
}

// Close ends it.
func (w *ListWatch) Close() { w.r.listWatches.remove(w) }

// Forget has Next return the answer, be it the one that it has returned.
func (w *ListWatch) Forget() { w.tag, w.copy = "", nil }

// Next waits until the answer is not the one that Next has returned last, and returns it.
// What was written and taken back in between is not told. The list is kept in memory, so that
// who asks the same then is answered from there.
//
// It goes on while the source cannot be reached. Errors: those of SelectList that another
// attempt cannot mend, and the context's.
func (w *ListWatch) Next(ctx context.Context) (a ListAnswer, err error) {
	for pause := againMin; ; pause = min(2*pause, againMax) {
		if w.tag != "" {
			w.awaitMove(ctx, pause)
		}
		a, err = w.r.SelectList(ctx, &w.ask, Options{Format: w.of})
		switch {
		case ctx.Err() != nil:
			return a, ctx.Err()
		case passing(err):
			sleep(ctx, pause)
			continue
		case err != nil:
			return a, err
		}
		tag := a.Doc.ETag()
		other := tag != w.tag
		if w.tag, w.copy = tag, a.copy; other {
			return a, nil
		}
		if w.copy != nil {
			pause = againMin / 2
		}
	}
}

// passing reports whether another attempt may mend an error.
func passing(err error) bool {
	return err != nil && (source.ClassOf(err).Passing() || errors.Is(err, errReplaced) ||
		errors.Is(err, context.DeadlineExceeded))
}

// awaitMove returns when the list may not be good any more, one that is not kept after a
// pause, or when ctx ends.
func (w *ListWatch) awaitMove(ctx context.Context, pause time.Duration) {
	u := w.r.revision.Load().src
	if w.copy == nil {
		sleep(ctx, pause)
		return
	}
	wait := u.waits.Add(w.copy)
	defer u.waits.Remove(wait)
	for {
		var again <-chan time.Time // a write that keeps a version may hide what has moved it
		if w.copy.Check() != fresh.Unmoved {
			again = time.After(againMin)
		}
		select {
		case <-wait.C:
			w.untilKept(ctx)
			return
		case <-ctx.Done():
			return
		case <-u.ctx.Done():
			return
		case <-again:
			if w.copy.Outdated() {
				return
			}
		}
	}
}

// untilKept waits a little while a write keeps the list from being kept: most have committed,
// and end. A list that changes all the time is told all the same.
func (w *ListWatch) untilKept(ctx context.Context) {
	for pause := heldMin; pause <= heldMax && w.copy.Held(); pause *= 2 {
		sleep(ctx, pause)
	}
}

// listWatches are the representations of lists of a resource that are followed, by the
// question.
type listWatches struct {
	n  atomic.Int64
	mu sync.Mutex // guards of; innermost
	of map[string]map[*ListWatch]struct{}
}

func (s *listWatches) add(w *ListWatch) {
	text := w.ask.question()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = make(map[string]map[*ListWatch]struct{})
	}
	if s.of[text] == nil {
		s.of[text] = make(map[*ListWatch]struct{}, 1)
	}
	s.of[text][w] = struct{}{}
	s.n.Add(1)
}

func (s *listWatches) remove(w *ListWatch) {
	text := w.ask.question()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.of[text][w]; !ok {
		return
	}
	if delete(s.of[text], w); len(s.of[text]) == 0 {
		delete(s.of, text)
	}
	s.n.Add(-1)
}

// wanted returns the representations of an ask that are followed, in the terms of f.
func (s *listWatches) wanted(f *revision, ask *ListAsk) (list []listing) {
	if s.n.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.of[ask.question()] {
		own := w.ask
		own.Query, own.After = ask.Query, ask.After
		list = append(list, f.listing(&own, w.of))
	}
	return list
}
