package logical

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// A feed of a standby tells of what that has replayed, so that every read there sees it:
// nothing needs to be settled. What bounds the age of a read is the primary: a fence takes
// the end of its log and waits until the standby has replayed that.

// StandbyVersion is the first whose standbys send changes.
const StandbyVersion = 160000

const (
	// lateAfter is how long a fence waits for the standby before reads go to the primary.
	lateAfter = 100 * time.Millisecond

	// primarySilence is how long a primary may not answer before it is looked for.
	primarySilence = time.Second

	// snapshotEvery is how often the primary is asked for what a slot on a standby waits
	// for: which transactions are in progress.
	snapshotEvery = 100 * time.Millisecond
)

// adoptStandby makes the feed, and the driver's connections, those of the standby that conn
// leads to and of its primary. It reports false when that server is the primary itself.
func (f *Feed) adoptStandby(
	ctx context.Context, conn *pgconn.PgConn, followed feed.Server,
) (replays bool, err error) {
	if followed.Life, err = feed.LifeAt(ctx, conn); err != nil {
		return false, err
	}
	if err := f.Primary.Pin(ctx, feed.Server{}); err != nil { // it may be another than before
		return false, err
	}
	var primary feed.Server
	var life feed.Life
	err = f.Primary.Do(ctx, func(c *pgx.Conn) (err error) {
		primary.Address = feed.AddressOf(c.PgConn())
		if primary.Origin, err = feed.OriginAt(ctx, c.PgConn()); err != nil {
			return err
		}
		life, err = feed.LifeAt(ctx, c.PgConn())
		return err
	})
	if err != nil {
		return false, fmt.Errorf("ask the primary: %w", err)
	}
	f.Src.Pin(primary) // it may be read, whatever the standby is
	if err := related(followed.Life, life); err != nil {
		return false, err
	}
	if primary.Origin != followed.Origin {
		return false, fmt.Errorf("the standby has replayed the history %s (cluster and timeline),"+
			" the primary has %s", followed.Origin, primary.Origin)
	}
	f.followed = followed
	if err := f.Control.Pin(ctx, followed); err != nil {
		return false, err
	}
	return followed.Life.Standby, f.Primary.Pin(ctx, primary)
}

// related returns an error unless a server is a standby of the primary's cluster, or the
// primary itself.
func related(reads, primary feed.Life) error {
	switch {
	case reads.System != primary.System:
		return fmt.Errorf("reads leads to the cluster %s, url to %s: it is no standby of this"+
			" database", reads.System, primary.System)
	case !reads.Standby && reads != primary:
		return errors.New("reads leads to a primary, and url to another one")
	}
	return nil
}

// relatives asks both servers whether they are related.
func (f *Feed) relatives(ctx context.Context) error {
	lives := make([]feed.Life, 2)
	for i, c := range []*feed.Control{f.Control, f.Primary} {
		err := c.Do(ctx, func(conn *pgx.Conn) (err error) {
			lives[i], err = feed.LifeAt(ctx, conn.PgConn())
			return err
		})
		if err != nil {
			return err
		}
	}
	return related(lives[0], lives[1])
}

// replays waits until the standby has replayed what the primary has committed by now.
func (f *Feed) replays(ctx context.Context) error {
	end, _, err := f.primaryEnd(ctx)
	if err != nil {
		return err
	}
	for begun := time.Now(); ; {
		var there bool
		err := f.Control.Do(ctx, func(conn *pgx.Conn) error {
			return conn.QueryRow(ctx, "SELECT NOT pg_is_in_recovery() OR"+
				" pg_last_wal_replay_lsn() >= $1::text::pg_lsn", end.String()).Scan(&there)
		})
		if err != nil || there {
			return err
		}
		if time.Since(begun) > silence {
			return fmt.Errorf("the standby has not replayed %s after %v", end, silence)
		}
		select {
		case <-time.After(flushAfter):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := f.flush(ctx); err != nil {
			return err
		}
	}
}

// A Shown proves that a primary shows what its standby may have shown: that has a commit as
// soon as it is logged, the primary only when those who wait for standbys have waited.
type Shown struct {
	control *feed.Control
	settler settler
}

// NewShown returns a Shown, which connects when it is first asked. The caller closes it.
func NewShown(src feed.Config) *Shown {
	src.Standby = nil
	return &Shown{control: feed.NewControl(src)}
}

// Close closes its connection.
func (s *Shown) Close() { s.control.Close() }

// Await waits until every commit that was logged when it was called is visible.
func (s *Shown) Await(ctx context.Context) error {
	id, err := s.settler.newBarrier(ctx, s.control)
	for begun, wait := time.Now(), time.Millisecond; err == nil; wait = min(2*wait, flushAfter) {
		var done bool
		if done, err = s.passed(ctx, id, time.Since(begun)); err != nil || done {
			break
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return err
}

// passed reports whether what waited at a barrier is visible, or is no commit: it waits for
// its client, or does other things than to wait for standbys for longer than commits take.
func (s *Shown) passed(ctx context.Context, id uint64, since time.Duration) (bool, error) {
	out, err := s.settler.probe(ctx, s.control, []*source.Tx{{ID: id}})
	if err != nil || out[0] || since < commitTakes {
		return err == nil && out[0], err
	}
	err = s.control.Do(ctx, func(conn *pgx.Conn) error {
		xids, err := busyTransactions(ctx, conn)
		s.settler.idle(xids)
		return err
	})
	if err != nil {
		return false, err
	}
	return s.settler.settled([]*source.Tx{{ID: id}}, snapshot{})[0], nil
}

// commitTakes is more than a commit takes that waits for no standby.
const commitTakes = 200 * time.Millisecond

// busyTransactions lists transactions that do not wait for a standby, prepared ones too as
// long as nobody does. It has only those that the role may see.
func busyTransactions(ctx context.Context, conn *pgx.Conn) ([]uint32, error) {
	rows, err := conn.Query(ctx, `SELECT backend_xid::text::bigint FROM pg_stat_activity
		WHERE backend_xid IS NOT NULL AND wait_event IS DISTINCT FROM 'SyncRep'
		UNION ALL SELECT transaction::text::bigint FROM pg_prepared_xacts
		WHERE NOT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')`)
	return collectXIDs(rows, err)
}

// primaryEnd returns the end of the primary's log, and which transactions are visible there.
func (f *Feed) primaryEnd(ctx context.Context) (end feed.LSN, snapshot string, err error) {
	var text string
	err = f.Primary.Do(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT pg_current_wal_insert_lsn()::text,"+
			" pg_current_snapshot()::text").Scan(&text, &snapshot)
	})
	if err != nil {
		return 0, "", err
	}
	end, err = feed.ParseLSN(text)
	return end, snapshot, err
}

// logSnapshots has the primary log which transactions are in progress, again and again
// until stop is called: a slot on a standby begins with that.
func (f *Feed) logSnapshots(ctx context.Context) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			err := f.Primary.Do(ctx, func(conn *pgx.Conn) error {
				_, err := conn.Exec(ctx, "SELECT pg_log_standby_snapshot()")
				return err
			})
			if feed.SQLState(err) == "42501" {
				f.Src.Log.Warn("a slot on the standby waits until the primary logs its"+
					" transactions by itself, which it does every 15 seconds", "grant",
					GrantSnapshot(f.Src.Conn.User))
				return
			}
			select {
			case <-time.After(snapshotEvery):
			case <-done:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// GrantSnapshot is the statement that lets a role have the primary log its transactions.
func GrantSnapshot(role string) string {
	return "GRANT EXECUTE ON FUNCTION pg_log_standby_snapshot() TO " + catalog.QuoteName(role)
}

// fenceByPrimary is Fence of a feed of a standby. Its catalogue is asked for when it has
// replayed what the primary had: then it is not older than that.
func (s *session) fenceByPrimary(ctx context.Context) (source.Position, error) {
	f := s.feed
	end, snapshot, err := f.primaryEnd(ctx)
	if err != nil {
		s.leave(ctx, err)
		return 0, err
	}
	s.answered.Store(time.Now().UnixNano())
	late := time.AfterFunc(lateAfter, f.Src.Standby.Late)
	pos, err := s.reach(ctx, source.Position(end))
	if err != nil { // it may never get there: a server that was promoted has a log of its own
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), primarySilence)
		_ = s.sameHistory(ctx) // whose error ends the session, or is no more than that of reach
		cancel()
	}
	late.Stop()
	if err != nil {
		return 0, err
	}
	same, err := f.Watcher.Same(ctx, f.Control, snapshot)
	if err == nil && !same {
		err = s.watchNow(ctx)
	}
	return pos, err
}

// leave ends the session when the primary, which has failed by err, may be another server
// now: it says so, the standby does, or it has not answered for a while.
func (s *session) leave(ctx context.Context, err error) {
	silent := time.Since(time.Unix(0, s.answered.Load()))
	var other *feed.OtherHistory
	if errors.As(err, &other) || silent > primarySilence {
		s.cancel(&feed.Broken{Reason: "the primary is another one, or away: " + err.Error()})
		return
	}
	_ = s.sameHistory(ctx) // whose error is no more than the primary's
}

// sameHistory returns an error, and ends the session, when the standby has left the history
// with which the session began: it has been promoted, or follows another primary.
func (s *session) sameHistory(ctx context.Context) error {
	err := s.history.same(ctx)
	var other *feed.Broken
	if errors.As(err, &other) {
		s.cancel(err)
	}
	return err
}

// vouch returns once what the stream has sent up to here is known to be of the history with
// which the session began. A standby that is promoted goes on to send, and its positions say
// nothing of what the primary has. The server is asked after it has sent: what was received
// by then needs not be asked for again.
func (s *session) vouch(ctx context.Context) error {
	if !s.replays || s.vouched >= 0 {
		return nil
	}
	received := s.stream.buffered()
	for begun := time.Now(); ; {
		err := s.history.same(ctx)
		if err == nil {
			s.vouched = received
			return nil
		}
		var other *feed.Broken
		if errors.As(err, &other) || time.Since(begun) > silence {
			return err
		}
		select {
		case <-time.After(flushAfter):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A history is what a server had replayed, or written, when it was found. Only a replication
// connection is told which that is.
type history struct {
	src    feed.Config
	server feed.Server // that it must be
	origin string
	turns  *source.Fences // those who ask at the same time share an answer

	// mu guards the rest, and is held while the server is asked.
	mu     sync.Mutex
	conn   *pgconn.PgConn // nil: not yet
	closed bool
}

// newHistory returns the history with which a server was found. The caller closes it.
func newHistory(src feed.Config, server feed.Server, origin string) *history {
	return &history{src: src, server: server, origin: origin, turns: source.NewFences()}
}

// same returns an error unless the server has that history yet: *feed.Broken when it has
// another, or is another. It is asked after the call.
func (h *history) same(ctx context.Context) error {
	_, err := h.turns.Join(ctx, func(ctx context.Context) (source.Position, error) {
		// Who leaves meanwhile does not cost the connection.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), primarySilence)
		defer cancel()
		rows, err := h.ask(ctx)
		if err != nil {
			return 0, fmt.Errorf("ask the standby for its history: %w", err)
		}
		if now := feed.OriginOf(rows[0][0], rows[0][1]); now != h.origin {
			return 0, &feed.Broken{Reason: fmt.Sprintf("the standby has the history %s (cluster"+
				" and timeline), and had %s", now, h.origin)}
		}
		return 0, nil
	})
	return err
}

// ask returns the answer to IDENTIFY_SYSTEM.
func (h *history) ask(ctx context.Context) ([][]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, source.ErrDetached
	}
	if h.conn == nil || h.conn.IsClosed() {
		cfg := replicationConfig(h.src)
		feed.Only(cfg, func() string { return h.server.Address })
		cfg.ValidateConnect = h.server.Check
		conn, err := feed.ConnectRaw(ctx, cfg)
		if err != nil {
			return nil, err
		}
		h.conn = conn
	}
	return simple(ctx, h.conn, "IDENTIFY_SYSTEM")
}

// close ends the connection for good.
func (h *history) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed = true; h.conn != nil {
		feed.HangUp(h.conn)
	}
}
