package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
)

// binaryResults asks for every column in PostgreSQL's binary format. It is an any, as it is
// passed, for that would take memory at each statement.
var binaryResults any = pgx.QueryResultFormats{pgx.BinaryFormatCode}

// codecOrdinal reads the number that the statement for many keys gives each row.
var codecOrdinal = codec{oid: pgtype.Int8OID, kind: row.Int}

// staleTries is how often a statement is prepared anew whose tables change again
// between that and its execution.
const staleTries = 5

// readFrom runs fn, which only reads, on a connection of a pool. It runs it
// again when a prepared statement no longer fits its tables (on the same
// connection, where it is then prepared anew) and, once, when the connection died
// before it answered (on another, which has been asked whether it lives).
func (s *Source) readFrom(
	ctx context.Context, pool *pgxpool.Pool, fn func(context.Context, *pgx.Conn) error,
) error {
	died, err := s.readOnce(ctx, pool, fn)
	if died && ctx.Err() == nil {
		_, err = s.readOnce(context.WithValue(ctx, pingKey{}, true), pool, fn)
	}
	return classify(s.closing(err))
}

// closing returns the error of a statement that was ended because the source was closed.
func (s *Source) closing(err error) error {
	if err == nil || s.ctx.Err() == nil {
		return err
	}
	return &source.Error{Class: source.Unavailable, Message: "the source is closed", Err: err}
}

// readOnce is readFrom on one connection. It reports whether that died meanwhile. One timer
// bounds the wait for the connection, and then what is asked on it.
func (s *Source) readOnce(
	ctx context.Context, pool *pgxpool.Pool, fn func(context.Context, *pgx.Conn) error,
) (bool, error) {
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := time.AfterFunc(s.opts.AcquireTimeout, cancel)
	defer limit.Stop()
	pooled, err := s.acquireWithin(ctx, outer, pool)
	if err != nil {
		return false, err
	}
	defer pooled.Release()
	limit.Reset(s.opts.StatementTimeout + answerGrace)
	conn := pooled.Conn()
	err = fn(ctx, conn)
	if err != nil && serialization(err) {
		err = fn(ctx, conn)
	}
	for try := 0; err != nil && stalePlan(err) && try < staleTries; try++ {
		err = fn(ctx, conn)
	}
	return err != nil && died(conn, err), err
}

// Load reads the documents of keys. Where the server refuses a value among them it is that
// of a key which no row has.
func (p *plan) Load(ctx context.Context, keys []row.Key) ([]source.Loaded, error) {
	loaded, err := p.Plan.Load(ctx, keys)
	if err != nil && badValue(err) {
		if alone := p.loadAlone(ctx, keys); alone != nil {
			return alone, nil
		}
	}
	return loaded, err
}

// snapshot runs fn, which only reads, in a transaction whose statements see one state.
func snapshot(ctx context.Context, conn *pgx.Conn, fn func() error) error {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead,
		AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if err := fn(); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// loadAlone loads keys after the server has refused a value among them. It
// returns nil when the refusal was not of a key. A key whose text is none of
// its column's type, such as a label that an enum does not have, has no row.
func (p *plan) loadAlone(ctx context.Context, keys []row.Key) []source.Loaded {
	good := make([]row.Key, 0, len(keys))
	loaded := make([]source.Loaded, len(keys))
	var at []int
	for i, k := range keys {
		loaded[i].Asked = k
		if c, err := p.ParseKey(k); err == nil && p.isKey(ctx, c) {
			good, at = append(good, k), append(at, i)
		}
	}
	if len(good) == len(keys) {
		return nil
	}
	var found []source.Loaded
	if len(good) > 0 {
		var err error
		if found, err = p.Plan.Load(ctx, good); err != nil {
			return nil
		}
	}
	for i := range found {
		loaded[at[i]] = found[i]
	}
	return loaded
}

// isKey asks the server whether k can be a key: whether its parts are texts of
// their columns' types. What cannot be asked counts as yes.
func (p *plan) isKey(ctx context.Context, k row.Key) bool {
	args, ok := document.KeyArgs(p.Parts, k)
	if !ok {
		return false
	}
	err := p.src.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, p.probe, args...)
		return err
	})
	return err == nil || !badValue(err)
}

// nested is how arrays of records are read, and documents by one statement.
var nested = &document.Nested{
	Expr: func(exprs, from string) string {
		return "ARRAY(SELECT ROW(" + exprs + ")" + from + ")"
	},
	Rows:   records,
	ByKey:  func(p *document.Plan) *document.Statement { return &p.Native.(*plan).one },
	ByKeys: byKeys,
}

// records gives to the records of an array of them.
func records(r document.Row, place, columns int, to document.RowTaker) error {
	src, err := r.(*cells).at(place)
	if err != nil {
		return err
	}
	dims, rest, err := arrayHeader(src)
	if err != nil || len(dims) == 0 {
		return err
	}
	if len(dims) != 1 {
		return fmt.Errorf("%w: records in %d dimensions", errWire, len(dims))
	}
	if err := to.Begin(dims[0].length); err != nil {
		return err
	}
	record := &cells{make([][]byte, 0, columns), make([]uint32, 0, columns)}
	for range dims[0].length {
		var item []byte
		if item, rest, err = nextItem(rest); err != nil {
			return err
		}
		if err := record.split(item, columns); err != nil {
			return err
		}
		if err := to.Take(record); err != nil {
			return err
		}
	}
	return nil
}

// byKeys reads the rows of canonical keys by one statement.
func byKeys(
	ctx context.Context, c document.Conn, of *document.Plan, keys []row.Key,
	each func(int, document.Row) error,
) error {
	p := of.Native.(*plan)
	args, err := keyArrays(keys, p.Parts)
	if err != nil {
		return err
	}
	var r cells
	return c.Query(ctx, &p.many, args, func(numbered document.Row) error {
		all := numbered.(*cells)
		n, err := codecOrdinal.decode(all.data[0])
		if err != nil {
			return err
		}
		i := int(n.Int()) - 1
		if i < 0 || i >= len(keys) {
			return fmt.Errorf("%w: row number %d", errWire, i)
		}
		r = cells{all.data[1:], all.oids[1:]}
		return each(i, &r)
	})
}

// arrived returns the types of an answer's columns.
func arrived(rows pgx.Rows) *cells {
	fields := rows.FieldDescriptions()
	c := &cells{oids: make([]uint32, len(fields))}
	for i := range fields {
		c.oids[i] = fields[i].DataTypeOID
	}
	return c
}
