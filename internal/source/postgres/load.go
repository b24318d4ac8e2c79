package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// binaryResults asks for every column in PostgreSQL's binary format.
var binaryResults = pgx.QueryResultFormats{pgx.BinaryFormatCode}

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
	return classify(err)
}

// readOnce is readFrom on one connection. It reports whether that died meanwhile.
func (s *Source) readOnce(
	ctx context.Context, pool *pgxpool.Pool, fn func(context.Context, *pgx.Conn) error,
) (bool, error) {
	pooled, err := s.acquireFrom(ctx, pool)
	if err != nil {
		return false, err
	}
	defer pooled.Release()
	ctx, cancel := context.WithTimeout(ctx, s.opts.StatementTimeout+answerGrace)
	defer cancel()
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
func snapshot(ctx context.Context, conn *pgx.Conn, fn func(pgx.Tx) error) error {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead,
		AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if err := fn(tx); err != nil {
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
	args, err := p.oneArgs(k)
	if err != nil {
		return false
	}
	err = p.src.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, p.probe, args...)
		return err
	})
	return err == nil || !badValue(err)
}

// A querier runs queries: a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// load is Load on one connection.
func (p *plan) load(ctx context.Context, q querier, keys []row.Key) ([]source.Loaded, error) {
	// Fast path: one key, whose row needs no number.
	if len(keys) == 1 {
		l, err := p.loadOne(ctx, q, keys[0])
		return []source.Loaded{l}, err
	}
	loaded := make([]source.Loaded, len(keys))
	for i, k := range keys {
		loaded[i].Asked = k
	}
	args, err := p.manyArgs(keys)
	if err != nil {
		return nil, err
	}
	rows, err := q.Query(ctx, p.many, append([]any{binaryResults}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	c := arrived(rows)
	for rows.Next() {
		c.data = rows.RawValues()
		n, err := codecOrdinal.decode(c.data[0])
		if err != nil {
			return nil, err
		}
		i := int(n.Int()) - 1
		if i < 0 || i >= len(loaded) {
			return nil, fmt.Errorf("%w: row number %d", errWire, i)
		}
		if err := p.decode(cells{c.data[1:], c.oids[1:]}, &loaded[i]); err != nil {
			return nil, err
		}
	}
	return loaded, rows.Err()
}

// arrived returns the types of an answer's columns.
func arrived(rows pgx.Rows) cells {
	var c cells
	for _, f := range rows.FieldDescriptions() {
		c.oids = append(c.oids, f.DataTypeOID)
	}
	return c
}

// loadOne reads one document.
func (p *plan) loadOne(ctx context.Context, q querier, k row.Key) (source.Loaded, error) {
	l := source.Loaded{Asked: k}
	args, err := p.oneArgs(k)
	if err != nil {
		return l, err
	}
	rows, err := q.Query(ctx, p.one, append([]any{binaryResults}, args...)...)
	if err != nil {
		return l, err
	}
	defer rows.Close()
	c := arrived(rows)
	for rows.Next() {
		c.data = rows.RawValues()
		if err := p.decode(c, &l); err != nil {
			return l, err
		}
	}
	return l, rows.Err()
}

// decode reads one row of an answer into l.
func (p *plan) decode(c cells, l *source.Loaded) error {
	if l.Found() {
		return &source.Error{
			Class:   source.Internal,
			Message: fmt.Sprintf("%s: more than one row for the key %q", p.Name, l.Asked),
			Hint:    "the key of a resource must name one row",
		}
	}
	d := decoder{}
	values, key, err := d.row(p.root, c, 0)
	if err != nil {
		return fmt.Errorf("decode %s: %w", p.Name, err)
	}
	if key == "" && !p.KeyRead {
		key = l.Asked
	}
	l.Key, l.Values, l.Children = key, values, d.children
	return nil
}

// A decoder reads the rows of one document.
type decoder struct {
	children []source.Child
}

// row reads one row of n, which is so deep within its document, and returns
// its values and its key.
func (d *decoder) row(n *level, c cells, depth int) (row.Values, row.Key, error) {
	if len(c.data) != len(n.items) || len(c.oids) != len(n.items) {
		return nil, "", fmt.Errorf("%w: %d columns, want %d", errWire, len(c.data), len(n.items))
	}
	values := make(row.Values, len(n.items))
	for i := range n.items {
		var err error
		if kid := n.items[i].kid; kid != nil {
			values[i], err = d.rows(kid, c.data[i], depth+1)
			if _, one := kid.Related(); one && err == nil {
				values[i] = single(values[i])
			}
		} else {
			values[i], err = n.decode(n.items[i].codec, c, i)
		}
		if err != nil {
			return nil, "", fmt.Errorf("column %d of %s: %w", i+1, n.Name, err)
		}
	}
	n.reach(values)
	if n.IDAt != nil && depth <= 1 {
		if id, ok := keyOf(values, n.IDAt); ok {
			d.children = append(d.children, source.Child{Table: n.Name, ID: id})
		}
	}
	key, _ := keyOf(values, n.Key)
	if related, _ := n.Related(); related {
		n.see(key, values)
	}
	return n.Members(values), key, nil
}

// reach notes by which values rows embedded in a row were looked for.
func (n *level) reach(values row.Values) {
next:
	for _, kid := range n.Kids {
		if related, _ := kid.Related(); !related {
			continue
		}
		for _, at := range kid.Up() {
			if values[at].IsNull() {
				continue next // equal to nothing
			}
		}
		by, ok := keyOf(values, kid.Up())
		if !ok {
			by = ""
		}
		kid.Seek(by)
	}
}

// see notes that a row was read which a query embeds.
func (n *level) see(key row.Key, values row.Values) {
	at := n.Leads()
	if at == nil {
		n.See(key)
		return
	}
	to, ok := keyOf(values, at)
	if !ok {
		to = ""
	}
	n.Lead(to)
}

// decode reads the value of a column of n, which is in place i of c.
func (n *level) decode(column codec, c cells, i int) (row.Value, error) {
	codec, ok := column.of(c.oids[i])
	if !ok {
		return row.Value{}, n.changed()
	}
	return codec.decode(c.data[i])
}

// changed is the error of a table whose columns are no longer what the plan was
// compiled for. It lasts until the feed has noticed and the plan is made anew.
func (n *level) changed() error {
	return &source.Error{Class: source.Busy, After: retryAfter, Err: source.ErrReshaped,
		Message: n.Name + " has columns of other types than when its resource was compiled"}
}

// rows reads the record[] that holds the documents within a document.
func (d *decoder) rows(n *level, src []byte, depth int) (row.Value, error) {
	dims, rest, err := arrayHeader(src)
	if err != nil || len(dims) == 0 {
		return row.RowsValue(nil), err
	}
	if len(dims) != 1 {
		return row.Value{}, fmt.Errorf("%w: records in %d dimensions", errWire, len(dims))
	}
	if err := n.Take(dims[0].length); err != nil {
		return row.Value{}, err
	}
	list := make([]row.Values, 0, dims[0].length)
	var c cells
	for range dims[0].length {
		var item []byte
		if item, rest, err = nextItem(rest); err != nil {
			return row.Value{}, err
		}
		if err := c.split(item, len(n.items)); err != nil {
			return row.Value{}, err
		}
		values, _, err := d.row(n, c, depth)
		if err != nil {
			return row.Value{}, err
		}
		list = append(list, values)
	}
	return row.RowsValue(list), nil
}

// single returns the one row that there may be, or null.
func single(v row.Value) row.Value {
	if rows := v.Rows(); len(rows) > 0 {
		return row.RowValue(rows[0])
	}
	return row.Value{}
}

// keyOf returns the key that the values at these places make. It reports false when
// one of them can be no part of a key: with "", or with the text as it is where that is
// no UTF-8.
func keyOf(values row.Values, at []int) (key row.Key, ok bool) {
	if len(at) == 0 {
		return "", false
	}
	if len(at) == 1 {
		text, ok := partText(&values[at[0]])
		return row.Key(text), ok
	}
	parts := make([]string, len(at))
	ok = true
	for i, a := range at {
		text, is := partText(&values[a])
		if !is && text == "" {
			return "", false
		}
		parts[i], ok = text, ok && is
	}
	return row.JoinKey(parts...), ok
}

// partText returns what keyOf makes of one part.
func partText(v *row.Value) (string, bool) {
	text, ok := row.KeyText(*v)
	if !ok && v.Kind() == row.Text {
		text = v.Text()
	}
	return text, ok
}
