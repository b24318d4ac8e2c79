package sqlite

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/hotrow/hotrow/internal/source"
)

// maxGroup bounds the changes that are committed together, and so what one of them
// waits for beside its own.
const maxGroup = 64

// A pendingChange is what one caller wants done in a transaction. Changes that wait while
// another transaction is under way are committed together (group commit): a COMMIT waits
// for the disk, whatever is in it. Each is within a savepoint, so that one that fails
// undoes nothing of the others.
type pendingChange struct {
	fn    func(*conn) error
	touch func([]source.Change, source.Position) // may be nil

	alone bool // it shares no transaction with others

	// What follows belongs to who holds the writer's turn until done is closed.
	tx   *source.Tx // what it has changed
	own  span
	pos  source.Position
	err  error
	done chan struct{}
}

// errUnfinished is the error of a change whose transaction ended in a panic.
var errUnfinished = &source.Error{Class: source.Internal,
	Message: "another write of the same transaction has failed"}

// errTogether says that a transaction of several changes came to nothing for what one
// of them did.
var errTogether = errors.New("the transaction has ended")

// A changeQueue has the changes that no transaction has taken yet, in the order in which
// they came.
type changeQueue struct {
	mu   sync.Mutex // guards list
	list []*pendingChange
}

// add appends a change.
func (q *changeQueue) add(c *pendingChange) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = append(q.list, c)
}

// remove takes a change out. It reports whether it was there still.
func (q *changeQueue) remove(c *pendingChange) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.list, c)
	if i >= 0 {
		q.list = slices.Delete(q.list, i, i+1)
	}
	return i >= 0
}

// take returns the changes of the next transaction.
func (q *changeQueue) take() []*pendingChange {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.list), maxGroup)
	if n > 0 && q.list[0].alone { // such are before all others
		n = 1
	}
	group := slices.Clone(q.list[:n])
	q.list = slices.Delete(q.list, 0, n)
	return group
}

// putBack puts changes before all others, each for a transaction of its own.
func (q *changeQueue) putBack(group []*pendingChange) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range group {
		c.alone = true
	}
	q.list = slices.Insert(q.list, 0, group...)
}

// transaction runs fn in a transaction of its own, commits, tells the feeds once COMMIT
// has returned, and returns its position.
func (w *writer) transaction(ctx context.Context, fn func(*conn) error) (source.Position, error) {
	if err := w.begin(ctx, nil); err != nil {
		return 0, err
	}
	c := &pendingChange{done: make(chan struct{})}
	c.fn = func(conn *conn) error {
		before := w.known.version
		if err := fn(conn); err != nil {
			return err
		}
		now, err := conn.integer(ctx, "PRAGMA schema_version")
		w.ddl = now != before
		return err
	}
	w.finish(ctx, []*pendingChange{c})
	return c.pos, c.err
}

// change runs fn in a transaction, of others as well, shows touch what it changed before
// COMMIT, tells the feeds once that has returned, and returns its position. fn leaves the
// schema as it is. Both may be called again after the transaction has come to nothing, and
// by another goroutine, but not once change has returned.
func (w *writer) change(
	ctx context.Context, fn func(*conn) error, touch func([]source.Change, source.Position),
) (source.Position, error) {
	c := &pendingChange{fn: fn, touch: touch, done: make(chan struct{})}
	w.queue.add(c)
	for {
		if err := w.begin(ctx, c.done); err != nil {
			if w.queue.remove(c) {
				return 0, err
			}
			<-c.done // it is done, or about to be
			return c.pos, c.err
		}
		w.finish(ctx, w.queue.take())
		select {
		case <-c.done:
			return c.pos, c.err
		default: // others came first
		}
	}
}

// finish does what the changes of a group want in the transaction that has begun, ends it
// and the writer's turn, and tells those who wait.
func (w *writer) finish(ctx context.Context, group []*pendingChange) {
	ended := false
	defer func() {
		if !ended { // one of the functions panics
			w.rollback()
			fail(group, errUnfinished)
		}
		for _, c := range group {
			close(c.done)
		}
		w.unlock()
	}()
	err := w.runAll(ctx, group)
	if err == nil {
		err = w.commitAll(ctx, group)
	}
	switch {
	case errors.Is(err, errTogether):
		w.queue.putBack(group)
		group = nil
	case err != nil:
		fail(group, err)
	}
	ended = true
}

// fail gives err to all of a group.
func fail(group []*pendingChange, err error) {
	for _, c := range group {
		c.pos, c.err = 0, err
	}
}

// runAll runs the functions of a group. An error is that of all, and the end of the
// transaction.
func (w *writer) runAll(ctx context.Context, group []*pendingChange) error {
	w.changes.reset()
	ctx = context.WithoutCancel(ctx) // the others wait for it, too
	err := w.catchUp(ctx)
	if err == nil {
		err = w.refresh(ctx) // the hook names columns as the schema of this moment does
	}
	if err != nil {
		w.rollback()
		return err
	}
	for _, c := range group {
		c.pos = 0
		if len(group) == 1 {
			c.err = c.fn(w.c)
		} else if w.within(ctx, c) != nil {
			w.rollback()
			return errTogether
		}
		c.tx, c.own = w.changes.take()
	}
	return nil
}

// within runs the function of c in a savepoint. An error says that there is no transaction
// any more: some of SQLite's errors end it, and so does ON CONFLICT ROLLBACK.
func (w *writer) within(ctx context.Context, c *pendingChange) error {
	if err := w.c.execBrief(ctx, "SAVEPOINT hotrow"); err != nil {
		return err
	}
	if c.err = c.fn(w.c); c.err != nil {
		if err := w.c.execBrief(ctx, "ROLLBACK TO hotrow"); err != nil {
			return err
		}
	}
	return w.c.execBrief(ctx, "RELEASE hotrow")
}

// commitAll shows the changes that have not failed to who waits for that, and commits
// them. The transaction has ended then; an error is that of all.
func (w *writer) commitAll(ctx context.Context, group []*pendingChange) error {
	last := w.pos
	for _, c := range group {
		if c.err != nil {
			continue
		}
		last++ // see publish: the turn is ours, and so is the lock
		c.pos, c.tx.Mark = last, uint64(last)
		if c.touch != nil {
			c.touch(changesOf(c.tx), c.pos)
		}
	}
	if last == w.pos {
		w.rollback()
		return nil
	}
	w.taken.Store(uint64(last)) // before anybody can see it
	if err := w.commit(ctx); err != nil {
		w.rollback()
		return w.undone(err, last, len(group) > 1)
	}
	if w.replaced() { // before COMMIT or after it: nobody can tell
		return w.undone(errReplaced, last, false)
	}
	ddl := w.ddl
	if ddl {
		// If this fails, the next transaction or look tries again.
		_ = w.refresh(context.WithoutCancel(ctx))
	}
	for _, c := range group {
		switch {
		case c.err != nil:
		case ddl:
			w.publish(&event{tx: &source.Tx{All: true}, own: c.own, schema: true})
		default:
			w.publish(&event{tx: c.tx, own: c.own})
		}
	}
	return nil
}

// undone returns the error of a COMMIT. The positions up to last are not given again: what
// was shown has them.
func (w *writer) undone(err error, last source.Position, several bool) error {
	w.pos = last - 1
	if codeOf(err)&0xff == codeConstraint { // a deferred foreign key: nothing was written
		w.publish(&event{tx: &source.Tx{}})
		if several {
			return errTogether
		}
		return err
	}
	// Copies dropped for a transaction that was undone do no harm, and a commit
	// record that could not be synced may have reached the file.
	w.publish(&event{tx: &source.Tx{All: true}})
	if codeOf(err)&0xff == codeIOErr || errors.Is(err, errReplaced) {
		return &source.Error{Class: source.Unknown, Message: err.Error(), Err: err}
	}
	return err
}
