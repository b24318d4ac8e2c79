package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hotrow/hotrow/internal/source"
)

var _ source.Store = (*Source)(nil)

// rebinder numbers the parameters of the Store's statements.
var rebinder source.Rebinder

// Dialect returns that of PostgreSQL.
func (s *Source) Dialect() source.Dialect { return source.DialectPostgres }

// Tx runs fn in a transaction that reads what is committed.
func (s *Source) Tx(
	ctx context.Context, fn func(source.StoreTx) error,
) (source.Position, error) {
	if s.opts.ReadOnly {
		return 0, &source.Error{Class: source.ReadOnly, Message: "the source is read-only"}
	}
	return source.TryTx(ctx, func(try int) (source.Position, bool, error) {
		if try > 1 {
			ctx = context.WithValue(ctx, pingKey{}, true)
		}
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
	pooled, err := s.acquire(ctx)
	if err != nil {
		return 0, false, err
	}
	defer pooled.Release()
	conn := pooled.Conn()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{
		IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite,
	})
	if err != nil {
		return 0, died(conn, err), classify(err)
	}
	if err = fn(&storeTx{tx}); err == nil {
		err = classify(commitTx(ctx, tx))
	}
	if err != nil {
		s.doubt(err)
		again := source.ClassOf(err) == source.Retry ||
			died(conn, err) && source.ClassOf(err) != source.Unknown
		_ = tx.Rollback(context.WithoutCancel(ctx)) // else it is closed when released
		return 0, again, err
	}
	at := position(ctx, pooled)
	s.wrote(at)
	return at, false, nil
}

// Query reads on the primary: what the Store writes is there at once.
func (s *Source) Query(
	ctx context.Context, sql string, args []any, each func(source.StoreRow) error,
) error {
	ctx, cancel := s.begin(ctx, 1)
	defer cancel()
	given := false
	err := s.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if given {
			return source.ErrBrokeOff
		}
		return storeQuery(ctx, conn, sql, args, func(r source.StoreRow) error {
			given = true
			return each(r)
		})
	})
	return err
}

// storeQuery runs a query and calls each for every row. An error of each is
// not one of the database: it is returned as it is.
func storeQuery(
	ctx context.Context, conn *pgx.Conn, sql string, args []any,
	each func(source.StoreRow) error,
) error {
	rows, err := conn.Query(ctx, rebinder.Rebind(sql), plainArgs(args)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		v, err := rows.Values()
		if err != nil {
			return err
		}
		for i := range v {
			if n, ok := v[i].(pgtype.Numeric); ok { // sum() of integers is one
				if v[i], err = n.Value(); err != nil {
					return err
				}
			}
		}
		if err := each(v); err != nil {
			return err
		}
	}
	return rows.Err()
}

// plainArgs returns args with 0 or 1 for each bool: flags are smallint columns.
func plainArgs(args []any) []any {
	out := args
	for i, a := range args {
		b, ok := a.(bool)
		if !ok {
			continue
		}
		if &out[0] == &args[0] {
			out = append([]any(nil), args...)
		}
		out[i] = int64(0)
		if b {
			out[i] = int64(1)
		}
	}
	return out
}

// A storeTx is a transaction of the Store.
type storeTx struct{ tx pgx.Tx }

// Exec runs a statement.
func (t *storeTx) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	tag, err := t.tx.Exec(ctx, rebinder.Rebind(sql), plainArgs(args)...)
	return tag.RowsAffected(), classify(err)
}

// Insert adds one row unless a unique key is taken: an error would end the
// transaction here.
func (t *storeTx) Insert(
	ctx context.Context, table string, columns []string, values ...any,
) (int64, bool, error) {
	b := &source.Bulk{Table: table, Columns: columns}
	sql := source.DialectPostgres.InsertSQL(b, 1) + " ON CONFLICT DO NOTHING RETURNING id"
	var id int64
	err := t.tx.QueryRow(ctx, rebinder.Rebind(sql), plainArgs(values)...).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	return id, err == nil, classify(err)
}

// Query reads within the transaction.
func (t *storeTx) Query(
	ctx context.Context, sql string, args []any, each func(source.StoreRow) error,
) error {
	return classify(storeQuery(ctx, t.tx.Conn(), sql, args, each))
}

// Bulk copies rows in (COPY), or, when rows may be there already, sends each
// column as one array: COPY has no ON CONFLICT.
func (t *storeTx) Bulk(ctx context.Context, b *source.Bulk) error {
	if b.Rows == 0 {
		return nil
	}
	if len(b.Key) > 0 {
		return t.arrays(ctx, b)
	}
	from := &bulkRows{b: b, values: make([]any, len(b.Columns))}
	_, err := t.tx.CopyFrom(ctx, pgx.Identifier{b.Table}, b.Columns, from)
	return classify(err)
}

// bulkRows are the rows of a Bulk as COPY asks for them.
type bulkRows struct {
	b      *source.Bulk
	next   int
	values []any
}

// Next goes to the next row.
func (r *bulkRows) Next() bool {
	r.next++
	return r.next <= r.b.Rows
}

// Values returns the row, which the driver has encoded when it asks for another.
func (r *bulkRows) Values() ([]any, error) {
	clear(r.values)
	r.b.Row(r.next-1, r.values)
	return r.values, nil
}

// Err returns nil: rows in memory cannot fail.
func (r *bulkRows) Err() error { return nil }

// arrayRows bounds the rows of one statement of arrays, and so its memory.
const arrayRows = 10_000

// arrays inserts the rows from one array for each column.
func (t *storeTx) arrays(ctx context.Context, b *source.Bulk) error {
	values := make([]any, len(b.Columns))
	for first := 0; first < b.Rows; first += arrayRows {
		n := min(arrayRows, b.Rows-first)
		columns := make([]valueArray, len(b.Columns))
		for i := range n {
			clear(values)
			b.Row(first+i, values)
			for c, v := range values {
				if err := columns[c].add(n, v); err != nil {
					return fmt.Errorf("%s.%s: %w", b.Table, b.Columns[c], err)
				}
			}
		}
		if err := t.insertArrays(ctx, b, columns); err != nil {
			return err
		}
	}
	return nil
}

// insertArrays runs one statement for the rows in columns.
func (t *storeTx) insertArrays(ctx context.Context, b *source.Bulk, columns []valueArray) error {
	var names, unnested []string
	var args []any
	for i, c := range columns {
		typ, arg := c.array()
		if typ == "" {
			names = append(names, "NULL") // nothing but nulls, of whatever type
			continue
		}
		args = append(args, arg)
		names = append(names, fmt.Sprintf("v.c%d", i))
		unnested = append(unnested, fmt.Sprintf("c%d", i))
	}
	params := make([]string, len(args))
	for i, a := range args {
		params[i] = fmt.Sprintf("$%d::%s[]", i+1, arrayType(a))
	}
	sql := source.DialectPostgres.InsertSQL(b, 0) + "SELECT " + strings.Join(names, ", ") +
		" FROM unnest(" + strings.Join(params, ", ") + ") AS v(" +
		strings.Join(unnested, ", ") + ")" + source.DialectPostgres.ConflictSQL(b)
	_, err := t.tx.Exec(ctx, sql, args...)
	return classify(err)
}

// A valueArray is the values of one column of a Bulk. One of the slices is used,
// and has a nil for each null.
type valueArray struct {
	rows  int
	ints  []*int64
	texts []*string
	bytes [][]byte
	float []*float64
}

// add adds one value. total is how many there will be.
func (c *valueArray) add(total int, v any) error {
	at := c.rows
	c.rows++
	switch v := v.(type) {
	case nil:
		return nil
	case int64:
		c.ints = place(c.ints, total, at, &v)
	case int:
		n := int64(v)
		c.ints = place(c.ints, total, at, &n)
	case bool:
		var n int64
		if v {
			n = 1
		}
		c.ints = place(c.ints, total, at, &n)
	case string:
		c.texts = place(c.texts, total, at, &v)
	case []byte:
		c.bytes = place(c.bytes, total, at, v)
	case float64:
		c.float = place(c.float, total, at, &v)
	default:
		return fmt.Errorf("a value of type %T cannot be stored", v)
	}
	return nil
}

// place sets element at of a slice that is made when it gets its first.
func place[T any](list []T, total, at int, v T) []T {
	if list == nil {
		list = make([]T, total)
	}
	list[at] = v
	return list
}

// array returns the column's type and its values; "" when all are null.
func (c *valueArray) array() (string, any) {
	for _, a := range []any{c.ints, c.texts, c.bytes, c.float} {
		if typ := arrayType(a); typ != "" {
			return typ, a
		}
	}
	return "", nil
}

// arrayType returns the element type of an array that is not empty.
func arrayType(a any) string {
	switch a := a.(type) {
	case []*int64:
		if a != nil {
			return "int8"
		}
	case []*string:
		if a != nil {
			return "text"
		}
	case [][]byte:
		if a != nil {
			return "bytea"
		}
	case []*float64:
		if a != nil {
			return "float8"
		}
	}
	return ""
}
