// Package logical follows a PostgreSQL database by logical replication with pgoutput: it
// decodes the change stream, proves that what was delivered is visible to new reads, keeps
// the publication and the slot, and says what the server lacks for that.
//
// It loads nothing and keeps no copies; what it needs of the driver is feed.Config.
package logical

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

const (
	// silence ends a connection that says nothing for so long although it is
	// asked every feed.AskEvery. It only decides when to connect again: that the feed
	// may be behind is known by its fences much sooner.
	silence = 5 * time.Second

	// busyFor is how long a connection may say nothing whose server is at work: a
	// transaction of many rows is decoded whole before the first of them is sent.
	busyFor = time.Minute

	// flushAfter is when a fence stops waiting for the log to be written by
	// itself and writes something that flushes it: open transactions and
	// asynchronous commits leave a tail that is not sent until then.
	flushAfter = 20 * time.Millisecond

	// waitNotice is when the log says what a slot waits for.
	waitNotice = 5 * time.Second
)

// A Feed follows a database by logical replication with pgoutput and a
// temporary slot: a slot that goes away with its connection cannot fill the
// server's disk, and a feed that starts anew announces that by its epoch.
type Feed struct {
	feed.Base
	settler settler
	slot    *slot // nil: a temporary one for each connection

	followed feed.Server // a standby, or what is read in place of one; of Run

	session atomic.Pointer[session] // nil: not attached
}

func newFeed(src feed.Config, tables []source.Watched) *Feed {
	f := new(Feed)
	f.Init(src, tables, checkLogicalTables, src.Names.Publication)
	return f
}

// Mode returns FeedLogical.
func (f *Feed) Mode() source.FeedMode { return source.FeedLogical }

// Unobservable names what the feed cannot tell of.
func (f *Feed) Unobservable() string { return feed.Unreported }

// Settled asks the primary which transactions every new read sees.
func (f *Feed) Settled(ctx context.Context, txs []*source.Tx) ([]bool, error) {
	return f.settler.probe(ctx, f.Primary, txs)
}

// Run follows the database until ctx ends or the connection breaks.
func (f *Feed) Run(ctx context.Context, h source.Handler) error {
	return feed.Follow(ctx, func(ctx context.Context, cancel context.CancelCauseFunc) error {
		return f.run(ctx, cancel, h)
	})
}

func (f *Feed) run(
	ctx context.Context, cancel context.CancelCauseFunc, h source.Handler,
) error {
	conn, err := connectReplication(ctx, f.Src)
	if err != nil {
		return err
	}
	at, err := f.attach(ctx, conn, h)
	if err != nil {
		feed.HangUp(conn)
		return err
	}
	defer at.stream.close()
	defer context.AfterFunc(ctx, at.stream.close)()

	s := &session{
		feed: f, stream: at.stream, handler: h, rows: newAssembler(at.found.Watched),
		progress: source.NewProgress(source.Position(at.start)), kick: make(chan struct{}, 1),
		cancel: cancel, replays: at.replays, history: at.history,
		vouched: -1,
	}
	s.rows.coarse = at.found.Coarse
	s.answered.Store(time.Now().UnixNano())
	err = s.vouch(ctx)
	if err == nil {
		err = f.begin(s, at)
	}
	if err != nil {
		return err
	}
	f.Counts.Position.Store(uint64(at.start))

	f.session.Store(s)
	defer f.end(s)

	defer feed.Beside(ctx, cancel, s.watch)()
	return s.read(ctx)
}

// end ends a session. Fences that go on fail.
func (f *Feed) end(s *session) {
	if f.Src.Standby != nil {
		f.Src.Standby.Lost()
	}
	f.session.CompareAndSwap(s, nil)
	s.progress.End()
	s.history.close()
}

// begin tells the handler where the session begins.
func (f *Feed) begin(s *session, at *attached) error {
	start := source.Position(at.start)
	if at.resumed == nil {
		f.Attach(s.handler, at.origin, start, at.barrier, at.found)
		return nil
	}
	if !s.handler.(source.ResumeHandler).Resumed(at.origin, start) {
		f.slot.refused = *at.resumed
		return errors.New("the copies that are kept are not those of the slot; beginning anew")
	}
	f.Watcher.Accept(at.found)
	s.announce(at.found.Tables)
	if !at.found.Empty() {
		s.handler.Apply(at.found.Tx(start))
	}
	return nil
}

// attached is a stream that is about to begin.
type attached struct {
	stream  *stream
	origin  string
	start   feed.LSN
	barrier uint64
	found   *feed.Diff         // tables that changed while nobody followed, and coarse ones
	resumed *source.Checkpoint // from which the stream goes on; nil: it begins
	replays bool               // the server is a standby
	history *history           // that the server had
}

// attach makes a slot and starts to stream from it.
func (f *Feed) attach(
	ctx context.Context, conn *pgconn.PgConn, h source.Handler,
) (at *attached, err error) {
	rows, err := simple(ctx, conn, "IDENTIFY_SYSTEM")
	if err != nil {
		return nil, err
	}
	at = &attached{origin: feed.OriginOf(rows[0][0], rows[0][1])}
	server := feed.Server{Origin: at.origin, Address: feed.AddressOf(conn)}
	if f.Src.Standby == nil {
		err = f.Adopt(ctx, server)
	} else {
		at.replays, err = f.adoptStandby(ctx, conn, server)
	}
	if err != nil {
		return nil, err
	}
	history := newHistory(f.Src, f.followed, at.origin)
	at.history = history
	defer func() {
		if err != nil {
			history.close()
		}
	}()
	if err := f.published(ctx); err != nil {
		return nil, err
	}
	if f.Src.Standby != nil { // it has replayed what any server has shown before
		f.Src.Standby.Follow(f.followed, history.same)
	}
	if at.replays {
		defer f.logSnapshots(ctx)()
	}
	slot, err := f.openSlot(ctx, conn, h, at)
	if err != nil {
		return nil, err
	}
	if at.resumed != nil {
		at.stream, err = f.stream(ctx, conn, slot, at.start)
		if slotGone(err) {
			f.slot.refused = *at.resumed
		}
		return at, err
	}
	// Everything below is asked after the slot is ready: what changes later is
	// in the stream or found by the next look.
	if !at.replays { // else all before is visible
		if at.barrier, err = f.settler.newBarrier(ctx, f.Primary); err != nil {
			return nil, err
		}
	}
	if at.found, err = f.Watcher.Look(ctx, f.Control); err != nil {
		return nil, err
	}
	if f.slot != nil {
		f.slot.fingerprint.Store(at.found.Digest())
	}
	at.stream, err = f.stream(ctx, conn, slot, 0)
	return at, err
}

// stream starts to stream from a slot, at start or where the slot is if that is
// later.
func (f *Feed) stream(
	ctx context.Context, conn *pgconn.PgConn, slot string, start feed.LSN,
) (*stream, error) {
	names := catalog.QuoteText(catalog.QuoteName(f.Src.Names.Publication))
	return startStream(ctx, conn, "START_REPLICATION SLOT "+catalog.QuoteName(slot)+" LOGICAL "+
		start.String()+" (proto_version '1', publication_names "+names+")")
}

// createSlot makes a slot, which standbys keep too or not, and returns where it begins.
// PostgreSQL makes it only when the transactions that are open now have ended: the log
// says so.
func (f *Feed) createSlot(
	ctx context.Context, conn *pgconn.PgConn, slot string, failover bool,
) (feed.LSN, error) {
	how := "NOEXPORT_SNAPSHOT" // as all versions have it
	if failover {
		how = "(SNAPSHOT 'nothing', FAILOVER true)"
	}
	notice := time.AfterFunc(waitNotice, func() {
		f.Src.Log.Warn("the feed waits for transactions that were open when it started;"+
			" nothing is cached until they end (see pg_stat_activity, backend_xid, and"+
			" pg_prepared_xacts)",
			"after", waitNotice)
	})
	defer notice.Stop()
	rows, err := simple(ctx, conn, "CREATE_REPLICATION_SLOT "+slot+" LOGICAL pgoutput "+how)
	if err != nil {
		return 0, err
	}
	if len(rows[0]) < 2 {
		return 0, fmt.Errorf("%w: a slot without a position", errPgoutput)
	}
	return feed.ParseLSN(rows[0][1])
}
