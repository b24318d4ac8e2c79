package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
	"github.com/hotrow/hotrow/internal/source/postgres/logical"
)

const (
	// catchUp is how long a read waits for the standby to replay what it must see, before
	// it goes to the primary.
	catchUp = 100 * time.Millisecond

	// flushAfter is when such a wait has the primary write its log out: the end of it may
	// be that of an open transaction, or of an asynchronous commit.
	flushAfter = 10 * time.Millisecond

	// retryStandby is how often a standby that was late is asked whether it has caught up.
	retryStandby = 100 * time.Millisecond

	// clearLimit is how long a read waits for the primary to show what the standby has.
	clearLimit = time.Second
)

// Why a standby is not read: it has not replayed in time what a read must see, is none any
// more, or is not known to have replayed the primary's history.
var (
	errBehind   = errors.New("the standby is behind")
	errPromoted = errors.New("the standby has been promoted")
	errOther    = errors.New("the standby may have another history")
)

// A standby is the server that is followed and read in place of the primary. A read there
// waits until it has replayed what the read must see: what was written through the Source,
// what was read on the primary, what Current asks for. While the standby is not followed,
// or late, reads go to the primary.
type standby struct {
	pool *pgxpool.Pool
	conn *pgx.ConnConfig // for the feed's connections

	turn     sync.Mutex            // of those who have reads go to a server, or to none
	trust    atomic.Pointer[trust] // nil: reads go to the primary
	followed atomic.Pointer[replica]

	floor     atomic.Uint64 // what reads must see
	replayed  atomic.Uint64 // what the server that is followed is known to have replayed
	elsewhere atomic.Uint64
	currents  *source.Fences

	// doubts counts what may have been shown or told of before the primary shows it: how
	// often a server was not trusted any more, or could not answer, or a change was told of.
	// cleared counts those after which the primary was proved to show all of that.
	doubts, cleared atomic.Uint64
	clearing        *source.Fences
	shown           *logical.Shown
}

// A replica is a server that is followed.
type replica struct {
	server feed.Server
	same   func(context.Context) error // see feed.Standby.Follow
}

// A trust lasts while reads go to one server.
type trust struct {
	of  *replica
	ctx context.Context
	end context.CancelFunc
}

// openStandby makes the pool of the server that reads names.
func (s *Source) openStandby(reads string) error {
	cfg, err := parseURL(reads)
	if err != nil {
		return fmt.Errorf("reads: %w", err)
	}
	cfg.ConnConfig.ValidateConnect = nil // a standby it is to be
	r := &standby{currents: source.NewFences(), clearing: source.NewFences(),
		shown: logical.NewShown(s.feedSource())}
	s.configure(cfg)
	r.conn = cfg.ConnConfig.Copy()
	feed.Only(cfg.ConnConfig, func() string {
		if of := r.followed.Load(); of != nil {
			return of.server.Address
		}
		return ""
	})
	cfg.ConnConfig.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		of := r.followed.Load()
		if of == nil {
			return errors.New("the standby is not followed")
		}
		return of.server.Check(ctx, conn)
	}
	askToEnd(cfg.ConnConfig)
	if r.pool, err = feed.NewPool(s.ctx, cfg); err != nil {
		return fmt.Errorf("open the standby: %w", err)
	}
	s.standby = r
	return nil
}

// feedStandby returns what a feed needs to follow the standby; nil: there is none.
func (s *Source) feedStandby() *feed.Standby {
	r := s.standby
	if r == nil {
		return nil
	}
	return &feed.Standby{
		Conn:   r.conn,
		Follow: r.follow,
		Lost:   r.lost,
		Delivering: func() {
			if r.trust.Load() == nil {
				r.doubts.Add(1)
			}
		},
		Replayed: func(at feed.LSN) { raise(&r.replayed, uint64(at)) },
		Late: func() {
			if t := r.trust.Load(); t != nil {
				s.late(t)
			}
		},
	}
}

// follow has reads go to a server.
func (r *standby) follow(server feed.Server, same func(context.Context) error) {
	r.lost()
	r.replayed.Store(0) // of one that has been started again it may be less
	of := &replica{server, same}
	r.followed.Store(of)
	r.pool.Reset()
	r.trusts(of)
}

// trusts has reads go to the server unless it is followed no more: then another one may be
// trusted already.
func (r *standby) trusts(of *replica) {
	r.turn.Lock()
	defer r.turn.Unlock()
	if r.followed.Load() != of {
		return
	}
	t := &trust{of: of}
	t.ctx, t.end = context.WithCancel(context.Background())
	r.trust.Store(t)
}

// distrust has reads go to the primary, and reports whether they went to the standby. The
// order matters: no read of the standby counts that is not made before the doubt.
func (r *standby) distrust(t *trust) bool {
	t.end()
	r.doubts.Add(1)
	return r.trust.CompareAndSwap(t, nil)
}

// lost has reads go to the primary: nobody knows what the standby is.
func (r *standby) lost() {
	r.turn.Lock()
	defer r.turn.Unlock()
	r.followed.Store(nil)
	if t := r.trust.Load(); t != nil {
		r.distrust(t)
	}
}

// clear waits until the primary shows what the standby may have shown.
func (r *standby) clear(ctx context.Context) error {
	if r.cleared.Load() >= r.doubts.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, clearLimit)
	defer cancel()
	_, err := r.clearing.Join(ctx, func(ctx context.Context) (source.Position, error) {
		doubts := r.doubts.Load()
		if r.cleared.Load() >= doubts {
			return 0, nil
		}
		err := r.shown.Await(ctx)
		if err == nil {
			r.cleared.Store(doubts)
		}
		return 0, err
	})
	if err != nil {
		return &source.Error{Class: source.Unavailable, After: retryAfter, Err: err,
			Message: "the standby has shown commits that are not known to be visible on the" +
				" primary yet: those that wait for another standby"}
	}
	return nil
}

// late has reads go to the primary until the standby has caught up.
func (s *Source) late(t *trust) {
	r := s.standby
	if !r.distrust(t) {
		return
	}
	s.log.Warn("the standby is late: the primary is read until it has caught up",
		"standby", t.of.server.Address)
	go func() {
		begun := time.Now()
		for s.ctx.Err() == nil && r.followed.Load() == t.of {
			if s.caughtUp() {
				s.log.Info("the standby has caught up", "standby", t.of.server.Address, "after",
					time.Since(begun).Round(time.Millisecond))
				r.trusts(t.of)
				return
			}
			select {
			case <-time.After(retryStandby):
			case <-s.ctx.Done():
			}
		}
	}()
}

// caughtUp reports whether the standby replays in time what the primary has.
func (s *Source) caughtUp() bool {
	ctx, cancel := context.WithTimeout(s.ctx, 10*catchUp)
	defer cancel()
	end, err := s.primaryEnd(ctx)
	if err != nil {
		return false
	}
	_, err = s.readOnce(ctx, s.standby.pool, func(ctx context.Context, conn *pgx.Conn) error {
		return s.reach(ctx, conn, end)
	})
	return err == nil
}

// raise sets v to at, unless it is more already.
func raise(v *atomic.Uint64, at uint64) {
	for {
		now := v.Load()
		if at <= now || v.CompareAndSwap(now, at) {
			return
		}
	}
}

// Current implements source.Replicated.
func (s *Source) Current(ctx context.Context) error {
	r := s.standby
	if r == nil {
		return nil
	}
	_, err := r.currents.Join(ctx, func(ctx context.Context) (source.Position, error) {
		end, err := s.primaryEnd(ctx)
		raise(&r.floor, end)
		return 0, err
	})
	return err
}

// Replica implements source.Replicated.
func (s *Source) Replica() bool { return s.standby != nil }

// Elsewhere implements source.Replicated.
func (s *Source) Elsewhere() uint64 {
	if s.standby == nil {
		return 0
	}
	return s.standby.elsewhere.Load()
}

// wrote notes that reads must see what was committed up to a position of the primary; 0:
// nobody knows it.
func (s *Source) wrote(at source.Position) {
	r := s.standby
	switch {
	case r == nil:
	case at != 0:
		raise(&r.floor, uint64(at))
	default:
		if t := r.trust.Load(); t != nil {
			s.late(t)
		}
	}
}

// doubt notes that a commit whose outcome err does not tell may have happened.
func (s *Source) doubt(err error) {
	if err != nil && source.ClassOf(err) == source.Unknown {
		s.wrote(0)
	}
}

// reconnect has reads use new connections.
func (s *Source) reconnect() {
	s.pool.Reset()
	if s.standby != nil {
		s.standby.pool.Reset()
	}
}

// readPrimary is readFrom on the primary. What resources are compiled from is read there: to
// compile a query takes a transaction that could write. A standby that is behind is found
// to have other definitions than were told, and they are compiled again.
func (s *Source) readPrimary(
	ctx context.Context, fn func(context.Context, *pgx.Conn) error,
) error {
	return s.readFrom(ctx, s.pool, fn)
}

// read runs fn, which only reads, on the standby if there is one and it may be read, else
// on the primary. See readFrom.
func (s *Source) read(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
	r := s.standby
	if r == nil {
		return s.readPrimary(ctx, fn)
	}
	if t := r.trust.Load(); t != nil {
		failed, err := s.readStandby(ctx, t, fn)
		if !failed {
			return err
		}
		r.doubts.Add(1) // others may have read there meanwhile
	}
	if err := r.clear(ctx); err != nil {
		return err
	}
	r.elsewhere.Add(1)
	return s.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if err := fn(ctx, conn); err != nil {
			return err
		}
		end, err := logEnd(ctx, conn) // of what fn may have seen: the next read must see it
		raise(&r.floor, end)
		return err
	})
}

// readStandby is read on the standby. It reports whether that has failed because of the
// server: then the primary is to be asked.
func (s *Source) readStandby(
	ctx context.Context, t *trust, fn func(context.Context, *pgx.Conn) error,
) (failed bool, err error) {
	r := s.standby
	floor := r.floor.Load()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	err = s.readFrom(inner, r.pool, func(ctx context.Context, conn *pgx.Conn) error {
		if r.replayed.Load() < floor && t.of.server.Life.Standby {
			if err := s.reach(ctx, conn, floor); err != nil {
				return err
			}
		}
		return fn(ctx, conn)
	})
	if err == nil && t.of.server.Life.Standby {
		// What was read is the primary's if the server replays its history yet: promoted, or
		// behind another primary, it may have shown what the primary never had.
		if same := t.of.same(inner); same != nil {
			err = fmt.Errorf("%w: %w", errOther, same)
		}
	}
	switch {
	case ctx.Err() != nil:
		return false, err
	case t.ctx.Err() != nil: // it may be of after the doubt
		return true, err
	case err == nil:
		return false, nil
	case errors.Is(err, errOther), errors.Is(err, errBehind),
		errors.Is(err, errPromoted), source.ClassOf(err) == source.Unavailable:
		s.late(t)
		return true, err
	}
	return serialization(err), err // a conflict with what is replayed
}

// reach waits until the standby that conn leads to has replayed the log up to floor.
func (s *Source) reach(ctx context.Context, conn *pgx.Conn, floor uint64) error {
	begun, flushed := time.Now(), false
	for {
		var at *int64
		err := conn.QueryRow(ctx, `SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN
			pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_last_wal_replay_lsn(), '0/0')::bigint END`).
			Scan(&at)
		switch {
		case err != nil:
			return err
		case at == nil:
			return errPromoted
		case uint64(*at) >= floor:
			raise(&s.standby.replayed, uint64(*at))
			return nil
		}
		waited := time.Since(begun)
		switch {
		case waited >= catchUp:
			return errBehind
		case waited >= flushAfter && !flushed:
			flushed = true
			if err := s.flush(ctx); err != nil {
				return err
			}
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// flush has the primary write its log out.
func (s *Source) flush(ctx context.Context) error {
	_, err := s.readOnce(ctx, s.pool, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SELECT pg_catalog.pg_logical_emit_message(true, 'hotrow', '')")
		return err
	})
	return err
}

// primaryEnd returns the end of the primary's log.
func (s *Source) primaryEnd(ctx context.Context) (end uint64, err error) {
	err = s.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
		end, err = logEnd(ctx, conn)
		return err
	})
	return end, err
}

// logEnd returns the end of the log of the primary that conn leads to: what is visible there
// is not behind it.
func logEnd(ctx context.Context, conn *pgx.Conn) (uint64, error) {
	var end int64
	err := conn.QueryRow(ctx, `SELECT pg_catalog.pg_wal_lsn_diff(
		pg_catalog.pg_current_wal_insert_lsn(), '0/0')::bigint`).Scan(&end)
	return uint64(end), err
}
