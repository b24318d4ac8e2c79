package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// look asks whether other programs have committed since the last look, and
// queues what they changed. It reports false when the file is locked as a
// whole, and so nobody can see any state of it.
func (f *Feed) look(ctx context.Context) (bool, error) {
	w := f.s.writerNow()
	if err := w.lock(ctx); err != nil {
		return false, fmt.Errorf("look for changes: %w", err)
	}
	defer w.unlock()
	if w.replaced() {
		return false, errReplaced
	}
	err := f.lookNow(ctx, w)
	if isBusy(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for changes: %w", err)
	}
	return true, nil
}

// lookNow is look with the writer's turn held. The version is noted last: a
// look that failed half way is made again.
func (f *Feed) lookNow(ctx context.Context, w *writer) error {
	promised := source.Position(w.promised.Load()) // before: those readers have seen what is there
	err := f.lookFor(ctx, w)
	if err == nil {
		f.reach(w, promised)
	}
	return err
}

// lookFor is lookNow without the position that readers were promised.
func (f *Feed) lookFor(ctx context.Context, w *writer) error {
	version, err := w.c.integer(ctx, "PRAGMA data_version")
	// Our own DDL leaves data_version as it is, but not w.known.
	if err != nil || version == f.version && w.known.version == f.schema && !f.passes() {
		return err
	}
	schema, err := w.c.integer(ctx, "PRAGMA schema_version")
	if err != nil {
		return err
	}
	own := f.ownSpans()
	switch {
	case schema != f.schema:
		if err := f.newSchema(ctx, w); err != nil {
			return err
		}
		f.enqueue(w, &event{tx: &source.Tx{All: true}, schema: true})
	case f.log.ready:
		tx, err := f.log.read(ctx, w, own)
		if err != nil {
			f.keepSpans(own)
			return err
		}
		if tx != nil {
			f.enqueue(w, &event{tx: tx})
		}
	default:
		f.enqueue(w, &event{tx: &source.Tx{All: true}})
	}
	f.version, f.schema = version, schema
	return f.note(ctx, w)
}

// passes reports whether it is time to pass over rows of our own in the log.
func (f *Feed) passes() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.store == nil || !f.log.ready || len(f.own) == 0 ||
		time.Since(f.passing) < checkpointEvery {
		return false
	}
	f.passing = time.Now()
	return true
}

// newSchema notes a new definition of tables, and looks whether the change log
// is still there.
func (f *Feed) newSchema(ctx context.Context, w *writer) error {
	if err := w.refresh(ctx); err != nil {
		return err
	}
	return f.log.reset(ctx, w, f.tables)
}

// enqueue queues a commit of another program for this feed alone: others look
// for themselves.
func (f *Feed) enqueue(w *writer, ev *event) {
	w.move(w.pos + 1)
	ev.tx.Pos = w.pos
	f.push(ev)
}

// reach has the feed reach a position that was promised to readers, after all that is queued:
// see writer.seen.
func (f *Feed) reach(w *writer, promised source.Position) {
	f.mu.Lock()
	last := f.stats.Position
	if n := len(f.queue); n > 0 {
		last = f.queue[n-1].tx.Pos
	}
	f.mu.Unlock()
	if last < promised {
		w.move(max(w.pos, promised))
		f.push(&event{tx: &source.Tx{Pos: w.pos}})
	}
}

// ownSpans returns the rows of the change log that our transactions made since
// it was called last.
func (f *Feed) ownSpans() []span {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.own
	f.own = nil
	return out
}

// keepSpans gives back what ownSpans has returned, for the look that is made again. The
// writer's turn is held, so none has come since.
func (f *Feed) keepSpans(own []span) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.own = own
}

// reattach opens the connections again when the path is another file now, or
// the writing connection is gone.
func (s *Source) reattach(ctx context.Context) error {
	s.mu.Lock()
	readers, w, closed := s.readers, s.writer, s.closed
	s.mu.Unlock()
	if closed {
		return unavailable(errClosed)
	}
	if err := w.lock(ctx); err != nil {
		return err
	}
	replaced := w.replaced()
	w.unlock()
	if !replaced {
		return nil
	}
	// A file that is gone is not made again: it would be an empty one.
	if _, err := checkPath(s.path, false); err != nil {
		return err
	}
	if err := s.attach(ctx); err != nil {
		return fmt.Errorf("open %s again: %w", s.path, err)
	}
	readers.close()
	return w.close()
}
