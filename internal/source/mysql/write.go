package mysql

import (
	"context"
	"errors"
	"fmt"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/binlog"
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
// (a deadlock), or whose connection died before it could commit, is tried once
// more.
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
		done, _, err = p.writeOnce(ctx, w, key)
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
	case p.query != nil:
		why = p.name + " is a query, which takes no writes"
	case p.root.table.View:
		why = p.name + " is a view, which takes no writes"
	default:
		return nil
	}
	return &source.Error{Class: source.ReadOnly, Message: why}
}

// writeOnce is one try of Write. It reports whether another may help. The
// isolation is that of single statements: locks are what keeps others out, and
// a lock on a row that is not there yet would only make writers wait for each
// other.
func (p *plan) writeOnce(
	ctx context.Context, w *source.Write, key row.Key,
) (*source.Written, bool, error) {
	c, err := p.src.acquire(ctx)
	if err != nil {
		return nil, false, err
	}
	defer c.release()
	for _, sql := range []string{
		"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION READ WRITE",
	} {
		if err := c.exec(ctx, sql); err != nil {
			c.discard()
			return nil, died(err), err
		}
	}
	wr := &writer{plan: p, write: w, c: c, key: key,
		before: make(map[*node]images), parents: make(map[*node][]row.Key)}
	if err = wr.run(ctx); err == nil {
		err = c.commit(ctx)
	}
	if err != nil {
		again := wr.again(err)
		if e := c.exec(context.WithoutCancel(ctx), "ROLLBACK"); e != nil {
			c.discard()
		}
		return nil, again, err
	}
	// 0 when it cannot be told: the write has happened all the same.
	wr.done.Position, _ = binlog.WritePosition(ctx, c)
	return &wr.done, false, nil
}

// again reports whether the transaction that failed with err may be repeated.
func (wr *writer) again(err error) bool {
	var v *verdict
	if errors.As(err, &v) || source.ClassOf(err) == source.Unknown {
		return false
	}
	// Somebody else has created the row that was to be replaced.
	raced := wr.write.Op == source.OpReplace && wr.done.Created && number(err) == errDuplicate
	return raced || serialization(err) || died(err)
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

// A writer is one transaction that changes one document.
type writer struct {
	plan    *plan
	write   *source.Write
	c       *conn
	key     row.Key             // of the document; "" while the database has yet to make it
	before  map[*node]images    // the rows as they were locked
	parents map[*node][]row.Key // under which rows of a child were looked for
	done    source.Written
}

// run does everything between START TRANSACTION and COMMIT.
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
	if wr.done.Loaded, err = wr.load(ctx); err != nil {
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

// load reads the document in the transaction.
func (wr *writer) load(ctx context.Context) (source.Loaded, error) {
	loaded, err := wr.plan.load(ctx, wr.c, []row.Key{wr.key})
	if err != nil {
		return source.Loaded{}, err
	}
	return loaded[0], nil
}

// check shows the document as it is now to whoever asked for that.
func (wr *writer) check(ctx context.Context) error {
	if wr.write.Check == nil {
		return nil
	}
	current := source.Loaded{Asked: wr.key}
	if wr.key != "" {
		var err error
		if current, err = wr.load(ctx); err != nil {
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
	switch {
	case op == source.OpCreate && exists:
		return &source.Error{Class: source.Conflict,
			Message: fmt.Sprintf("there is a row with the key %s already", wr.key)}
	case op == source.OpCreate || op == source.OpReplace && !exists:
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
	return wr.reconcileKids(ctx, root, wr.key, in)
}

// checkInput refuses a body without a member that is required, and one whose key
// is not that of its path.
func (wr *writer) checkInput(root *node, in *row.Input) error {
	if err := root.required(in, wr.write.Op != source.OpMerge); err != nil {
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
		case col == nil || !n.mustHave(col):
		case in.Present[i] && in.Values[i].IsNull(), whole && !in.Present[i]:
			return invalid(n.shape.Fields[i].Name + " is required")
		}
	}
	for _, kid := range n.kids {
		for j := range in.Rows[kid.member] {
			if err := kid.required(&in.Rows[kid.member][j], true); err != nil {
				return err
			}
		}
	}
	return nil
}

// mustHave reports whether the Spec says that the column is required.
func (n *node) mustHave(col *column) bool {
	f, _ := n.fieldSpec(col)
	return f.Required
}
