package mysql

import (
	"context"
	"fmt"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
	"github.com/hotrow/hotrow/internal/source/mysql/binlog"
)

// A plan is one resource, compiled. It never changes. It implements source.Plan.
type plan struct {
	*document.Plan
	src *Source
}

var _ source.Plan = (*plan)(nil)

// A database is a Source as the engine sees it.
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
	ctx context.Context, snapshot bool, fn func(context.Context, document.Conn) error,
) error {
	return d.read(ctx, func(ctx context.Context, c *conn) error {
		var err error
		if snapshot {
			err = c.snapshot(ctx, func() error { return fn(ctx, engineConn{c}) })
		} else {
			err = fn(ctx, engineConn{c})
		}
		if seen := source.SeenOf(ctx); seen != nil && err == nil {
			err = d.noteSeen(ctx, c, seen)
		}
		return err
	})
}

// noteSeen notes a place in the log that nothing is behind which c has shown. Who has read at
// the same time shares the question: it costs the server more than most reads.
func (d database) noteSeen(ctx context.Context, c *conn, seen *source.Seen) error {
	pos, err := d.ends.Join(ctx, func(ctx context.Context) (source.Position, error) {
		v, err := c.server()
		if err != nil {
			return 0, err
		}
		return binlog.SeenPosition(ctx, c, v.mariadb)
	})
	seen.Note(pos)
	return err
}

// Begin implements document.Database.
func (d database) Begin(
	ctx context.Context, statements int,
) (context.Context, context.CancelFunc) {
	return d.begin(ctx, statements)
}

// Classify implements document.Database.
func (d database) Classify(err error) error { return classify(err) }

// Transact implements document.Database. The isolation is that of single statements:
// locks are what keeps others out, and a lock on a row that is not there yet would only
// make writers wait for each other.
func (d database) Transact(
	ctx context.Context, t *document.Transaction,
) (done document.Committed, retry bool, err error) {
	done, retry, err = d.transact(ctx, t)
	return done, retry, d.late(err)
}

// transact is Transact without a word about why time has run out.
func (d database) transact(
	ctx context.Context, t *document.Transaction,
) (done document.Committed, retry bool, err error) {
	c, err := d.acquire(ctx)
	if err != nil {
		return done, false, err
	}
	defer c.release()
	for _, sql := range []string{
		"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION READ WRITE",
	} {
		if err := c.exec(ctx, sql); err != nil {
			c.discard()
			return done, died(err), err
		}
	}
	before := c.mark(ctx, t)
	if err = t.Run(ctx, engineConn{c}); err == nil {
		err = c.commit(ctx)
	}
	if err != nil {
		if e := c.exec(context.WithoutCancel(ctx), "ROLLBACK"); e != nil {
			c.discard()
		}
		return done, serialization(err) || died(err), err
	}
	// 0 when it cannot be told: the write has happened all the same.
	done.Position, _ = binlog.WritePosition(ctx, c)
	if after := c.mark(ctx, t); after != before {
		done.Mark = after
	}
	return done, false, nil
}

// mark returns the mark of the connection's last transaction, if t asks for its own; 0: it
// cannot be told.
func (c *conn) mark(ctx context.Context, t *document.Transaction) uint64 {
	if !t.Identify {
		return 0
	}
	if v, err := c.server(); err != nil || !v.mariadb {
		return 0
	}
	mark, err := binlog.LastMark(ctx, c)
	if err != nil {
		return 0
	}
	return mark
}

// commit commits. When the answer to that is lost, nobody knows the outcome.
func (c *conn) commit(ctx context.Context) error {
	err := c.exec(ctx, "COMMIT")
	if err == nil || number(err) != 0 && !died(err) {
		return err // done, or the server says that it has rolled back
	}
	return &source.Error{
		Class: source.Unknown, After: retryAfter, Err: err,
		Message: "the connection was lost during the commit: whether it took effect is not known",
	}
}

// An engineConn is a connection as the engine sees it. It implements document.Conn.
type engineConn struct{ *conn }

// Query implements document.Conn.
func (c engineConn) Query(
	ctx context.Context, st *document.Statement, args []any, each func(document.Row) error,
) error {
	return c.query(ctx, st.SQL, args, func(v []any) error { return each(values(v)) })
}

// Exec implements document.Conn.
func (c engineConn) Exec(ctx context.Context, st *document.Statement, args []any) (int64, error) {
	return 0, c.exec(ctx, st.SQL, args...)
}

// values are one row as the driver gives it. It implements document.Row.
type values []any

// Value implements document.Row.
func (v values) Value(place int, it *document.Item) (row.Value, error) {
	value, err := native(it.Column).Value(v[place])
	if err != nil {
		err = fmt.Errorf("%w: %w", source.ErrReshaped, err)
	}
	return value, err
}

// Cell implements document.Row.
func (v values) Cell(place int, col document.Column) (source.Cell, bool, error) {
	c := native(col)
	value, err := c.Value(v[place])
	if err != nil {
		return source.Cell{}, false, fmt.Errorf("%w: %w", source.ErrReshaped, err)
	}
	cell, ok := c.Cell(value)
	return cell, ok, nil
}

// Version implements document.Row: the whole row.
func (v values) Version() (any, error) { return []any(v), nil }
