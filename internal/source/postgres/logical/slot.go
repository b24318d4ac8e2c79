package logical

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// A slot is a named replication slot, which outlives the feed's connection and
// its process: the server keeps the log from the place on that has been
// acknowledged. So a feed can go on where another process has stopped, and a
// node that is gone for ever would fill the server's disk if nothing bounded the
// slot.
type slot struct {
	name     string
	failover bool // standbys keep it, too
	store    atomic.Pointer[source.CheckpointStore]

	pid     uint32            // of the server's process at the last connection; 0: none yet
	refused source.Checkpoint // which the server could not go on from; both are of Run

	// history is the Origin of checkpoints, and fingerprint the Note of those that include
	// what the handler has been told so far.
	history     atomic.Pointer[string]
	fingerprint atomic.Pointer[string]
}

// failoverVersion is the first whose standbys keep logical slots.
const failoverVersion = 170000

// slotNames are what PostgreSQL takes for a slot's name.
var slotNames = regexp.MustCompile("^[a-z0-9_]{1,63}$")

// errSlotTaken is the error of a slot that another connection uses.
var errSlotTaken = errors.New("the replication slot is in use")

// boundSlots is what makes a server bound what slots keep of its log, all of them: it is
// not hotrow's to run.
var boundSlots = []string{"ALTER SYSTEM SET max_slot_wal_keep_size = '10GB'",
	"SELECT pg_reload_conf()"}

// CheckSlot says whether the named slot of the options may be had.
func CheckSlot(ctx context.Context, c *feed.Control, o feed.Config) (source.Finding, error) {
	var bound string
	version := 0
	err := c.Do(ctx, func(conn *pgx.Conn) error {
		const ask = "SELECT current_setting('server_version_num')::int"
		err := conn.QueryRow(ctx, ask).Scan(&version)
		if err != nil {
			return err
		}
		return conn.QueryRow(ctx, "SHOW max_slot_wal_keep_size").Scan(&bound)
	})
	if feed.SQLState(err) == "42704" { // before PostgreSQL 13
		bound, err = "-1", nil
	}
	switch {
	case err != nil:
		return source.Finding{}, err
	case !slotNames.MatchString(o.Slot):
		return source.Finding{Level: source.LevelError, Text: fmt.Sprintf(
			"%q is not a name of a replication slot: small letters, digits and _", o.Slot)}, nil
	case o.SlotFailover && version < failoverVersion:
		return source.Finding{Level: source.LevelError, Text: fmt.Sprintf("feed.failover cannot be"+
			" had from PostgreSQL %d: standbys keep slots from 17 on", version/10000),
			Why: "take feed.failover out: after a promotion the feed begins anew"}, nil
	case bound != "-1" || o.SlotUnbounded:
		return source.Finding{Text: "max_slot_wal_keep_size is " + bound + ": slot " + o.Slot +
			" may be taken"}, nil
	}
	return source.Finding{
		Level: source.LevelError, ByHand: boundSlots,
		Text: "feed.slot " + o.Slot + " cannot be used: max_slot_wal_keep_size is -1, so nothing" +
			" bounds what it keeps",
		Why: "the slot of a node that is gone would fill the server's disk. A bound holds for" +
			" every slot of the server:\nthose of other programs that keep more are lost by it;" +
			" feed.slot_unbounded: true takes the slot without one",
	}, nil
}

// newSlot checks what a named slot needs, and says why it cannot be had.
func newSlot(ctx context.Context, c *feed.Control, o feed.Config) (*slot, error) {
	f, err := CheckSlot(ctx, c, o)
	if err != nil {
		return nil, err
	}
	if f.Level == source.LevelError {
		return nil, errors.New(feed.Sentence([]source.Finding{f}))
	}
	return &slot{name: o.Slot, failover: o.SlotFailover}, nil
}

// A slotState is a slot as the server has it.
type slotState struct {
	confirmed feed.LSN
	active    uint32 // the process that uses it; 0: none
	usable    bool   // a logical one of this database and of pgoutput, and not lost
	failover  bool   // standbys keep it, too
}

// complete returns the checkpoint that the store's copies are complete up to.
func (s *slot) complete() (p source.Checkpoint, keeps bool) {
	k := s.store.Load()
	if k == nil {
		return source.Checkpoint{}, false
	}
	return (*k).Complete()
}

// acknowledged returns up to where the server need not keep its log: pos when
// nothing is kept here.
func (s *slot) acknowledged(pos feed.LSN) feed.LSN {
	p, keeps := s.complete()
	h := s.history.Load()
	switch {
	case !keeps:
		return pos
	case h == nil || p.Origin != *h:
		return 0 // says nothing
	}
	return min(pos, feed.LSN(p.Pos))
}

// state asks for the slot; nil: there is none.
func (s *slot) state(ctx context.Context, c *feed.Control) (*slotState, error) {
	var st *slotState
	err := c.Do(ctx, func(conn *pgx.Conn) error {
		var confirmed string
		var got slotState
		err := conn.QueryRow(ctx, `SELECT coalesce(confirmed_flush_lsn, '0/0')::text,
			coalesce(active_pid, 0), plugin = 'pgoutput' AND database = current_database()
				AND coalesce(wal_status, '') <> 'lost' AND confirmed_flush_lsn IS NOT NULL,
			coalesce((to_jsonb(s)->>'failover')::bool, false)
			FROM pg_replication_slots s WHERE slot_name = $1`, s.name).
			Scan(&confirmed, &got.active, &got.usable, &got.failover)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		got.confirmed, err = feed.ParseLSN(confirmed)
		st = &got
		return err
	})
	return st, err
}

// free waits for nobody: a slot in use by this feed's last connection, which the
// server has not noticed to be gone, is taken from it; one in use by another is
// an error.
func (s *slot) free(ctx context.Context, c *feed.Control, st *slotState) error {
	switch {
	case st == nil || st.active == 0:
		return nil
	case st.active != s.pid:
		return fmt.Errorf("%w: %s is active for process %d; each node needs a feed.slot of its own",
			errSlotTaken, s.name, st.active)
	}
	return c.Do(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SELECT pg_terminate_backend($1)", st.active)
		if err == nil {
			err = fmt.Errorf("%w by an earlier connection, which is being ended", errSlotTaken)
		}
		return err
	})
}

// historyOf names the history that positions belong to for copies which outlive
// the process. The time at which statistics began anew changes with every
// recovery from a crash: what a crash takes away (an asynchronous commit) may
// have been read, and no feed tells that it is gone. A clean restart keeps it.
func historyOf(ctx context.Context, c *feed.Control, origin string) (string, error) {
	var since *string
	err := c.Do(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT extract(epoch FROM stats_reset)::text"+
			" FROM pg_stat_bgwriter").Scan(&since)
	})
	if err != nil || since == nil {
		return "", err
	}
	return origin + "/" + *since, nil
}

// resumable reports whether the stream can go on after p without a gap: the
// history is the one of p, the slot has not been told that what follows p is not
// needed, the server's log has not been set back behind p, and the tables are
// defined as they were.
func (s *slot) resumable(p source.Checkpoint, st *slotState, end feed.LSN, found *feed.Diff) bool {
	h := s.history.Load()
	return st != nil && st.usable && h != nil && *h != "" && p.Origin == *h && p != s.refused &&
		st.confirmed <= feed.LSN(p.Pos) && feed.LSN(p.Pos) <= end && p.Note == *found.Digest()
}

// openSlot returns the slot to stream from. It is the named one, resumed if that
// leaves no gap and made anew else, or a temporary one.
func (f *Feed) openSlot(
	ctx context.Context, conn *pgconn.PgConn, h source.Handler, at *attached,
) (name string, err error) {
	if f.slot == nil {
		if name, err = feed.RandomName(); err == nil {
			at.start, err = f.createSlot(ctx, conn, name+" TEMPORARY", false)
		}
		return name, err
	}
	name = f.slot.name
	history, err := historyOf(ctx, f.Control, at.origin)
	if err != nil {
		return "", err
	}
	f.slot.history.Store(&history)
	st, err := f.slot.state(ctx, f.Control)
	if err == nil {
		err = f.slot.free(ctx, f.Control, st)
	}
	if err != nil {
		return "", err
	}
	f.slot.pid = conn.PID()
	if at.found, err = f.Watcher.Look(ctx, f.Control); err != nil {
		return "", err
	}
	end, err := f.insertPosition(ctx)
	if err != nil {
		return "", err
	}
	p, _ := f.slot.complete()
	if _, can := h.(source.ResumeHandler); can && f.slot.resumable(p, st, end, at.found) {
		at.start, at.resumed = feed.LSN(p.Pos), &p
		f.slot.fingerprint.Store(at.found.Digest())
		return name, f.slot.setFailover(ctx, conn, st)
	}
	f.Src.Log.Info("the replication slot begins anew", "slot", name, "existed", st != nil)
	if st != nil {
		drop := "DROP_REPLICATION_SLOT " + catalog.QuoteName(name)
		if _, err := conn.Exec(ctx, drop).ReadAll(); err != nil {
			return "", err
		}
	}
	failover := f.slot.failover || st != nil && st.failover
	at.start, err = f.createSlot(ctx, conn, catalog.QuoteName(name), failover)
	return name, err
}

// setFailover has standbys keep a slot, which nobody uses, if the configuration says so.
// One that somebody else has set so stays as it is.
func (s *slot) setFailover(ctx context.Context, conn *pgconn.PgConn, st *slotState) error {
	if !s.failover || st.failover {
		return nil
	}
	_, err := conn.Exec(ctx,
		"ALTER_REPLICATION_SLOT "+catalog.QuoteName(s.name)+" (FAILOVER true)").ReadAll()
	return err
}

// UseCheckpoints implements source.Resumer.
func (f *Feed) UseCheckpoints(k source.CheckpointStore) {
	if f.slot != nil {
		f.slot.store.Store(&k)
	}
}

// Checkpoint implements source.Resumer: with a slot the log is there from any place on
// that has not been acknowledged.
func (f *Feed) Checkpoint(pos source.Position) (source.Checkpoint, bool) {
	if f.slot == nil {
		return source.Checkpoint{}, false
	}
	h, print := f.slot.history.Load(), f.slot.fingerprint.Load()
	if h == nil || *h == "" || print == nil {
		return source.Checkpoint{}, false
	}
	return source.Checkpoint{Origin: *h, Pos: pos, Note: *print}, true
}

// slotGone reports whether err says that the log from a place on is gone.
func slotGone(err error) bool {
	state := feed.SQLState(err)
	return state == "55000" || state == "58P01" || state == "42704" ||
		err != nil && strings.Contains(err.Error(), "invalidated")
}
