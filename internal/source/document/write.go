package document

import (
	"context"
	"errors"
	"fmt"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// writeStatements bounds the time of a whole write: that of so many statements.
const writeStatements = 4

// writeTries is how often a write is tried that others are in the way of.
const writeTries = 5

// A checkError is an error that Write.Check returned: it is handed back as it is, and
// the transaction is not tried again.
type checkError struct{ err error }

// Error returns the text of the error within.
func (v *checkError) Error() string { return v.err.Error() }

// Write changes one document in one transaction and reads it again, for triggers
// may have changed it. A transaction that the database asks to repeat (a
// serialization failure, a deadlock), or whose connection died before it could
// commit, is tried again, as is one that others were in the way of, writeTries times at
// most. Who asks names the document in an error.
func (p *Plan) Write(ctx context.Context, w *source.Write) (*source.Written, error) {
	key, err := p.writeKey(w)
	if err != nil {
		return nil, err
	}
	ctx, cancel := p.db.Begin(ctx, writeStatements)
	defer cancel()
	done, again, err := p.writeOnce(ctx, w, key, false)
	for try := 1; again && try < writeTries && ctx.Err() == nil; try++ {
		done, again, err = p.writeOnce(ctx, w, key, true)
	}
	var v *checkError
	if errors.As(err, &v) {
		return nil, v.err
	}
	if err = p.db.Classify(err); err != nil {
		return nil, err
	}
	return done, nil
}

// writeKey refuses what cannot be written at all, and returns the canonical key
// that the request names; "" where the body or the database gives it.
func (p *Plan) writeKey(w *source.Write) (row.Key, error) {
	if err := p.writable(); err != nil {
		return "", err
	}
	switch {
	case w.Op != source.OpDelete && w.Input == nil:
		return "", invalid("the write has no document")
	case w.Key != "":
		return p.ParseKey(w.Key)
	case w.Op != source.OpCreate:
		return "", invalid("the write names no key")
	}
	return "", nil
}

// writable returns the error of a plan, or a database, that takes no writes.
func (p *Plan) writable() error {
	why := ""
	switch {
	case p.Query != nil:
		why = p.Name + " is a query, which takes no writes"
	case p.Root.Table.View:
		why = p.Name + " is a view, which takes no writes"
	}
	if why != "" {
		return &source.Error{Class: source.ReadOnly, Message: why}
	}
	return p.db.Writable()
}

// invalid returns the error of a request that the plan itself refuses.
func invalid(message string) error {
	return &source.Error{Class: source.Invalid, Message: message}
}

// noRow returns the error of a write to a document that is not there.
func noRow(resource string, key row.Key) error {
	return &source.Error{Class: source.NoRow,
		Message: resource + "/" + string(key) + " is not there"}
}

// writeOnce is one try of Write. It reports whether another may help.
func (p *Plan) writeOnce(
	ctx context.Context, w *source.Write, key row.Key, again bool,
) (*source.Written, bool, error) {
	var wr *writer
	run := func(ctx context.Context, c Conn) error {
		wr = &writer{plan: p, write: w, c: c, key: key,
			before: make(map[*Node]images), parents: make(map[*Node][]row.Key)}
		return wr.run(ctx)
	}
	t := &Transaction{Run: run, Again: again, Touch: w.Touch, Identify: w.Identify, As: w.As}
	done, retry, err := p.db.Transact(ctx, t)
	if err != nil {
		return nil, wr.again(err, retry), err
	}
	wr.done.Position, wr.done.Mark = done.Position, done.Mark
	return &wr.done, false, nil
}

// again reports whether the transaction that failed with err may be repeated; retry
// is what the driver says. wr is nil when it has not begun.
func (wr *writer) again(err error, retry bool) bool {
	var v *checkError
	if errors.As(err, &v) || source.ClassOf(err) == source.Unknown {
		return false
	}
	// Somebody else has created the row that was to be replaced.
	raced := wr != nil && wr.write.Op == source.OpReplace && wr.done.Created &&
		wr.plan.Dialect.Duplicate(err)
	return raced || retry
}

// A writer is one transaction that changes one document.
type writer struct {
	plan    *Plan
	write   *source.Write
	c       Conn
	key     row.Key             // of the document; "" while the database has yet to make it
	before  map[*Node]images    // the rows as they were locked
	parents map[*Node][]row.Key // under which rows of a child were looked for
	made    map[row.Key]bool    // rows of the root that were not there; nil where key says it
	done    source.Written
}

// run does everything between BEGIN and COMMIT.
func (wr *writer) run(ctx context.Context) error {
	if in := wr.write.Input; in != nil {
		if err := wr.checkInput(wr.plan.Root, in); err != nil {
			return err
		}
	}
	done, err := wr.overwrite(ctx)
	if !done && err == nil {
		err = wr.change(ctx)
	}
	if err != nil {
		return err
	}
	return wr.conclude(ctx, wr.readBack)
}

// conclude ends a transaction whose rows are written: what was changed is told, and the
// documents are read.
func (wr *writer) conclude(ctx context.Context, readBack func(context.Context) error) (err error) {
	if finish := wr.plan.Dialect.Finish; finish != nil {
		err = finish(ctx, wr.c, wr.plan)
	}
	if err != nil {
		return err
	}
	tells := wr.plan.Dialect.ReportsChanges
	var changes []source.Change
	if !tells {
		if changes, err = wr.changes(ctx); err != nil {
			return err
		}
	}
	if err := readBack(ctx); err != nil {
		return err
	}
	if wr.write.Touch != nil && !tells {
		wr.write.Touch(changes, 0)
	}
	return nil
}

// change looks at the document, shows it, and changes it.
func (wr *writer) change(ctx context.Context) error {
	exists, err := wr.lock(ctx)
	if err == nil {
		err = wr.check(ctx)
	}
	if err == nil {
		err = wr.apply(ctx, exists)
	}
	return err
}

// overwrite changes a document without a look at it first, where nobody wants to see it
// and there is no other way to write its key. Where there is none, or the body cannot be
// what it is changed to, it does nothing: which of the two it is matters.
func (wr *writer) overwrite(ctx context.Context) (bool, error) {
	p, w := wr.plan, wr.write
	if !p.Dialect.ReportsChanges || w.Check != nil || wr.key == "" || p.keys.Wide() ||
		w.Op != source.OpReplace && w.Op != source.OpMerge {
		return false, nil
	}
	if p.Root.required(w.Input, w.Op == source.OpReplace) != nil {
		return false, nil
	}
	keys := []row.Key{wr.key}
	st, args, err := p.Root.updating(p.Dialect, w.Input, keys, "", w.Op == source.OpReplace)
	if err != nil || st == nil {
		return false, nil
	}
	if changed, err := wr.c.Exec(ctx, st, args); err != nil || changed == 0 {
		return false, err
	}
	if err := wr.lockDocument(ctx); err != nil {
		return false, err
	}
	return true, wr.reconcileKids(ctx, p.Root, wr.key, w.Input)
}

// readBack reads the document as it is after the write.
func (wr *writer) readBack(ctx context.Context) error {
	if wr.done.Deleted {
		wr.done.Loaded.Asked = wr.write.Key
		return nil
	}
	var err error
	if wr.done.Loaded, err = wr.load(ctx); err != nil {
		return err
	}
	if !wr.done.Loaded.Found() {
		return source.Gone(wr.plan.Name, wr.key)
	}
	if wr.write.Key != "" {
		wr.done.Loaded.Asked = wr.write.Key
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
		return &checkError{err}
	}
	return nil
}

// apply changes the rows.
func (wr *writer) apply(ctx context.Context, exists bool) error {
	root, op, in := wr.plan.Root, wr.write.Op, wr.write.Input
	switch {
	case op == source.OpCreate && exists:
		return &source.Error{Class: source.Conflict,
			Message: fmt.Sprintf("there is a row with the key %s already", wr.key)}
	case op == source.OpCreate || op == source.OpReplace && !exists:
		wr.done.Created = true
		key, err := wr.insert(ctx, root, in, root.KeyCols, wr.key)
		if err == nil && op == source.OpReplace && key != wr.key {
			err = wr.findsAs(ctx, key)
		}
		if err != nil {
			return err
		}
		wr.key = key
	case !exists:
		return noRow(wr.plan.Name, wr.key)
	case op == source.OpDelete:
		wr.done.Deleted = true
		return wr.remove(ctx, root, wr.key)
	default:
		if err := root.required(in, op == source.OpReplace); err != nil {
			return err
		}
		keys := []row.Key{wr.key}
		if err := wr.update(ctx, root, in, keys, "", op == source.OpReplace); err != nil {
			return err
		}
	}
	return wr.reconcileKids(ctx, root, wr.key, in)
}

// findsAs refuses a row that has been made with another key than was asked for, by which it
// is not found: a number that its column rounds.
func (wr *writer) findsAs(ctx context.Context, key row.Key) error {
	loaded, err := wr.load(ctx)
	if err != nil || loaded.Found() {
		return err
	}
	return invalid(fmt.Sprintf("the database stores the key %s as %s, and the write was undone:"+
		" write %[2]s", wr.key, key))
}

// checkInput refuses a whole document without a member that is required, and one
// whose key is not that of its path.
func (wr *writer) checkInput(root *Node, in *row.Input) error {
	if wr.write.Op != source.OpMerge { // of a part, whether there is a row comes first
		if err := root.required(in, true); err != nil {
			return err
		}
	}
	given, ok := root.inputKey(in, "")
	if !ok {
		return nil
	}
	canonical, err := wr.plan.ParseKey(given)
	switch {
	case err != nil:
		return err
	case wr.key == "":
		wr.key = canonical
	case wr.key != canonical && !wr.plan.keys.Wide():
		return invalid(fmt.Sprintf("the key in the body, %q, is not that of the document, %q",
			given, wr.key))
	}
	return nil
}

// required refuses a document without a member that it must have. A whole one must
// have all; of a part those that it has may not be null.
func (n *Node) required(in *row.Input, whole bool) error {
	for i, col := range n.Fields {
		switch {
		case col == nil || !n.Shape.Fields[i].Required:
		case in.Present[i] && in.Values[i].IsNull(), whole && !in.Present[i]:
			return invalid(n.Shape.Fields[i].Name + " is required")
		}
	}
	for _, kid := range n.Kids {
		for j := range in.Rows[kid.Member] {
			if err := kid.required(&in.Rows[kid.Member][j], true); err != nil {
				return fmt.Errorf("%s[%d]: %w", n.Shape.Fields[kid.Member].Name, j, err)
			}
		}
	}
	return nil
}
