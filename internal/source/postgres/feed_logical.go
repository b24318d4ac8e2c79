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

	session atomic.Pointer[session] // nil: not attached
}

func newLogicalFeed(src feedSource, tables []source.Watched) *logicalFeed {
	return &logicalFeed{
		src:     src,
		tables:  tables,
		control: newControl(src.cfg),
		fences:  source.NewFences(),
		looker:  looker{tables: tables, names: src.names, check: checkLogicalTables},
	}
}

// Mode returns FeedLogical.
func (f *logicalFeed) Mode() source.FeedMode { return source.FeedLogical }

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
	at, err := f.attach(ctx, conn)
	if err != nil {
		hangUp(conn)
		return err
	}
	defer at.stream.close()
	defer context.AfterFunc(ctx, at.stream.close)()

	s := &session{
		feed: f, stream: at.stream, handler: h, rows: newAssembler(f.tables),
		progress: source.NewProgress(source.Position(at.start)), kick: make(chan struct{}, 1),
	}
	s.rows.odd = at.looked.odd
	h.Attached(at.origin, source.Position(at.start))
	f.looker.accept(at.looked)
	s.announce(at.looked.schema)
	h.Apply(&source.Tx{ID: at.barrier, Pos: source.Position(at.start), All: true})
	f.counts.position.Store(uint64(at.start))

	f.session.Store(s)
	defer s.progress.End()
	defer f.session.CompareAndSwap(s, nil)

	done := make(chan struct{})
	go func() {
		defer close(done)
		s.look(ctx, cancel)
	}()
	defer func() {
		cancel(nil)
		<-done
	}()
	return s.read()
}

// attached is a stream that is about to begin.
type attached struct {
	stream  *stream
	origin  string
	start   lsn
	barrier uint64
	looked  *looked // tables that changed while nobody followed, and odd ones
}

// attach makes a slot and starts to stream from it.
func (f *logicalFeed) attach(ctx context.Context, conn *pgconn.PgConn) (*attached, error) {
	rows, err := simple(ctx, conn, "IDENTIFY_SYSTEM")
	if err != nil {
		return nil, err
	}
	at := &attached{origin: originOf(rows[0][0], rows[0][1])}
	if err := f.control.pin(ctx, rows[0][0]); err != nil {
		return nil, err
	}
	f.src.pin(rows[0][0])

	if err := publish(ctx, f.control, f.tables, f.src.names); err != nil {
		return nil, err
	}
	slot, err := slotName()
	if err != nil {
		return nil, err
	}
	if at.start, err = f.createSlot(ctx, conn, slot); err != nil {
		return nil, err
	}
	// Everything below is asked after the slot is ready: what changes later is
	// in the stream or found by the next look.
	if at.barrier, err = f.settler.newBarrier(ctx, f.control); err != nil {
		return nil, err
	}
	if at.looked, err = f.looker.look(ctx, f.control); err != nil {
		return nil, err
	}
	names := quoteText(quoteName(f.src.names.publication))
	at.stream, err = startStream(ctx, conn, "START_REPLICATION SLOT "+slot+
		" LOGICAL 0/0 (proto_version '1', publication_names "+names+")")
	return at, err
}

// createSlot makes the slot and returns where it begins. PostgreSQL makes it
// only when the transactions that are open now have ended: the log says so.
func (f *logicalFeed) createSlot(
	ctx context.Context, conn *pgconn.PgConn, slot string,
) (lsn, error) {
	notice := time.AfterFunc(waitNotice, func() {
		f.src.log.Warn("the feed waits for transactions that were open when it started;"+
			" nothing is cached until they end (see pg_stat_activity, backend_xid)",
			"after", waitNotice)
	})
	defer notice.Stop()
	rows, err := simple(ctx, conn,
		"CREATE_REPLICATION_SLOT "+slot+" TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT")
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
