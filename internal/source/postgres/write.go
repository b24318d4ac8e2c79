package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// writeStatements bounds the time of a whole write: that of so many statements.
const writeStatements = 4

// A verdict is an error that Write.Check returned: it is handed back as it is,
// and the transaction is not tried again.
type verdict struct{ err error }

// Error returns the text of the error within.
func (v *verdict) Error() string { return v.err.Error() }

// Write changes one document in one transaction and reads it again, for
// triggers may have changed it. A transaction that the server asks to repeat
// (serialization failure, deadlock), or whose connection died before it could
// commit, is tried once more.
func (p *plan) Write(ctx context.Context, w *source.Write) (*source.Written, error) {
	if err := p.writable(); err != nil {
		return nil, err
	}
	if w.Op != source.OpDelete && w.Input == nil {
		return nil, invalid("the write has no document")
	}
	ctx, cancel := p.src.begin(ctx, writeStatements)
	defer cancel()
	key := w.Key
	if key != "" {
		var err error
		if key, err = p.loose.Parse(key); err != nil {
			return nil, fmt.Errorf("write %s: %w", p.name, err)
		}
	} else if w.Op != source.OpCreate {
		return nil, invalid("the write names no key")
	}
	done, again, err := p.writeOnce(ctx, w, key)
	if again && ctx.Err() == nil {
		done, _, err = p.writeOnce(context.WithValue(ctx, pingKey{}, true), w, key)
	}
	var v *verdict
	if errors.As(err, &v) {
		return nil, v.err
	}
	if err = classify(err); err != nil {
		return nil, fmt.Errorf("write %s: %w", p.name, err)
	}
	return done, nil
}

// writable refuses plans that have no table of their own to write to.
func (p *plan) writable() error {
	why := ""
	switch {
	case p.src.opts.ReadOnly:
		why = "the source is read-only"
	case p.query != "":
		why = p.name + " is a query, which takes no writes"
	case p.root.table.View:
		why = p.name + " is a view, which takes no writes"
	default:
		return nil
	}
	return &source.Error{Class: source.ReadOnly, Message: why}
}

// writeOnce is one try of Write. It reports whether another may help. Statements that
// do not fit their tables any more are prepared anew first, all of them.
func (p *plan) writeOnce(
	ctx context.Context, w *source.Write, key row.Key,
) (*source.Written, bool, error) {
	pooled, err := p.src.acquire(ctx)
	if err != nil {
		return nil, false, err
	}
	defer pooled.Release()
	done, again, err := p.transact(ctx, pooled, w, key)
	if err != nil && stalePlan(err) && pooled.Conn().DeallocateAll(ctx) == nil {
		return p.transact(ctx, pooled, w, key)
	}
	return done, again, err
}

// transact is one transaction of Write.
func (p *plan) transact(
	ctx context.Context, pooled *pgxpool.Conn, w *source.Write, key row.Key,
) (*source.Written, bool, error) {
	conn := pooled.Conn()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{
		IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite,
	})
	if err != nil {
		return nil, died(conn, err), err
	}
	wr := &writer{plan: p, write: w, tx: tx, key: key,
		before: make(map[*node]images), parents: make(map[*node][]row.Key)}
	if err = wr.run(ctx); err == nil {
		err = commitTx(ctx, tx)
	}
	if err != nil {
		again := wr.again(conn, err)
		_ = tx.Rollback(ctx) // a connection that cannot is closed when it is released
		return nil, again, err
	}
	wr.done.Position = position(ctx, pooled)
	return &wr.done, false, nil
}

// again reports whether the transaction that failed with err may be repeated.
func (wr *writer) again(conn *pgx.Conn, err error) bool {
	var v *verdict
	if errors.As(err, &v) || source.ClassOf(err) == source.Unknown {
		return false
	}
	// Somebody else has created the row that was to be replaced.
	raced := wr.write.Op == source.OpReplace && wr.done.Created && sqlState(err) == "23505"
	return raced || serialization(err) || died(conn, err)
}

// commitTx commits. When the answer to that is lost, nobody knows the outcome.
func commitTx(ctx context.Context, tx pgx.Tx) error {
	err := tx.Commit(ctx)
	var pg *pgconn.PgError
	switch {
	case err == nil, errors.Is(err, pgx.ErrTxCommitRollback), pgconn.SafeToRetry(err):
		return err // SafeToRetry: the commit was never sent
	case errors.As(err, &pg) && !strings.HasPrefix(pg.Code, "57P"):
		return err // the server says that it has rolled back
	}
	return &source.Error{
		Class: source.Unknown, Code: sqlState(err), After: retryAfter, Err: err,
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

// A writer is one transaction that changes one document.
type writer struct {
	plan    *plan
	write   *source.Write
	tx      pgx.Tx
	key     row.Key             // of the document; "" while the database has yet to make it
	before  map[*node]images    // the rows as they were locked
	parents map[*node][]row.Key // under which rows of a child were looked for
	done    source.Written
}

// run does everything between BEGIN and COMMIT.
func (wr *writer) run(ctx context.Context) error {
	root, in := wr.plan.root, wr.write.Input
	if in != nil {
		if err := wr.checkInput(root, in); err != nil {
			return err
		}
	}
	exists, err := wr.lock(ctx)
	if err != nil {
		return err
	}
	if err := wr.check(ctx); err != nil {
		return err
	}
	if err := wr.apply(ctx, exists); err != nil {
		return err
	}
	changes, err := wr.changes(ctx)
	if err != nil {
		return err
	}
	if wr.done.Loaded, err = wr.plan.loadOne(ctx, wr.tx, wr.key); err != nil {
		return err
	}
	if !wr.done.Deleted && !wr.done.Loaded.Found() {
		return source.Gone(wr.plan.name, wr.key)
	}
	if wr.write.Key != "" {
		wr.done.Loaded.Asked = wr.write.Key
	}
	if wr.write.Touch != nil {
		wr.write.Touch(changes, 0)
	}
	return nil
}

// check shows the document as it is now to whoever asked for that.
func (wr *writer) check(ctx context.Context) error {
	if wr.write.Check == nil {
		return nil
	}
	current := source.Loaded{Asked: wr.key}
	if wr.key != "" {
		var err error
		if current, err = wr.plan.loadOne(ctx, wr.tx, wr.key); err != nil {
			return err
		}
	}
	if err := wr.write.Check(&current); err != nil {
		return &verdict{err}
	}
	return nil
}

// apply changes the rows.
func (wr *writer) apply(ctx context.Context, exists bool) error {
	root, op, in := wr.plan.root, wr.write.Op, wr.write.Input
	create := op == source.OpCreate || op == source.OpReplace && !exists
	switch {
	case create:
		wr.done.Created = true
		key, err := wr.insert(ctx, root, in, root.keyCols, wr.key)
		if err != nil {
			return err
		}
		wr.key = key
	case !exists:
		return noRow(wr.plan.name, wr.key)
	case op == source.OpDelete:
		wr.done.Deleted = true
		return wr.remove(ctx, root, wr.key)
	default:
		if err := wr.update(ctx, root, in, wr.key, "", op == source.OpReplace); err != nil {
			return err
		}
	}
	for i, kid := range root.shapeKids() {
		if kid != nil && in.Present[i] {
			if err := wr.reconcile(ctx, kid, wr.key, in.Rows[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkInput refuses a body without a member that is required, and one whose key
// is not that of its path.
func (wr *writer) checkInput(root *node, in *row.Input) error {
	whole := wr.write.Op != source.OpMerge
	if err := root.required(in, whole); err != nil {
		return err
	}
	given, ok := root.inputKey(in, "")
	switch {
	case wr.key == "" && ok:
		wr.key = given
	case ok && wr.key != given && !wr.plan.keys.Wide():
		return invalid(fmt.Sprintf("the key in the body, %q, is not that of the document, %q",
			given, wr.key))
	}
	return nil
}

// required refuses a document without a member that it must have. A whole one
// must have all; of a part those that it has may not be null.
func (n *node) required(in *row.Input, whole bool) error {
	for i, col := range n.fields {
		switch {
		case col == nil:
			for j := range in.Rows[i] {
				if err := n.items[i].kid.required(&in.Rows[i][j], true); err != nil {
					return err
				}
			}
		case !n.spec.Fields[col.Name].Required:
		case in.Present[i] && in.Values[i].IsNull(), whole && !in.Present[i]:
			return invalid(n.shape.Fields[i].Name + " is required")
		}
	}
	return nil
}

// shapeKids returns the child of each member; nil for those that are columns.
func (n *node) shapeKids() []*node {
	kids := make([]*node, len(n.fields))
	for i := range kids {
		kids[i] = n.items[i].kid
	}
	return kids
}
