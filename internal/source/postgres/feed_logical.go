package postgres

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/source"
)

// A logicalFeed follows a database by logical replication with pgoutput and a
// temporary slot: a slot that goes away with its connection cannot fill the
// server's disk, and a feed that starts anew announces that by its epoch.
type logicalFeed struct {
	src    feedSource
	tables []source.Watched

	control *control
	fences  *source.Fences
	settler settler
	looker  looker
	counts  counters
	slot    *slot // nil: a temporary one for each connection

	session atomic.Pointer[session] // nil: not attached
}

func newLogicalFeed(src feedSource, tables []source.Watched) *logicalFeed {
	return &logicalFeed{
		src:     src,
		tables:  tables,
		control: newControl(src.cfg),
		fences:  source.NewFences(),
		looker: looker{tables: tables, names: src.names, defs: src.defs,
			check: checkLogicalTables, publication: src.names.publication,
			reconnect: src.reconnect},
	}
}

// Mode returns FeedLogical.
func (f *logicalFeed) Mode() source.FeedMode { return source.FeedLogical }

// untold is what neither the log nor the catalogue tells.
const untold = "what a text search configuration or the library of a C function does"

// Blind names what the feed cannot tell of.
func (f *logicalFeed) Blind() string { return untold }

// Stats returns a snapshot of the feed's counters.
func (f *logicalFeed) Stats() source.FeedStats { return f.counts.stats() }

// Close closes the feed's own connection. Run must have returned.
func (f *logicalFeed) Close() error {
	f.control.close()
	return nil
}

// Settled asks the primary which transactions every new read sees.
func (f *logicalFeed) Settled(ctx context.Context, txs []*source.Tx) ([]bool, error) {
	return f.settler.probe(ctx, f.control, txs)
}

// Run follows the database until ctx ends or the connection breaks.
func (f *logicalFeed) Run(ctx context.Context, h source.Handler) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := f.run(inner, cancel, h)
	// What broke the connection from our side says more than the broken read.
	var broken *feedBroken
	if cause := context.Cause(inner); errors.As(cause, &broken) {
		err = cause
	} else if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("follow postgres: %w", err)
}

func (f *logicalFeed) run(
	ctx context.Context, cancel context.CancelCauseFunc, h source.Handler,
) error {
	conn, err := connectReplication(ctx, f.src.cfg)
	if err != nil {
		return err
	}
	at, err := f.attach(ctx, conn, h)
	if err != nil {
		hangUp(conn)
		return err
	}
	defer at.stream.close()
	defer context.AfterFunc(ctx, at.stream.close)()

	s := &session{
		feed: f, stream: at.stream, handler: h, rows: newAssembler(f.tables),
		progress: source.NewProgress(source.Position(at.start)), kick: make(chan struct{}, 1),
		cancel: cancel,
	}
	s.rows.odd = at.looked.odd
	if err := f.begin(s, at); err != nil {
		return err
	}
	f.counts.position.Store(uint64(at.start))

	f.session.Store(s)
	defer s.progress.End()
	defer f.session.CompareAndSwap(s, nil)

	done := make(chan struct{})
	go func() {
		defer close(done)
		s.look(ctx)
	}()
	defer func() {
		cancel(nil)
		<-done
	}()
	return s.read()
}

// begin tells the handler where the session begins.
func (f *logicalFeed) begin(s *session, at *attached) error {
	start := source.Position(at.start)
	if at.resumed != nil {
		if !s.handler.(source.ResumeHandler).Resumed(at.origin, start) {
			f.slot.refused = *at.resumed
			return errors.New("the copies that are kept are not those of the slot; beginning anew")
		}
	} else {
		s.announce(at.looked.tables) // nothing of a new epoch is of an old definition
		s.handler.Attached(at.origin, start, at.barrier)
		f.looker.accept(at.looked)
		return nil
	}
	f.looker.accept(at.looked)
	s.announce(at.looked.tables)
	if !at.looked.empty() {
		s.handler.Apply(at.looked.tx(start))
	}
	return nil
}

// attached is a stream that is about to begin.
type attached struct {
	stream  *stream
	origin  string
	start   lsn
	barrier uint64
	looked  *looked       // tables that changed while nobody followed, and odd ones
	resumed *source.Place // from which the stream goes on; nil: it begins
}

// attach makes a slot and starts to stream from it.
func (f *logicalFeed) attach(
	ctx context.Context, conn *pgconn.PgConn, h source.Handler,
) (*attached, error) {
	rows, err := simple(ctx, conn, "IDENTIFY_SYSTEM")
	if err != nil {
		return nil, err
	}
	at := &attached{origin: originOf(rows[0][0], rows[0][1])}
	if err := f.control.pin(ctx, at.origin); err != nil {
		return nil, err
	}
	f.src.pin(at.origin)

	if err := publish(ctx, f.control, f.tables, f.src.names); err != nil {
		return nil, err
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
	if at.barrier, err = f.settler.newBarrier(ctx, f.control); err != nil {
		return nil, err
	}
	if at.looked, err = f.looker.look(ctx, f.control); err != nil {
		return nil, err
	}
	if f.slot != nil {
		f.slot.print.Store(at.looked.digest())
	}
	at.stream, err = f.stream(ctx, conn, slot, 0)
	return at, err
}

// stream starts to stream from a slot, at start or where the slot is if that is
// later.
func (f *logicalFeed) stream(
	ctx context.Context, conn *pgconn.PgConn, slot string, start lsn,
) (*stream, error) {
	names := quoteText(quoteName(f.src.names.publication))
	return startStream(ctx, conn, "START_REPLICATION SLOT "+quoteName(slot)+" LOGICAL "+
		start.String()+" (proto_version '1', publication_names "+names+")")
}

// createSlot makes the slot and returns where it begins. PostgreSQL makes it
// only when the transactions that are open now have ended: the log says so.
func (f *logicalFeed) createSlot(
	ctx context.Context, conn *pgconn.PgConn, name, how string,
) (lsn, error) {
	notice := time.AfterFunc(waitNotice, func() {
		f.src.log.Warn("the feed waits for transactions that were open when it started;"+
			" nothing is cached until they end (see pg_stat_activity, backend_xid)",
			"after", waitNotice)
	})
	defer notice.Stop()
	rows, err := simple(ctx, conn,
		"CREATE_REPLICATION_SLOT "+quoteName(name)+how+" LOGICAL pgoutput NOEXPORT_SNAPSHOT")
	if err != nil {
		return 0, err
	}
	if len(rows[0]) < 2 {
		return 0, fmt.Errorf("%w: a slot without a position", errPgoutput)
	}
	return parseLSN(rows[0][1])
}

// slotName returns a name that no other node has.
func slotName() (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return "hotrow_" + hex.EncodeToString(b[:]), nil
}

// originOf names a history: one cluster and one timeline of it.
func originOf(system, timeline string) string { return system + "t" + timeline }

// hangUp closes a connection that failed and waits until its resources are
// freed, which pgconn does in the background after an interrupted command.
func hangUp(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), writeLimit)
	defer cancel()
	_ = conn.Close(ctx) // the error that counts is the caller's
	select {
	case <-conn.CleanupDone():
	case <-ctx.Done():
	}
}
