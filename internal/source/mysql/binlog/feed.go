// Package binlog follows a MariaDB or MySQL server by its binary log in the ROW format,
// as a replica does. It turns events into changes, proves that what was delivered is
// visible to new reads, and knows from where another process can go on.
//
// It loads nothing and keeps no copies: what it needs of the driver is Driver.
package binlog

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	binlog "github.com/go-mysql-org/go-mysql/mysql"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

const (
	// resumeLimit is how long a feed tries to go on after its connection broke
	// before it gives up and begins anew.
	resumeLimit = 30 * time.Second

	resumeMin = 20 * time.Millisecond
	resumeMax = 500 * time.Millisecond

	// lasting is how long a stream has to last to be one that has gone on.
	lasting = time.Second
)

// A Feed follows a server by its binary log in the ROW format, as a replica
// does. The server keeps nothing for it.
type Feed struct {
	src     Source
	tables  atomic.Pointer[[]source.Watched] // that it follows
	fences  *source.Fences
	settler settler
	counts  counters

	session atomic.Pointer[following] // nil: not attached

	base atomic.Pointer[string] // of the names of the log's files; nil: not known yet

	store  atomic.Pointer[source.CheckpointStore]
	points atomic.Pointer[resumePoints] // of the session

	refused source.Checkpoint // from which the log could not be followed; only Run uses it
	broken  bool              // so could the log behind it; only Run uses it

	// filters are those of the log when the feed first attached: they had been looked at then.
	// They change with a restart of the server only. They are set before there is a session.
	filters string

	// known are digests of the definitions that the handler was told of. Only Run uses it.
	known map[string]string
}

// counters are read by Stats and written by Run.
type counters struct {
	transactions, changes, bytes, position atomic.Uint64
}

// New returns the feed that follows tables of a server.
func New(src Source, tables []source.Watched) *Feed {
	f := &Feed{
		src: src, fences: source.NewFences(), known: make(map[string]string),
	}
	f.tables.Store(&tables)
	f.settler.readLate = f.readLate
	f.settler.reset()
	return f
}

// Mode returns FeedBinlog.
func (f *Feed) Mode() source.FeedMode { return source.FeedBinlog }

// Close does nothing: the feed holds nothing while Run does not run.
func (f *Feed) Close() error { return nil }

// Unobservable names what the feed cannot tell of.
func (f *Feed) Unobservable() string { return "writes of sessions with sql_log_bin = 0" }

// Stats returns a snapshot of the feed's counters.
func (f *Feed) Stats() source.FeedStats {
	return source.FeedStats{
		Transactions: f.counts.transactions.Load(),
		Changes:      f.counts.changes.Load(),
		Bytes:        f.counts.bytes.Load(),
		Position:     source.Position(f.counts.position.Load()),
	}
}

// Spell returns a position as the server names it: the file and the offset.
func (f *Feed) Spell(pos source.Position) string {
	base := f.base.Load()
	if base == nil {
		return "none yet"
	}
	return spell(*base, pos)
}

// Fence returns once every change that was visible when it was called has been
// handed to the handler: the log's end, which no visible change is behind, has
// been reached.
func (f *Feed) Fence(ctx context.Context) (source.Position, error) {
	return f.fences.Join(ctx, func(ctx context.Context) (source.Position, error) {
		s := f.session.Load()
		if s == nil {
			return 0, source.ErrDetached
		}
		pos, err := s.fence(ctx)
		if err != nil {
			return 0, fmt.Errorf("fence: %w", err)
		}
		return pos, nil
	})
}

// Settled asks the server which transactions every new read sees.
func (f *Feed) Settled(ctx context.Context, txs []*source.Tx) ([]bool, error) {
	c, err := f.src.Control(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask which transactions are visible: %w", err)
	}
	defer c.Release()
	return f.settler.probe(ctx, c, txs)
}

// attached is where a feed begins.
type attached struct {
	server server
	apply  Applying
	start  place
	pos    source.Position
	after  binlog.GTIDSet // MySQL: what was executed
	xa     bool           // transactions were ended by XA COMMIT
	gtids  []string       // MariaDB: transactions before the start
	defs   *definitions
	bar    *barrier // what was logged before; nil: all of it is visible, or sent

	started int64       // when the server was, in seconds
	resumed *resumption // nil: it begins
}

// attach finds out which server it is and where its log ends, and makes all
// connections go to that one.
func (f *Feed) attach(ctx context.Context) (*attached, error) {
	identity, err := f.src.Identify(ctx)
	if err != nil {
		return nil, err
	}
	f.src.Pin(identity)
	c, err := f.src.Control(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	a := new(attached)
	if a.server, err = serverOf(c); err != nil {
		return nil, err
	}
	if a.apply, err = ReadApplying(ctx, c, a.server.mariadb); err == nil {
		err = a.apply.Err(&a.apply)
	}
	if err != nil {
		return nil, err
	}
	if !a.server.mariadb {
		if a.after, err = executedGTIDs(ctx, c); err != nil {
			return nil, err
		}
	}
	if a.server.mariadb {
		if a.gtids, err = lastGTIDs(ctx, c); err != nil {
			return nil, err
		}
	}
	// From here on nothing may be missed.
	end, err := binlogEnd(ctx, c)
	if err != nil {
		return nil, err
	}
	if f.filters == "" {
		f.filters = end.filters
	}
	if err := f.filtered(end.filters); err != nil {
		return nil, err
	}
	a.start = end.place
	a.pos, err = a.start.position()
	if err != nil {
		return nil, err
	}
	err = c.Query(ctx, sqlXACommits, nil, func(v []any) error {
		a.xa = catalog.AsInt(v[1]) > 0
		return nil
	})
	if err == nil {
		a.started, err = startedAt(ctx, c)
	}
	if err == nil {
		a.defs, err = f.definitions(ctx, f.tables.Load(), 0)
	}
	return a, err
}

// filtered returns an error if the log leaves out other databases than it did: who opens the
// feed again looks whose changes these are.
func (f *Feed) filtered(filters string) error {
	if filters == f.filters {
		return nil
	}
	return fmt.Errorf("%w: binlog_do_db and binlog_ignore_db were %s and are %s now",
		source.ErrUnseen, f.filters, filters)
}

// Run follows the server until ctx ends or the log cannot be followed any more.
// A connection that breaks is made again from where it was, without a gap.
func (f *Feed) Run(ctx context.Context, h source.Handler) error {
	err := f.run(ctx, h)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("follow the binary log: %w", err)
}

func (f *Feed) run(ctx context.Context, h source.Handler) error {
	begin, cancel := context.WithTimeout(ctx,
		connectLimit+time.Duration(len(*f.tables.Load()))*definitionLimit)
	defer cancel()
	a, err := f.attach(begin)
	if err != nil {
		return err
	}
	if _, can := h.(source.ResumeHandler); can {
		f.resumeAt(a)
	}
	s, err := f.newFollowing(a, h)
	if err != nil {
		return err
	}
	st, err := f.openStream(begin, a.server, a.start, a.after, s)
	if err != nil {
		return err
	}
	if err := f.announce(begin, a, s, st); err != nil {
		return err
	}
	close(s.ready)

	inner, stop := context.WithCancelCause(ctx)
	s.stop = stop
	wait := s.begin(inner, a)
	defer func() { stop(nil); wait() }()
	f.session.Store(s)
	defer s.progress.End()
	defer f.session.CompareAndSwap(s, nil)
	err = f.keep(inner, a, s, st)
	if cause := context.Cause(inner); errors.Is(cause, source.ErrUnseen) {
		return cause
	}
	return err
}

// announce tells the handler where the stream begins, or goes on. The stream
// waits in its first event until then.
func (f *Feed) announce(
	ctx context.Context, a *attached, s *following, st *stream,
) error {
	f.points.Store(s.points)
	base, _, _ := cutLast(a.start.file, '.')
	f.base.Store(&base)
	if a.resumed != nil {
		err := f.resumes(ctx, a, s, st)
		if err != nil {
			s.void = true
			close(s.ready) // a stream that waits for it ends
			st.close()
		}
		return err
	}
	f.settler.reset() // what it was to prove ends with the epoch
	s.handler.Attached(originOf(a.server.identity), a.pos, s.barrier(a))
	f.counts.position.Store(uint64(a.pos))
	return nil
}

// keep goes on with another stream whenever one ends, until one cannot go on
// where the one before was. What the log itself has against being followed would be met
// again there: the feed begins anew, behind it.
func (f *Feed) keep(ctx context.Context, a *attached, s *following, st *stream) error {
	var pause, paused time.Duration
	for {
		opened := time.Now()
		err := st.wait(ctx)
		st.close()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case s.failed != nil:
			f.broken = true
			return s.failed
		case errors.Is(err, errUnreadable):
			f.broken = true
			return err
		case final(err) || !a.server.mariadb || paused > resumeLimit:
			return err
		}
		f.src.Log.Warn("the connection to the binary log broke; trying to go on", "err", err)
		if time.Since(opened) > lasting {
			pause, paused = 0, 0
		}
		if pause > 0 && !sleep(ctx, pause) {
			return ctx.Err()
		}
		paused += pause
		pause = min(max(2*pause, resumeMin), resumeMax)
		if st, err = f.resume(ctx, a, s); err != nil {
			return err
		}
	}
}

// sleep waits, and reports false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// resume opens a stream that begins where the one before ended. That it is the
// same server, the same file and that the file still has that place is checked by
// openStream, the reader and the server.
func (f *Feed) resume(ctx context.Context, a *attached, s *following) (*stream, error) {
	wait := resumeMin
	limit, cancel := context.WithTimeout(ctx, resumeLimit)
	defer cancel()
	for {
		st, err := f.openStream(limit, a.server, s.again(), nil, s)
		if err == nil {
			return st, nil
		}
		if final(err) {
			return nil, err
		}
		if !sleep(limit, wait) {
			return nil, err
		}
		wait = min(2*wait, resumeMax)
	}
}

// final reports whether err says that no other attempt can go on: the server does
// not have the log any more, or is another one.
func final(err error) bool {
	var refused *binlog.MyError
	if !errors.As(err, &refused) {
		return errors.Is(err, errElsewhere)
	}
	switch refused.Code {
	case binlog.ER_MASTER_FATAL_ERROR_READING_BINLOG, binlog.ER_ACCESS_DENIED_ERROR,
		binlog.ER_SPECIFIC_ACCESS_DENIED_ERROR:
		return true
	}
	return false
}
