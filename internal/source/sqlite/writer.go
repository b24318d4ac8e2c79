package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// busyTimeout is how long a write waits for another program's transaction.
const busyTimeout = 5 * time.Second

// errDone ends the wait for the writer's turn.
var errDone = errors.New("done by somebody else")

// A writer is the one connection that writes. Its hooks collect the changes of
// the transaction under way.
type writer struct {
	s     *Source
	dsn   string
	queue changeQueue // of changes that wait for a transaction

	// next holds a token when no transaction waits for the turn. One does at a time:
	// whoever looks for changes of others waits for that one alone, and not for all.
	next chan struct{}
	busy atomic.Pointer[error] // why the last BEGIN failed, if it was for a lock of others

	turn chan struct{} // holds a token when nobody uses what follows
	c    *conn
	file os.FileInfo // of the file that the connection has open
	gone error       // set once the connection is closed

	changes collector
	readers *pool      // of the same file
	known   *catalogue // the tables, as of the last refresh
	ddl     bool       // the schema changed in the transaction under way

	origin string
	pos    source.Position // of the last commit seen, ours and others'

	// taken is the last position that was given to a commit which somebody may see: ours get
	// theirs before COMMIT, and pos moves after it. promised is the highest that readers were
	// told; see seen.
	taken, promised atomic.Uint64
}

// seen returns a position that nothing is behind which a read has seen that has just ended. Our
// own commits have theirs. One of another program that nobody has looked for yet gets the
// next, whoever looks first: the feed, or our next transaction. Where there was none, or
// nobody can tell because a transaction is under way, the next look gives that position to
// nothing, so that fences reach it.
func (w *writer) seen(ctx context.Context) source.Position {
	select {
	case <-w.turn:
		pos, looked := w.pos, w.looked(ctx)
		w.unlock()
		if looked {
			return pos
		}
	default:
	}
	next := w.taken.Load() + 1
	for {
		old := w.promised.Load()
		if next <= old || w.promised.CompareAndSwap(old, next) {
			return source.Position(next)
		}
	}
}

// openWriter opens the writing connection of s.
func openWriter(ctx context.Context, s *Source, readers *pool) (*writer, error) {
	mode, pragmas := "rw", []string{"busy_timeout(5000)", "foreign_keys(1)"}
	if s.o.Own {
		mode = "rwc"
		// What a statement would undo is kept in memory: ours are small, and a file for
		// it is written to as often as the log. The cache has room for the pages that
		// the sums of many links are on.
		pragmas = append(pragmas, "journal_mode(WAL)", "synchronous(FULL)",
			"journal_size_limit(67108864)", "temp_store(2)", "cache_size(-16000)")
	}
	if s.o.ReadOnly {
		pragmas = append(pragmas, "query_only(1)")
	}
	w := &writer{s: s, dsn: dsn(s.path, mode, pragmas...), turn: make(chan struct{}, 1),
		next: make(chan struct{}, 1), origin: newOrigin(), readers: readers}
	w.changes.w = w
	if err := w.open(ctx); err != nil {
		if w.c != nil {
			_ = w.c.close() // the error of opening is the one to tell
		}
		return nil, err
	}
	w.turn <- struct{}{}
	w.next <- struct{}{}
	return w, nil
}

// open takes the connection and reads the schema.
func (w *writer) open(ctx context.Context) error {
	var err error
	if w.c, err = newConn(ctx, w.dsn); err != nil {
		return wrap(err)
	}
	if w.file, err = os.Stat(w.s.path); err != nil {
		return err
	}
	// From here on BEGIN does not wait within SQLite, where it would keep the
	// feed from polling: see begin.
	if err := w.c.execOnce(ctx, "PRAGMA busy_timeout=0"); err != nil {
		return err
	}
	w.c.waits = false
	if err := w.refresh(ctx); err != nil {
		return err
	}
	if !w.s.o.ReadOnly { // the first write need not wait for the schema of thousands of tables
		if err := w.c.learn(ctx); err != nil {
			return err
		}
	}
	w.c.c.RegisterPreUpdateHook(w.changes.preUpdate)
	w.c.c.RegisterCommitHook(w.changes.committing)
	w.c.c.RegisterRollbackHook(w.changes.rolledBack)
	return nil
}

// looked reports whether the feeds have looked for all that other programs have committed. The
// writer's turn is held.
func (w *writer) looked(ctx context.Context) bool {
	if w.gone != nil {
		return false
	}
	version, err := w.c.integer(context.WithoutCancel(ctx), "PRAGMA data_version")
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	for f := range w.s.feeds {
		if f.version != version {
			return false
		}
	}
	return err == nil
}

// lock waits for the writer's turn.
func (w *writer) lock(ctx context.Context) error { return w.lockUnless(ctx, nil) }

// lockUnless is lock, and ends with errDone when done is closed.
func (w *writer) lockUnless(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-w.turn:
	case <-done:
		return errDone
	case <-ctx.Done():
		return wrap(ctx.Err())
	}
	return w.mine()
}

// mine gives the turn back if there is nothing to be done with it any more.
func (w *writer) mine() error {
	if w.gone == nil {
		return nil
	}
	w.unlock()
	return unavailable(w.gone)
}

// unlock ends the writer's turn.
func (w *writer) unlock() { w.turn <- struct{}{} }

// catchUp has the feeds look for what other programs have committed before the
// transaction that has begun: who is told its position is told of all that came
// before, as by any database.
func (w *writer) catchUp(ctx context.Context) error {
	w.s.mu.Lock()
	feeds := slices.Collect(maps.Keys(w.s.feeds))
	w.s.mu.Unlock()
	for _, f := range feeds {
		if err := f.lookNow(ctx, w); err != nil {
			return fmt.Errorf("look for changes: %w", err)
		}
	}
	return nil
}

// begin takes the writer's turn and the database's write lock. While another
// program holds that lock it waits without the turn, so that the feed, which
// polls on the same connection, is not held up. It ends with errDone when done is
// closed: somebody else has done what there was to do.
func (w *writer) begin(ctx context.Context, done <-chan struct{}) error {
	// Fast path: who need not wait needs no limit for it.
	if ok, err := w.tryBegin(ctx); ok {
		return err
	}

	// Slow path.
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	select {
	case <-w.next:
	case <-done:
		return errDone
	case <-ctx.Done():
		return w.tooLate(ctx)
	}
	defer func() { w.next <- struct{}{} }()
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		err := w.lockUnless(ctx, done)
		if err == nil {
			err = w.beginNow(ctx)
		}
		switch {
		case isBusy(err):
			w.busy.Store(&err)
		case err != nil && ctx.Err() != nil:
			return w.tooLate(ctx)
		default:
			return err
		}
		select {
		case <-time.After(wait):
		case <-done:
			return errDone
		case <-ctx.Done():
			return w.tooLate(ctx)
		}
	}
}

// tooLate returns why the time of ctx has run out before a transaction began: another
// program's lock, if the last BEGIN has found one.
func (w *writer) tooLate(ctx context.Context) error {
	if busy := w.busy.Load(); busy != nil {
		return *busy
	}
	return wrap(ctx.Err())
}

// tryBegin is begin if nobody has the turn, or waits for it, and no other program the lock.
func (w *writer) tryBegin(ctx context.Context) (ok bool, err error) {
	select {
	case <-w.next:
		defer func() { w.next <- struct{}{} }()
	default:
		return false, nil
	}
	select {
	case <-w.turn:
		err = w.beginNow(ctx)
		return !isBusy(err), err
	default:
		return false, nil
	}
}

// beginNow is begin with the turn taken, which it gives back after an error. A file that is
// at the path no more takes no writes: they would go with it.
func (w *writer) beginNow(ctx context.Context) error {
	if err := w.mine(); err != nil {
		return err
	}
	err := unavailable(errReplaced)
	if !w.replaced() {
		err = w.c.execBrief(ctx, "BEGIN IMMEDIATE")
	}
	if err != nil {
		w.unlock()
		return err
	}
	if w.busy.Load() != nil {
		w.busy.Store(nil)
	}
	return nil
}

// commit ends the transaction. Where there is no write-ahead log it waits for
// readers, which are short. ctx does not end it: its outcome would be unknown.
func (w *writer) commit(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	deadline := time.Now().Add(busyTimeout)
	for {
		err := w.c.exec(ctx, "COMMIT")
		if err == nil || !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// rollback ends the transaction and forgets what it changed. SQLite has ended
// it already after some errors, and says so by another one.
func (w *writer) rollback() {
	_ = w.c.exec(context.Background(), "ROLLBACK")
	committed := w.changes.committed
	w.changes.reset()
	if committed { // by a COMMIT among the statements of Exec
		w.publish(&event{tx: &source.Tx{All: true}, schema: true})
	}
}

// alone runs one statement outside a transaction.
func (w *writer) alone(ctx context.Context, statement string) error {
	if err := w.lock(ctx); err != nil {
		return err
	}
	defer w.unlock()
	if err := w.c.execOnce(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", firstLine(statement), err)
	}
	w.publish(&event{tx: &source.Tx{All: true}, schema: true})
	return w.refresh(ctx)
}

// refresh takes the tables as they are now.
func (w *writer) refresh(ctx context.Context) error {
	known, err := w.s.tables(ctx, w.c, w.readers)
	if err == nil {
		w.known = known
	}
	return err
}

// move sets the position. The writer's turn is held.
func (w *writer) move(to source.Position) {
	w.pos = to
	w.taken.Store(max(w.taken.Load(), uint64(to)))
}

// publish gives the next position to what was committed and hands it to the
// feeds. The writer's turn is held, so that they get it in order.
func (w *writer) publish(ev *event) {
	w.move(w.pos + 1)
	ev.tx.Pos, ev.tx.Time = w.pos, time.Now()
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	for f := range w.s.feeds {
		f.push(ev)
	}
}

// close closes the connection when its turn comes.
func (w *writer) close() error {
	<-w.turn
	defer w.unlock()
	if w.gone != nil {
		return nil
	}
	w.gone = errClosed
	return w.c.close()
}
