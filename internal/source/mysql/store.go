package mysql

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/binlog"
)

var _ source.Store = (*Source)(nil)

// bulkVariables bounds the parameters of one INSERT of many rows; the protocol has
// room for 65,535.
const bulkVariables = 10_000

// Dialect returns that of MySQL, which MariaDB speaks too.
func (s *Source) Dialect() source.Dialect { return source.DialectMySQL }

// Tx runs fn in a transaction that reads what is committed.
func (s *Source) Tx(
	ctx context.Context, fn func(source.StoreTx) error,
) (source.Position, error) {
	if s.opts.ReadOnly {
		return 0, &source.Error{Class: source.ReadOnly, Message: "the source is read-only"}
	}
	return source.TryTx(ctx, func(int) (source.Position, bool, error) {
		return s.storeOnce(ctx, fn)
	})
}

// storeOnce is one try of Tx. It reports whether another may help.
func (s *Source) storeOnce(
	ctx context.Context, fn func(source.StoreTx) error,
) (source.Position, bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	c, err := s.acquire(ctx)
	if err != nil {
		return 0, false, err
	}
	defer c.release()
	for _, sql := range []string{
		"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION READ WRITE",
	} {
		if err := c.exec(ctx, sql); err != nil {
			c.discard()
			return 0, died(err), classify(err)
		}
	}
	if err = fn(&storeTx{c}); err == nil {
		err = classify(c.commit(ctx))
	}
	if err != nil {
		again := source.ClassOf(err) != source.Unknown && (serialization(err) || died(err))
		if e := c.exec(context.WithoutCancel(ctx), "ROLLBACK"); e != nil {
			c.discard()
		}
		return 0, again, err
	}
	// 0 when it cannot be told: the write has happened all the same.
	pos, _ := binlog.WritePosition(ctx, c)
	return pos, false, nil
}

// Query reads on a connection of the pool.
func (s *Source) Query(
	ctx context.Context, q string, args []any, each func(source.StoreRow) error,
) error {
	ctx, cancel := s.begin(ctx, 1)
	defer cancel()
	given := false
	return s.read(ctx, func(ctx context.Context, c *conn) error {
		if given {
			return source.ErrBrokeOff
		}
		return c.query(ctx, q, args, func(v []any) error {
			given = true
			return each(v)
		})
	})
}

// A storeTx is a connection while a transaction of the Store is under way.
type storeTx struct{ c *conn }

// Exec runs a statement, prepared when it has parameters.
func (t *storeTx) Exec(ctx context.Context, q string, args ...any) (int64, error) {
	res, err := t.c.ExecContext(ctx, q, args...)
	if err != nil {
		return 0, classify(err)
	}
	n, err := res.RowsAffected()
	return n, classify(err)
}

// Insert adds one row and returns the number that it got.
func (t *storeTx) Insert(
	ctx context.Context, table string, columns []string, values ...any,
) (int64, bool, error) {
	b := &source.Bulk{Table: table, Columns: columns}
	var res sql.Result
	res, err := t.c.ExecContext(ctx, source.DialectMySQL.InsertSQL(b, 1), values...)
	if number(err) == errDuplicate {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, classify(err)
	}
	id, err := res.LastInsertId()
	return id, true, classify(err)
}

// Query reads within the transaction.
func (t *storeTx) Query(
	ctx context.Context, q string, args []any, each func(source.StoreRow) error,
) error {
	return classify(t.c.query(ctx, q, args, func(v []any) error { return each(v) }))
}

// Bulk adds rows by prepared statements of many rows each, and of fewer for
// what is left: a statement for each number of rows would fill the session's
// places for prepared ones.
func (t *storeTx) Bulk(ctx context.Context, b *source.Bulk) error {
	width := len(b.Columns)
	if width == 0 {
		return fmt.Errorf("insert into %s: no columns", b.Table)
	}
	size := max(1, bulkVariables/width)
	args := make([]any, size*width)
	for i := 0; i < b.Rows; {
		for size > b.Rows-i {
			size = max(1, size/4)
		}
		clear(args)
		for j := range size {
			b.Row(i+j, args[j*width:(j+1)*width])
		}
		_, err := t.c.ExecContext(ctx, source.DialectMySQL.InsertSQL(b, size), args[:size*width]...)
		if err != nil {
			return classify(err)
		}
		i += size
	}
	return nil
}
