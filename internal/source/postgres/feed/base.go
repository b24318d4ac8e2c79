package feed

import (
	"context"
	"errors"
	"fmt"

	"github.com/hotrow/hotrow/internal/source"
)

// A Base is what the feeds of PostgreSQL have in common: how they begin, how they end, and
// what they ask beside what they are told.
type Base struct {
	Src     Config
	Control *Control // of the server that is followed
	Primary *Control // the same, unless a standby is followed
	Fences  *source.Fences
	Watcher Watcher
	Counts  Counters
}

// Init makes b that of a feed of tables. check finds what keeps the feed from telling of
// a table; publication is the one that the tables must be in, "" for none.
func (b *Base) Init(
	src Config, tables []source.Watched, check func(*Facts) []source.Finding, publication string,
) {
	b.Src = src
	b.Primary, b.Fences = NewControl(src), source.NewFences()
	if b.Control = b.Primary; src.Standby != nil {
		b.Control = NewStandbyControl(src)
	}
	b.Watcher = Watcher{Names: src.Names, Definitions: src.Definitions,
		Check: check, Publication: publication, Reconnect: src.Reconnect}
	b.Watcher.tables.Store(&tables)
}

// Spell returns a position as pg_current_wal_lsn() would.
func (b *Base) Spell(pos source.Position) string { return LSN(pos).String() }

// Stats returns a snapshot of the feed's counters.
func (b *Base) Stats() source.FeedStats { return b.Counts.Stats() }

// Close closes the feed's own connections. Run must have returned.
func (b *Base) Close() error {
	if b.Primary != b.Control {
		b.Primary.Close()
	}
	b.Control.Close()
	return nil
}

// Look returns the tables whose definition has changed since the handler was told.
func (b *Base) Look(ctx context.Context) ([]string, error) {
	return b.Watcher.LookAside(ctx, b.Src.Read)
}

// Adopt makes the connections of the feed, and those of loads, lead to one server.
func (b *Base) Adopt(ctx context.Context, server Server) error {
	if err := b.Control.Pin(ctx, server); err != nil {
		return err
	}
	b.Src.Pin(server)
	return nil
}

// Attach tells the handler that a new epoch begins at a position, with the definitions
// that were found: nothing of it is of an old one.
func (b *Base) Attach(
	h source.Handler, origin string, at source.Position, barrier uint64, found *Diff,
) {
	if len(found.Tables) > 0 {
		h.SchemaChanged(found.Tables)
	}
	h.Attached(origin, at, barrier)
	b.Watcher.Accept(found)
}

// Follow is Run of a feed: it calls run, which may have the connection broken by cancel,
// with a *Broken that says why, and returns the error that says most.
func Follow(
	ctx context.Context, run func(ctx context.Context, cancel context.CancelCauseFunc) error,
) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := run(inner, cancel)
	// What broke the connection from our side says more than the broken read.
	var broken *Broken
	if cause := context.Cause(inner); errors.As(cause, &broken) {
		err = cause
	} else if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("follow postgres: %w", err)
}

// Beside runs watch beside what follows until stop is called, which waits for its end.
func Beside(
	ctx context.Context, cancel context.CancelCauseFunc, watch func(context.Context),
) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		watch(ctx)
	}()
	return func() {
		cancel(nil)
		<-done
	}
}
