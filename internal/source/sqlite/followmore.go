package sqlite

import (
	"context"
	"fmt"

	"github.com/hotrow/hotrow/internal/source"
)

// watch makes tables those that the feed follows. The writer's turn is held, or nobody else
// knows the feed yet.
func (f *Feed) watch(tables []source.Watched) {
	names := make(map[string]bool, len(tables))
	f.s.watchMore(func(next *watchList) {
		for _, w := range tables {
			names[w.Table] = true
			next.addColumns(w.Table, w.Columns)
			if w.Values != nil { // they are carried where they have a text
				next.values[w.Table] = w.Values
			}
		}
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tables, f.names = tables, names
}

// Follow implements source.Feed. A commit that was passed over is one that every read sees.
func (f *Feed) Follow(ctx context.Context, tables []source.Watched) (before uint64, err error) {
	w := f.s.writerNow()
	if err := w.lock(ctx); err != nil {
		return 0, err
	}
	defer w.unlock()
	if !f.isRunning() {
		return 0, unavailable(errNotRunning)
	}
	if err := retryBusy(ctx, func() error { return f.follow(ctx, w, tables) }); err != nil {
		return 0, fmt.Errorf("follow other tables: %w", err)
	}
	return 0, nil
}

// follow is Follow with the writer's turn held. Rows of the change log that are not read yet are
// read for the new tables, too. A log that becomes ready is read from its end on: what another
// program has committed since the last look is told as "everything".
func (f *Feed) follow(ctx context.Context, w *writer, tables []source.Watched) error {
	if err := f.lookNow(ctx, w); err != nil {
		return err
	}
	next := f.log
	next.prepare(w.known, tables)
	ready, err := next.installed(ctx, w.c)
	if err != nil {
		return err
	}
	if next.ready = ready; ready && !f.log.ready {
		if next.last, err = lastLogged(ctx, w.c); err != nil {
			return err
		}
		version, err := w.c.integer(ctx, "PRAGMA data_version")
		if err != nil {
			return err
		}
		if version != f.version { // which the next look finds again
			f.enqueue(w, &event{tx: &source.Tx{All: true}})
		}
	}
	f.log = next
	f.watch(tables)
	return f.note(ctx, w)
}

// isRunning reports whether Run has attached.
func (f *Feed) isRunning() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running
}
