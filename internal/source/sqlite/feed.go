package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

const (
	// pollEvery is how often the feed looks for commits of other programs. A
	// look costs some microseconds; it waits for a write of ours under way.
	pollEvery = 10 * time.Millisecond

	// maxQueued bounds the transactions of ours that wait for the handler.
	// Beyond it they become one that says that everything changed.
	maxQueued = 4096
)

// A Feed follows one file: transactions of ours by the writing connection's
// hooks, those of other programs by PRAGMA data_version.
type Feed struct {
	s   *Source
	log changeLog // of who has the writer's turn

	version int64 // PRAGMA data_version at the last look; of who has the writer's turn
	schema  int64 // PRAGMA schema_version then
	resumed bool  // a resumption was tried: only the first Run of a process does

	// mu guards what follows. It is the innermost lock.
	mu      sync.Mutex
	tables  []source.Watched // written with the writer's turn
	names   map[string]bool  // of tables; replaced as a whole
	running bool
	rests   bool         // it looks when it is asked to
	ticker  *time.Ticker // of Run; stopped while the feed rests and nobody waits
	queue   []*event
	own     []span // of the change log: rows that our transactions made, see span.after
	waiting []chan source.Position
	stats   source.FeedStats
	store   source.CheckpointStore // nil: nobody keeps copies
	read    source.Checkpoint      // of the last row of the log that was read
	at      passed                 // of the last one that was delivered
	passing time.Time              // when rows of our own were passed over last

	wake chan struct{} // has an element when queue or waiting is not empty
}

var (
	_ source.Resumer = (*Feed)(nil)
	_ source.Rester  = (*Feed)(nil)
)

// An event is one commit on its way to the handler.
type event struct {
	tx     *source.Tx
	own    span
	schema bool // the definition of tables changed
}

// errNotRunning is the answer of Fence while nobody runs the feed.
var errNotRunning = errors.New("the feed is not running")

// errReplaced is what Run ends with when there is another file at the path.
var errReplaced = errors.New("the database file was replaced or deleted")

// OpenFeed returns the feed that follows tables.
func (s *Source) OpenFeed(
	ctx context.Context, mode source.FeedMode, tables []source.Watched,
) (source.Feed, string, error) {
	switch mode {
	case source.FeedNone:
		return nil, "feed: none is asked for: nothing is kept in memory", nil
	case source.FeedAuto, source.FeedSQLite:
	default:
		return nil, "", fmt.Errorf("feed mode %q: SQLite has none but %q", mode, source.FeedSQLite)
	}
	f := &Feed{s: s, wake: make(chan struct{}, 1)}
	f.watch(tables)
	why := "sqlite: hotrow's own writes row by row; a write by another program drops everything"
	err := s.readPool().use(ctx, func(c *conn) error {
		known, err := s.cachedTables(ctx, c)
		if err != nil {
			return err
		}
		f.log.prepare(known, tables)
		if f.log.ready, err = f.log.installed(ctx, c); f.log.ready {
			why = "sqlite: hotrow's own writes and, by the change log, those of other programs " +
				"row by row"
		}
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("open the feed: %w", err)
	}
	return f, why, nil
}

// Unobservable names what the feed cannot tell of.
func (f *Feed) Unobservable() string {
	return "writes of programs that switch triggers off (SQLITE_DBCONFIG_ENABLE_TRIGGER), where" +
		" there is a change log"
}

// Mode returns the feed's name.
func (f *Feed) Mode() source.FeedMode { return source.FeedSQLite }

// Run delivers changes to h until ctx ends or the file is another one.
func (f *Feed) Run(ctx context.Context, h source.Handler) error {
	if err := f.attach(ctx, h); err != nil {
		return err
	}
	defer f.detach()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	f.setTicker(ticker)
	defer f.setTicker(nil)
	for {
		look := true
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		case <-f.wake:
			look = f.hasWaiting()
		}
		if err := f.turn(ctx, h, look); err != nil {
			return err
		}
	}
}

// setTicker notes what makes Run look.
func (f *Feed) setTicker(t *time.Ticker) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ticker = t
	f.setPace()
}

// setPace has Run look by itself, or not. f.mu is held.
func (f *Feed) setPace() {
	switch {
	case f.ticker == nil:
	case f.rests && len(f.waiting) == 0:
		f.ticker.Stop()
	default:
		f.ticker.Reset(pollEvery)
	}
}

// keepPace has a feed that rests look by itself as long as somebody waits.
func (f *Feed) keepPace() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rests {
		f.setPace()
	}
}

// Rest implements source.Rester.
func (f *Feed) Rest(rests bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if rests != f.rests {
		f.rests = rests
		f.setPace()
	}
}

// attach begins to follow the file as it is now.
func (f *Feed) attach(ctx context.Context, h source.Handler) error {
	if err := f.s.reattach(ctx); err != nil {
		return err
	}
	w := f.s.writerNow()
	if err := w.lock(ctx); err != nil {
		return err
	}
	err := f.baseline(ctx, w)
	resumes := false
	if err == nil {
		resumes, err = f.resume(ctx, w)
	}
	if err == nil {
		err = f.note(ctx, w)
	}
	origin, pos := w.origin, w.pos
	if err == nil {
		f.s.mu.Lock()
		f.s.feeds[f] = struct{}{}
		f.s.mu.Unlock()
		f.mu.Lock()
		f.running, f.queue, f.own = true, nil, nil
		f.at = passed{}
		f.stats.Position = pos
		f.mu.Unlock()
	}
	w.unlock()
	if err != nil {
		return fmt.Errorf("begin to follow the database: %w", err)
	}
	f.resumed = true
	if rh, can := h.(source.ResumeHandler); !resumes || !can || !rh.Resumed(origin, pos) {
		h.Attached(origin, pos, 0) // the writer's turn was ours: nothing is half committed
	}
	if f.pass(pos) {
		h.Advance(pos)
	}
	return nil
}

// baseline notes the state after which everything is delivered.
func (f *Feed) baseline(ctx context.Context, w *writer) error {
	err := retryBusy(ctx, func() (err error) {
		if err = w.refresh(ctx); err != nil {
			return err
		}
		f.schema = w.known.version
		if f.version, err = w.c.integer(ctx, "PRAGMA data_version"); err != nil {
			return err
		}
		return f.log.reset(ctx, w, f.tables)
	})
	return err
}

// retryBusy runs fn again while another program holds the whole file locked.
func retryBusy(ctx context.Context, fn func() error) error {
	for {
		err := fn()
		if !isBusy(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// detach ends the feed's being told of our transactions. Who waits for a fence
// learns that there is none.
func (f *Feed) detach() {
	f.s.mu.Lock()
	delete(f.s.feeds, f)
	f.s.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running = false
	for _, c := range f.waiting {
		close(c)
	}
	f.waiting, f.queue = nil, nil
}

// push queues a commit of ours. The writer's turn is held.
func (f *Feed) push(ev *event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.own = ev.own.after(f.own)
	if len(f.queue) >= maxQueued {
		// Keep no more than the handler can soon take: say "everything".
		schema := slices.ContainsFunc(f.queue, func(e *event) bool { return e.schema })
		f.queue = append(f.queue[:0], &event{
			tx:     &source.Tx{All: true, Pos: ev.tx.Pos, Time: ev.tx.Time},
			schema: schema || ev.schema,
		})
	} else {
		f.queue = append(f.queue, ev)
	}
	f.signal()
}

// signal wakes Run.
func (f *Feed) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// turn looks for commits of others, if look is set, delivers what is queued,
// and answers the fences that were asked for before it looked.
func (f *Feed) turn(ctx context.Context, h source.Handler, look bool) error {
	var asked []chan source.Position
	if look {
		f.mu.Lock()
		asked, f.waiting = f.waiting, nil
		f.mu.Unlock()
		looked, err := f.look(ctx)
		if err != nil || !looked {
			f.mu.Lock()
			f.waiting = append(asked, f.waiting...)
			f.mu.Unlock()
			if err != nil {
				return err
			}
			asked = nil // the file is locked: the next tick looks again
		}
		f.keepPace()
	}
	pos := f.deliver(h)
	if look && f.pass(pos) {
		h.Advance(pos)
	}
	for _, c := range asked {
		c <- pos
	}
	return nil
}

// deliver hands what is queued to h and returns the position then reached.
func (f *Feed) deliver(h source.Handler) source.Position {
	f.mu.Lock()
	queue := f.queue
	f.queue = nil
	f.mu.Unlock()
	for _, ev := range queue {
		if ev.schema {
			h.SchemaChanged(slices.Sorted(maps.Keys(f.following())))
		}
		if tx := f.relevant(ev.tx); tx != nil {
			h.Apply(tx)
			f.count(tx)
		} else {
			h.Advance(ev.tx.Pos)
		}
		f.mu.Lock()
		f.stats.Position = ev.tx.Pos
		f.mu.Unlock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats.Position
}

// relevant returns what tx says of the watched tables, or nil when it says
// nothing. Feeds share tx, so it is not changed.
func (f *Feed) relevant(tx *source.Tx) *source.Tx {
	if tx.All {
		return tx
	}
	names := f.following()
	out := &source.Tx{Pos: tx.Pos, Time: tx.Time, Mark: tx.Mark}
	for _, c := range tx.Changes {
		if names[c.Table] {
			out.Changes = append(out.Changes, c)
		}
	}
	for _, t := range tx.Tables {
		if names[t] {
			out.Tables = append(out.Tables, t)
		}
	}
	if len(out.Changes) == 0 && len(out.Tables) == 0 {
		return nil
	}
	return out
}

// following returns the names of the tables that the feed follows.
func (f *Feed) following() map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.names
}

// count adds tx to the feed's counters.
func (f *Feed) count(tx *source.Tx) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Transactions++
	f.stats.Changes += uint64(len(tx.Changes))
}

// hasWaiting reports whether somebody waits for a fence.
func (f *Feed) hasWaiting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.waiting) > 0
}

// Fence returns once every commit that was visible when it was called has been
// handed to the handler. All who call it before the feed looks share one look.
func (f *Feed) Fence(ctx context.Context) (source.Position, error) {
	c := make(chan source.Position, 1)
	f.mu.Lock()
	if !f.running {
		f.mu.Unlock()
		return 0, unavailable(errNotRunning)
	}
	f.waiting = append(f.waiting, c)
	f.signal()
	f.mu.Unlock()
	select {
	case pos, ok := <-c:
		if !ok {
			return 0, unavailable(errNotRunning)
		}
		return pos, nil
	case <-ctx.Done():
		return 0, wrap(ctx.Err())
	}
}

// Settled reports that every transaction is: one is delivered only once its
// COMMIT has returned, or once it was seen by another connection.
func (f *Feed) Settled(_ context.Context, txs []*source.Tx) ([]bool, error) {
	out := make([]bool, len(txs))
	for i := range out {
		out[i] = true
	}
	return out, nil
}

// Stats returns a snapshot of the feed's counters.
func (f *Feed) Stats() source.FeedStats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

// Close has nothing to free: the feed reads on the source's connections.
func (f *Feed) Close() error { return nil }

// replaced reports whether the path is no longer the file that w has open.
func (w *writer) replaced() bool {
	now, err := os.Stat(w.s.path)
	return err != nil || !os.SameFile(now, w.file)
}
