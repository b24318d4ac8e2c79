package binlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

const (
	// lockAfter is when a transaction that a snapshot does not prove is proven by
	// its locks. Most are proven sooner, and locks disturb whoever writes.
	lockAfter = 4 * time.Millisecond

	// lockTries bounds how many transactions one probe tries to prove by locks.
	lockTries = 8

	// unprovable is how long a transaction is taken to be invisible that nothing
	// proves: XA COMMIT of what was prepared before the feed began.
	unprovable = 10 * time.Second

	// rememberEnds bounds how many ends of transactions are known.
	rememberEnds = 1 << 14
)

// A visibilityCheck is what shows that a transaction is visible.
//
// The server writes a transaction into the binary log, may then wait, for its
// disk or for a semi-synchronous replica, and makes it visible only after that:
// in the order of the log, those that end with an XID. So one of them that is
// visible proves all before it. There are two ways:
//
// A snapshot says which place of the log it belongs to. The place is believed
// only if a transaction that ends with an XID ends there: an event that the
// server writes itself (Binlog_checkpoint) and one of a definition move it
// beyond transactions that are still invisible.
//
// The locks of a transaction go when it has become visible, not before: a
// locking read of any of its rows that does not have to wait proves it. The read's own
// lock goes as soon as it has been answered.
type visibilityCheck struct {
	pos   source.Position
	xid   bool
	locks []lockRow
	late  *lateRows // of which locks are still to be found out
	gtid  string
	since time.Time

	barrier *barrier // nil for a transaction
}

// A settler proves that transactions are visible.
type settler struct {
	// readLate is Feed.readLate.
	readLate func(context.Context, Conn, *lateRows) ([]lockRow, bool, error)

	// mu guards the fields. No query is made while it is held.
	mu     sync.Mutex
	last   uint64
	gone   uint64 // the last that was given out before another stream began
	checks map[uint64]*visibilityCheck

	// visible is a position before which all transactions with an XID are visible,
	// those that end there included.
	visible source.Position

	ends   map[source.Position]bool // of transactions with an XID
	order  []source.Position        // of ends, oldest first
	newest source.Position          // of ends
	lates  []*visibilityCheck       // the last ones with rows to be read yet
	asked  []source.Position        // of snapshots that are ahead of the feed
}

// reset forgets all: another stream begins. What has not been proven never is.
func (s *settler) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = s.last
	s.checks = make(map[uint64]*visibilityCheck)
	s.ends = make(map[source.Position]bool)
	s.order, s.asked, s.lates, s.visible, s.newest = nil, nil, nil, 0, 0
}

// add returns the Tx.ID for a transaction that p proves.
func (s *settler) add(p *visibilityCheck) uint64 {
	p.since = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.checks[s.last] = p
	if p.late != nil {
		if s.lates = append(s.lates, p); len(s.lates) > lockTries {
			s.lates[0].late = nil
			s.lates = s.lates[1:]
		}
	}
	return s.last
}

// ended notes where a transaction with an XID ends.
func (s *settler) ended(pos source.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends[pos] = true
	s.order = append(s.order, pos)
	if len(s.order) > rememberEnds {
		delete(s.ends, s.order[0])
		s.order = s.order[1:]
	}
	s.newest = max(s.newest, pos)
	if slices.Contains(s.asked, pos) {
		s.visible = max(s.visible, pos)
	}
	s.asked = slices.DeleteFunc(s.asked, func(p source.Position) bool { return p <= pos })
}

// snapshot notes the place of a snapshot. One that is ahead of the feed counts
// when the feed gets there and finds the end of a transaction.
func (s *settler) snapshot(pos source.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ends[pos]:
		s.visible = max(s.visible, pos)
	case pos > s.newest && len(s.asked) < 64 && !slices.Contains(s.asked, pos):
		s.asked = append(s.asked, pos)
	}
}

// sees notes that a transaction with an XID which ends at pos is visible.
func (s *settler) sees(pos source.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.visible = max(s.visible, pos)
}

// settled reports for each transaction whether it is proven, and returns the
// proofs that are still to be made, oldest first.
func (s *settler) settled(txs []*source.Tx) (out []bool, open []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out = make([]bool, len(txs))
	for i, tx := range txs {
		p := s.checks[tx.ID]
		switch {
		case p == nil: // needs none, or was proven before
			out[i] = tx.ID == 0 || tx.ID > s.gone
		case p.barrier != nil:
			out[i] = p.barrier.passed(s.visible)
		case p.xid && p.gtid == "":
			out[i] = p.pos <= s.visible
		}
		if p == nil {
			continue
		}
		if out[i] {
			delete(s.checks, tx.ID)
		} else {
			open = append(open, tx.ID)
		}
	}
	return out, open
}

// of returns a proof that is still to be made, or nil.
func (s *settler) of(id uint64) *visibilityCheck {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checks[id]
}

// lockedOf returns a proof that is still to be made of a transaction that ends with an XID
// and has known locks, or nil.
func (s *settler) lockedOf(id uint64) *visibilityCheck {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.checks[id]; p != nil && p.barrier == nil && p.xid && len(p.locks) > 0 {
		return p
	}
	return nil
}

// drop says that a transaction is proven.
func (s *settler) drop(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.checks, id)
}

// probe asks the server which of txs every new read sees.
func (s *settler) probe(ctx context.Context, c Conn, txs []*source.Tx) ([]bool, error) {
	out, open := s.settled(txs)
	if len(open) == 0 {
		return out, nil
	}
	v, err := serverOf(c)
	if err != nil {
		return nil, err
	}
	if !v.mariadb {
		err = s.executed(ctx, c, open)
	} else {
		err = s.prove(ctx, c, txs)
	}
	if err != nil {
		return nil, fmt.Errorf("ask which transactions are visible: %w", err)
	}
	out, _ = s.settled(txs)
	return out, nil
}

// prove reads a row of the newest transaction with a lock, which mostly proves all. What is
// open then takes a snapshot, whose place costs the server ten times as much, and locks of
// what that has not proven.
func (s *settler) prove(ctx context.Context, c Conn, txs []*source.Tx) error {
	if err := s.proveNewest(ctx, c, txs); err != nil {
		return err
	}
	_, open := s.settled(txs)
	if len(open) == 0 {
		return nil
	}
	pos, err := snapshotPosition(ctx, c)
	if err != nil {
		return err
	}
	s.snapshot(pos)
	if _, open = s.settled(txs); len(open) == 0 {
		return nil
	}
	// The newest that is proven proves all of its kind before it.
	for i, id := range slices.Backward(open) {
		if i < len(open)-lockTries {
			break
		}
		p := s.of(id)
		if p == nil || time.Since(p.since) < lockAfter {
			continue
		}
		if err := s.proveOne(ctx, c, id, p); err != nil {
			return err
		}
	}
	// The oldest waits the longest.
	if p := s.of(open[0]); len(open) > lockTries && p != nil {
		return s.proveOne(ctx, c, open[0], p)
	}
	return nil
}

// proveNewest tries to prove the newest transaction that ends with an XID and has known locks,
// and so all before it.
func (s *settler) proveNewest(ctx context.Context, c Conn, txs []*source.Tx) error {
	for _, tx := range slices.Backward(txs) {
		p := s.lockedOf(tx.ID)
		if p == nil {
			continue
		}
		err := s.proveOne(ctx, c, tx.ID, p)
		var refused *driver.MySQLError
		if errors.As(err, &refused) { // a node of Galera may end any lock: the snapshot is left
			return nil
		}
		return err
	}
	return nil
}

// proveOne tries to prove one transaction by its locks.
func (s *settler) proveOne(ctx context.Context, c Conn, id uint64, p *visibilityCheck) error {
	if p.barrier != nil {
		return p.barrier.prove(ctx, c, s)
	}
	if p.xid {
		if s.isVisible(p.pos) {
			return nil
		}
	}
	locks, free, err := s.free(ctx, c, p)
	switch {
	case err != nil:
		return err
	case free && p.xid:
		s.sees(p.pos)
	case free, !p.xid && len(locks) == 0 && time.Since(p.since) > unprovable:
		s.drop(id)
	}
	return nil
}

// free returns the locks of a transaction, and whether it is proven: one of them is held no
// more.
func (s *settler) free(
	ctx context.Context, c Conn, p *visibilityCheck,
) (locks []lockRow, free bool, err error) {
	locks, free, err = s.locksOf(ctx, c, p)
	if err == nil && !free {
		free, err = unlocked(ctx, c, locks)
	}
	return locks, free, err
}

// locksOf returns the rows that a transaction has locked, or that it is proven because the
// definition of their table has changed since.
func (s *settler) locksOf(
	ctx context.Context, c Conn, p *visibilityCheck,
) ([]lockRow, bool, error) {
	s.mu.Lock()
	locks, late := p.locks, p.late
	p.late = nil // nobody else reads them
	s.mu.Unlock()
	if late == nil || len(locks) > 0 {
		return locks, false, nil
	}
	locks, proven, err := s.readLate(ctx, c, late)
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.locks = locks; err != nil {
		p.late = late
	}
	return locks, proven, err
}

func (s *settler) isVisible(pos source.Position) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return pos <= s.visible
}

// snapshotPosition takes a snapshot and returns its place in the binary log.
func snapshotPosition(ctx context.Context, c Conn) (source.Position, error) {
	if err := c.Exec(ctx, "START TRANSACTION WITH CONSISTENT SNAPSHOT"); err != nil {
		return 0, err
	}
	p, err := commitPlace(ctx, c)
	end := c.Exec(context.WithoutCancel(ctx), "ROLLBACK")
	if end != nil {
		c.Discard()
	}
	if err := errors.Join(err, end); err != nil {
		return 0, err
	}
	return p.position()
}

// The numbers of errors of a locking read.
const (
	errLockWait    = 1205 // somebody has the lock
	errNoTable     = 1146 // it was dropped, for which all locks on it had to go
	errNoColumn    = 1054 // of the key: it was renamed or dropped, as above
	errNoPrivilege = 1142
)

// unlocked reports whether one of the rows is not locked by a writer. A row which should
// be there and is not found was taken away by somebody who had its lock after the writer,
// or the whole table's (TRUNCATE), if the key is one that finds it for certain.
func unlocked(ctx context.Context, c Conn, rows []lockRow) (bool, error) {
	for i := range rows {
		r := &rows[i]
		found := false
		err := c.Query(ctx, r.statement(), r.key, func([]any) error { found = true; return nil })
		var e *driver.MySQLError
		switch {
		case err == nil:
			if found || r.gone || r.certain {
				return true, nil
			}
		case !errors.As(err, &e):
			return false, err
		case e.Number == errNoTable, e.Number == errNoColumn:
			return true, nil
		case e.Number != errLockWait && e.Number != errNoPrivilege:
			return false, err
		}
	}
	return false, nil
}

// statement returns the locking read of a row.
func (r *lockRow) statement() string {
	var b strings.Builder
	b.WriteString("SELECT 1 FROM " + catalog.QuoteTable(r.table.Schema, r.table.Name) + " WHERE ")
	for i, k := range r.table.key {
		if i > 0 {
			b.WriteString(" AND ")
		}
		b.WriteString(catalog.Quote(r.table.Cols[k].Name) + " = " + r.table.Cols[k].Mark())
	}
	return b.String() + " LOCK IN SHARE MODE NOWAIT"
}
