package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// A database is a Source as the engine sees it. It implements document.Database.
type database struct{ *Source }

// Writable implements document.Database.
func (d database) Writable() error {
	if d.opts.ReadOnly {
		return &source.Error{Class: source.ReadOnly, Message: "the source is read-only"}
	}
	return nil
}

// Read implements document.Database.
func (d database) Read(
	ctx context.Context, whole bool, fn func(context.Context, document.Conn) error,
) error {
	seen := source.SeenOf(ctx)
	return d.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		c := engineConn{conn: conn, end: d.newSeenEnd(seen)} // of this try
		all := func() error {
			if err := fn(ctx, c); err != nil {
				return err
			}
			return c.end.read(ctx, conn)
		}
		var err error
		if whole {
			err = snapshot(ctx, conn, all)
		} else {
			err = all()
		}
		if err == nil && c.end != nil {
			seen.Note(c.end.at)
		}
		return err
	})
}

// Begin implements document.Database.
func (d database) Begin(
	ctx context.Context, statements int,
) (context.Context, context.CancelFunc) {
	return d.begin(ctx, statements)
}

// Classify implements document.Database.
func (d database) Classify(err error) error { return classify(err) }

// Transact implements document.Database. Statements that do not fit their tables any more
// are prepared anew first, all of them.
func (d database) Transact(
	ctx context.Context, t *document.Transaction,
) (document.Committed, bool, error) {
	if t.Again {
		ctx = context.WithValue(ctx, pingKey{}, true)
	}
	pooled, err := d.acquire(ctx)
	if err != nil {
		return document.Committed{}, false, err
	}
	defer pooled.Release()
	done, retry, err := transact(ctx, pooled, t)
	if err != nil && stalePlan(err) && pooled.Conn().DeallocateAll(ctx) == nil {
		done, retry, err = transact(ctx, pooled, t)
	}
	if err == nil {
		d.wrote(done.Position)
	}
	d.doubt(err)
	if source.ClassOf(err) != source.Unknown {
		err = d.closing(err)
	}
	return done, retry, err
}

// transact is one transaction of Transact.
func transact(
	ctx context.Context, pooled *pgxpool.Conn, t *document.Transaction,
) (done document.Committed, retry bool, err error) {
	conn := pooled.Conn()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{
		IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite,
	})
	if err != nil {
		return done, died(conn, err), err
	}
	as, err := enter(ctx, conn, t.As)
	if err == nil {
		err = t.Run(ctx, engineConn{conn: conn, as: as})
	}
	if err == nil && t.Identify {
		done.Mark, err = markOf(ctx, tx)
	}
	if err == nil { // what was put off to the end is the role's, too
		err = as.take(ctx, conn, true)
	}
	if err == nil {
		err = commitTx(ctx, tx)
	}
	if err != nil {
		retry = serialization(err) || died(conn, err)
		_ = tx.Rollback(ctx) // a connection that cannot is closed when it is released
		return document.Committed{}, retry, err
	}
	done.Position = position(ctx, pooled)
	return done, false, nil
}

// markOf returns the number of a transaction as the log has it; 0: it has not written.
func markOf(ctx context.Context, tx pgx.Tx) (uint64, error) {
	var id *int64 // with the epoch in front, which the log leaves out
	err := tx.QueryRow(ctx, "SELECT pg_catalog.txid_current_if_assigned()").Scan(&id)
	if err != nil || id == nil {
		return 0, err
	}
	return uint64(uint32(*id)), nil
}

// commitTx commits. When the answer to that is lost, nobody knows the outcome.
func commitTx(ctx context.Context, tx pgx.Tx) error {
	err := tx.Commit(context.WithValue(ctx, committingKey{}, true))
	var pg *pgconn.PgError
	switch {
	case err == nil, errors.Is(err, pgx.ErrTxCommitRollback), pgconn.SafeToRetry(err):
		return err // SafeToRetry: the commit was never sent
	case errors.As(err, &pg) && !strings.HasPrefix(pg.Code, "57P"):
		return err // the server says that it has rolled back
	}
	return &source.Error{
		Class: source.Unknown, Code: feed.SQLState(err), After: retryAfter, Err: err,
		Message: "the connection was lost during the commit: whether it took effect is not known",
	}
}

// position returns a place in the write-ahead log that includes what was just
// committed on conn: how far the log is flushed, which an ordinary commit waits
// for. After an asynchronous commit that may be short of it; there the end of
// the log is taken, which includes it and perhaps more. 0 when it cannot be
// told: the write has happened all the same.
func position(ctx context.Context, conn *pgxpool.Conn) source.Position {
	var lsn int64
	err := conn.QueryRow(ctx, `SELECT pg_catalog.pg_wal_lsn_diff(
		CASE WHEN pg_catalog.current_setting('synchronous_commit') = 'off'
			THEN pg_catalog.pg_current_wal_insert_lsn()
			ELSE pg_catalog.pg_current_wal_flush_lsn() END, '0/0')::bigint`).Scan(&lsn)
	if err != nil {
		return 0
	}
	return source.Position(lsn)
}
