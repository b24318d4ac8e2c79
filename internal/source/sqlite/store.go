package sqlite

import (
	"context"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
)

var (
	_ source.Store        = (*Source)(nil)
	_ source.SerialWriter = (*Source)(nil)
)

// bulkVariables bounds the parameters of one INSERT of many rows. Beyond a few
// hundred a longer statement is not faster.
const bulkVariables = 512

// Dialect returns that of SQLite.
func (s *Source) Dialect() source.Dialect { return source.DialectSQLite }

// SerialWrites implements source.SerialWriter: see writer.
func (s *Source) SerialWrites() {}

// Tx runs fn in a transaction of the writing connection. Tables that no plan
// reads are told to the feeds as a whole.
func (s *Source) Tx(ctx context.Context, fn func(source.StoreTx) error) (source.Position, error) {
	if s.o.ReadOnly {
		return 0, errReadOnly()
	}
	w := s.writerNow()
	return w.transaction(ctx, func(c *conn) error {
		w.changes.coarse = true
		return fn(&storeTx{c})
	})
}

// Query reads on one of the connections that read.
func (s *Source) Query(
	ctx context.Context, q string, args []any, each func(source.StoreRow) error,
) error {
	return s.readPool().use(ctx, func(c *conn) error {
		return (&storeTx{c}).Query(ctx, q, args, each)
	})
}

// A storeTx is the connection while a transaction of the Store is under way.
type storeTx struct{ c *conn }

// Exec runs a statement that is kept prepared.
func (t *storeTx) Exec(ctx context.Context, q string, args ...any) (int64, error) {
	res, err := t.c.run(ctx, q, args)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return n, wrap(err)
}

// Insert adds one row and returns its rowid.
func (t *storeTx) Insert(
	ctx context.Context, table string, columns []string, values ...any,
) (int64, bool, error) {
	b := &source.Bulk{Table: table, Columns: columns}
	res, err := t.c.run(ctx, source.DialectSQLite.InsertSQL(b, 1), values)
	switch codeOf(err) {
	case codeUnique, codePrimaryKey, codeRowID:
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	id, err := res.LastInsertId()
	return id, true, wrap(err)
}

// Query reads within the transaction.
func (t *storeTx) Query(
	ctx context.Context, q string, args []any, each func(source.StoreRow) error,
) error {
	return t.c.query(ctx, q, args, func(v []any) error { return each(v) })
}

// bulkSQL returns the INSERT of n rows. Where a row that is there is an error
// it says OR FAIL: the transaction ends anyway, and SQLite need not note how to
// undo the statement alone, which is a quarter of its work.
func bulkSQL(b *source.Bulk, n int) string {
	sql := source.DialectSQLite.InsertSQL(b, n)
	if len(b.Key) == 0 {
		return "INSERT OR FAIL" + strings.TrimPrefix(sql, "INSERT")
	}
	return sql
}

// Bulk adds rows by prepared statements of many rows each, and of one for what
// is left.
func (t *storeTx) Bulk(ctx context.Context, b *source.Bulk) error {
	width := len(b.Columns)
	size := max(1, bulkVariables/width)
	args := make([]any, size*width)
	sql := map[int]string{} // by rows
	for i := 0; i < b.Rows; {
		n := 1
		if b.Rows-i >= size {
			n = size
		}
		if sql[n] == "" {
			sql[n] = bulkSQL(b, n)
		}
		clear(args)
		for j := range n {
			b.Row(i+j, args[j*width:(j+1)*width])
		}
		if err := t.c.exec(ctx, sql[n], args[:n*width]...); err != nil {
			return err
		}
		i += n
	}
	return nil
}
