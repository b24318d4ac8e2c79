package logical

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// A snapshot says which transactions a read that begins now sees, as
// pg_current_snapshot() writes it: "xmin:xmax:xip,xip". Identifiers have 64
// bits; a feed sends only the lower 32.
type snapshot struct {
	xmin, xmax uint64
	xip        []uint64 // in progress, between xmin and xmax; top-level ones only
}

// parseSnapshot reads a snapshot's text.
func parseSnapshot(s string) (snapshot, error) {
	var snap snapshot
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return snap, fmt.Errorf("%q is not a snapshot", s)
	}
	texts := parts[:2]
	if parts[2] != "" {
		texts = append(texts, strings.Split(parts[2], ",")...)
	}
	numbers := make([]uint64, len(texts))
	for i, t := range texts {
		n, err := strconv.ParseUint(t, 10, 64)
		if err != nil {
			return snap, fmt.Errorf("%q is not a snapshot: %w", s, err)
		}
		numbers[i] = n
	}
	return snapshot{xmin: numbers[0], xmax: numbers[1], xip: numbers[2:]}, nil
}

// sees reports whether the snapshot sees the top-level transaction whose lower
// 32 bits are xid. Identifiers wrap around: of two, the one that is less than
// half the circle ahead is the later.
func (s *snapshot) sees(xid uint32) bool {
	if int32(xid-uint32(s.xmax)) >= 0 {
		return false
	}
	return !slices.ContainsFunc(s.xip, func(x uint64) bool { return uint32(x) == xid })
}

// A barrier stands for what a feed cannot deliver because it was committed
// before the feed's slot began, although no read saw it yet. PostgreSQL writes
// the commit record first and makes the transaction visible later; with a
// synchronous standby that does not answer, much later. A read after Attached
// could then find the row as it was, and nothing would ever drop its copy.
//
// So the feed delivers "everything may have changed" as if it were a
// transaction, and that is settled only when every transaction which was in
// progress when the slot was ready has ended, or has been delivered after all.
type barrier struct {
	waiting map[uint64]struct{}
}

// barrierID marks the Tx.ID of a barrier: transactions have 32 bits.
const barrierID = 1 << 63

// A settler proves that transactions are visible, by the snapshot of a new
// statement on the primary. A standby's snapshot proves nothing: it lists no
// transaction that is in progress on the primary.
type settler struct {
	// mu guards the fields. No query is made while it is held.
	mu       sync.Mutex
	last     uint64
	barriers map[uint64]*barrier
}

// barrier makes a barrier of the transactions in progress in snap and those
// numbered from its end up to next. It returns the ID of its Tx.
func (s *settler) barrier(snap snapshot, next uint64) uint64 {
	b := &barrier{waiting: make(map[uint64]struct{})}
	for _, x := range snap.xip {
		b.waiting[x] = struct{}{}
	}
	for x := snap.xmax; x < next; x++ {
		b.waiting[x] = struct{}{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.barriers == nil {
		s.barriers = make(map[uint64]*barrier)
	}
	s.last++
	s.barriers[barrierID|s.last] = b
	return barrierID | s.last
}

// delivered notes a transaction that the feed has delivered: it has a Tx of its
// own now, and no barrier needs to wait for it.
func (s *settler) delivered(xid uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.barriers {
		b.remove(xid)
	}
}

func (b *barrier) remove(xid uint32) {
	for x := range b.waiting {
		if uint32(x) == xid {
			delete(b.waiting, x)
		}
	}
}

// settle takes what snap sees out of the barriers, and reports whether some are
// left. A barrier that waits for nothing is forgotten, which means settled.
func (s *settler) settle(snap snapshot) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, b := range s.barriers {
		for x := range b.waiting {
			if x < snap.xmax && !slices.Contains(snap.xip, x) {
				delete(b.waiting, x)
			}
		}
		if len(b.waiting) == 0 {
			delete(s.barriers, id)
		}
	}
	return len(s.barriers) > 0
}

// idle takes transactions out of the barriers that are known not to have begun
// their commit: it will come later in the log than the slot, and be delivered.
func (s *settler) idle(xids []uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, b := range s.barriers {
		for _, xid := range xids {
			b.remove(xid)
		}
		if len(b.waiting) == 0 {
			delete(s.barriers, id)
		}
	}
}

// settled reports for each transaction whether snap sees it.
func (s *settler) settled(txs []*source.Tx, snap snapshot) []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]bool, len(txs))
	for i, tx := range txs {
		switch {
		case tx.ID == 0:
			out[i] = true
		case tx.ID&barrierID != 0:
			out[i] = s.barriers[tx.ID] == nil
		default:
			out[i] = snap.sees(uint32(tx.ID))
		}
	}
	return out
}

// probe asks the primary which of txs every new read sees: one statement for
// all, and a second only while a barrier waits for somebody.
func (s *settler) probe(ctx context.Context, c *feed.Control, txs []*source.Tx) ([]bool, error) {
	var out []bool
	err := c.Do(ctx, func(conn *pgx.Conn) error {
		snap, err := currentSnapshot(ctx, conn)
		if err != nil {
			return err
		}
		if s.settle(snap) {
			xids, err := idleTransactions(ctx, conn)
			if err != nil {
				return err
			}
			s.idle(xids)
		}
		out = s.settled(txs, snap)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ask which transactions are visible: %w", err)
	}
	return out, nil
}

func currentSnapshot(ctx context.Context, conn *pgx.Conn) (snapshot, error) {
	var text string
	var standby bool
	err := conn.QueryRow(ctx,
		`SELECT pg_current_snapshot()::text, pg_is_in_recovery()`).Scan(&text, &standby)
	if err != nil {
		return snapshot{}, err
	}
	if standby {
		return snapshot{}, feed.ErrStandby
	}
	return parseSnapshot(text)
}

// idleTransactions lists transactions whose session waits for its client. The
// list has only those of the user's own roles, unless it has pg_read_all_stats.
func idleTransactions(ctx context.Context, conn *pgx.Conn) ([]uint32, error) {
	rows, err := conn.Query(ctx, `SELECT backend_xid::text::bigint FROM pg_stat_activity
		WHERE backend_xid IS NOT NULL AND state LIKE 'idle in transaction%'`)
	return collectXIDs(rows, err)
}

// collectXIDs reads the rows of a query that had no error.
func collectXIDs(rows pgx.Rows, err error) ([]uint32, error) {
	if err != nil {
		return nil, err
	}
	wide, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	xids := make([]uint32, len(wide))
	for i, x := range wide {
		xids[i] = uint32(x)
	}
	return xids, err
}

// newBarrier makes a barrier of the transactions in progress now. The snapshot
// is older than the identifier that the same statement takes, so that together
// they name every transaction which may have written its commit record and is
// not visible yet.
func (s *settler) newBarrier(ctx context.Context, c *feed.Control) (uint64, error) {
	var id uint64
	err := c.Do(ctx, func(conn *pgx.Conn) error {
		var text, next string
		err := conn.QueryRow(ctx,
			`SELECT pg_current_snapshot()::text, pg_current_xact_id()::text`).Scan(&text, &next)
		if err != nil {
			return err
		}
		snap, err := parseSnapshot(text)
		if err != nil {
			return err
		}
		n, err := strconv.ParseUint(next, 10, 64)
		if err != nil {
			return err
		}
		id = s.barrier(snap, n)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("ask which transactions are in progress: %w", err)
	}
	return id, nil
}
