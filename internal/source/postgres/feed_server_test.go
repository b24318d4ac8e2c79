package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

// ghosts makes commits wait for a standby that does not exist, or no more. It is quick:
// what commits meanwhile must not wait for as long as a feed takes for a broken connection.
func ghosts(t *testing.T, s *dbtest.Server, name string) {
	t.Helper()
	admin, conn := feedConn(t, s.URL()), feedConn(t, s.URL())
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = '" + name + "'",
		"SELECT pg_reload_conf()"} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if name == "" {
		return
	}
	// Commits go on without waiting until the checkpointer has read that, too.
	var done chan struct{}
	for held := false; !held; {
		done = make(chan struct{})
		go func() {
			defer close(done)
			_, _ = conn.Exec(context.Background(), "SELECT pg_logical_emit_message(true, '', '')")
		}()
		await(t, "hold a commit, or not yet", func() bool {
			select {
			case <-done:
				return true
			default:
				held = holds(t, admin, conn)
				return held
			}
		})
	}
	if _, err := admin.Exec(t.Context(), "SELECT pg_cancel_backend($1)",
		int32(conn.PgConn().PID())); err != nil {
		t.Fatal(err)
	}
	<-done
}

// holds reports whether the commit of conn waits for a standby; nil: that of any.
func holds(t *testing.T, admin, conn *pgx.Conn) bool {
	t.Helper()
	pid := int32(0)
	if conn != nil {
		pid = int32(conn.PgConn().PID())
	}
	var held bool
	if err := admin.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_stat_activity
		WHERE wait_event = 'SyncRep' AND $1 IN (0, pid)`, pid).Scan(&held); err != nil {
		t.Fatal(err)
	}
	return held
}

// logicalServer starts a server of the test's own with logical replication.
func logicalServer(t *testing.T) *dbtest.Server {
	t.Helper()
	return dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
}

// holding runs sql on a connection of its own, whose commit waits for a standby,
// and returns a channel that is closed when it has returned.
func holding(t *testing.T, s *dbtest.Server, sql string) <-chan struct{} {
	t.Helper()
	admin, conn := feedConn(t, s.URL()), feedConn(t, s.URL())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := conn.Exec(context.Background(), sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}()
	await(t, "hold the commit", func() bool { return holds(t, admin, conn) })
	return done
}

// settled asks the feed about the last transaction that the handler was given.
func (f *fixture) settled(tx *source.Tx) bool {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), feedPatience)
	defer cancel()
	got, err := f.feed.Settled(ctx, []*source.Tx{tx})
	if err != nil {
		f.t.Fatal(err)
	}
	return got[0]
}

// find returns the first transaction that satisfies is, waiting for it.
func (r *recorder) find(t testing.TB, what string, is func(*source.Tx) bool) *source.Tx {
	t.Helper()
	var found *source.Tx
	await(t, what, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		if i := slices.IndexFunc(r.txs, is); i >= 0 {
			found = r.txs[i]
		}
		return found != nil
	})
	return found
}

func TestPostgres_DeliveredIsNotSettledUntilItIsVisible(t *testing.T) {
	s := logicalServer(t)
	f := follow(t, s.URL(), feedSchema, source.FeedLogical, feedTables)
	f.exec("SET synchronous_commit = local")
	ghosts(t, s, "ghost")
	done := holding(t, s, "UPDATE dept SET loc = 'new' WHERE deptno = 10")

	tx := f.rec.find(t, "deliver the held commit", func(tx *source.Tx) bool {
		return len(tx.Changes) == 1
	})
	for range 20 {
		var loc string
		if err := f.conn.QueryRow(t.Context(), "SELECT loc FROM dept WHERE deptno = 10").
			Scan(&loc); err != nil || loc != "NEW YORK" {
			t.Fatalf("the held row reads %q, %v", loc, err)
		}
		if f.settled(tx) {
			t.Fatal("settled while no read sees it")
		}
	}
	if _, err := f.feed.Fence(t.Context()); err != nil {
		t.Errorf("a fence while a commit is held: %v", err)
	}
	// What is committed meanwhile without waiting settles by itself.
	f.exec("UPDATE dept SET loc = 'other' WHERE deptno = 20")
	other := f.rec.find(t, "deliver the other", func(o *source.Tx) bool {
		return len(o.Changes) == 1 && o != tx
	})
	if !f.settled(other) || f.settled(tx) {
		t.Error("the two transactions are mixed up")
	}
	ghosts(t, s, "")
	<-done
	await(t, "settle", func() bool { return f.settled(tx) })
}

// A transaction that committed before the slot began, and that no read sees yet,
// is never delivered. The way there, without luck: a slot is made in two steps,
// each of which waits for the transactions that were open at its beginning.
func TestPostgres_AttachWaitsForCommitsThatItCannotSee(t *testing.T) {
	s := logicalServer(t)
	f := &fixture{t: t, url: s.URL(), conn: feedConn(t, s.URL()), src: sourceOf(t, s.URL())}
	f.exec(feedSchema, "SET synchronous_commit = local")
	f.feed, _ = feedOpen(t, s.URL(), source.FeedLogical, feedTables)
	ghosts(t, s, "ghost")
	var steps [2]*pgx.Conn
	begin := func(i int) {
		steps[i] = feedConn(t, s.URL())
		for _, sql := range []string{"SET synchronous_commit = local", "BEGIN",
			"SELECT pg_current_xact_id()"} {
			if _, err := steps[i].Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
	}
	commit := func(i int) {
		if _, err := steps[i].Exec(t.Context(), "COMMIT"); err != nil {
			t.Fatal(err)
		}
	}
	waiting := func(i int) { // until the slot waits for the transaction of step i
		await(t, "wait for an open transaction", func() bool {
			return strings.TrimSpace(s.Exec(fmt.Sprintf("SELECT count(*) FROM pg_locks l"+
				" JOIN pg_stat_activity a ON a.backend_xid = l.transactionid"+
				" WHERE NOT l.granted AND a.pid = %d", steps[i].PgConn().PID()))) != "0"
		})
	}
	begin(0)
	ctx, cancel := context.WithCancel(t.Context())
	f.rec, f.cancel, f.done = new(recorder), cancel, make(chan error, 1)
	go func() { f.done <- f.feed.Run(ctx, f.rec) }()
	t.Cleanup(f.stop)
	waiting(0)
	begin(1)
	commit(0)
	waiting(1)
	held := holding(t, s, "UPDATE dept SET loc = 'new' WHERE deptno = 10")
	commit(1)

	barrier := f.rec.find(t, "attach", func(tx *source.Tx) bool { return tx.All })
	if _, err := f.feed.Fence(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.rec.mu.Lock()
	if len(f.rec.txs) != 1 {
		t.Errorf("%d transactions were delivered: the hole is not there", len(f.rec.txs))
	}
	f.rec.mu.Unlock()
	for range 20 {
		if f.settled(barrier) {
			t.Fatal("the barrier settled although a commit that was never told is not visible")
		}
	}
	ghosts(t, s, "")
	<-held
	await(t, "settle", func() bool { return f.settled(barrier) })
}

func TestPostgres_FenceHonoursItsDeadlineWhileTheSenderIsFrozen(t *testing.T) {
	t.Parallel() // it waits for a silence
	s := logicalServer(t)
	f := follow(t, s.URL(), feedSchema, source.FeedLogical, feedTables)
	senders := s.PauseSenders()
	f.exec("UPDATE dept SET loc = 'frozen' WHERE deptno = 10")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	if pos, err := f.feed.Fence(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a fence past a frozen sender: %v, %v", pos, err)
	}
	if d := time.Since(start); waittest.Late(d, time.Second) {
		t.Errorf("the deadline of 200ms took %v", d)
	}
	s.Resume(senders...)
	if got := f.fence(); !slices.Equal(got, []string{"dept U (deptno=10)->(deptno=10)"}) {
		t.Errorf("after it went on: %q", got)
	}

	senders = s.PauseSenders()
	if err := f.ended(); errors.Is(err, context.Canceled) { // by its silence
		t.Errorf("Run returned %v", err)
	}
	f.run()
	f.want("UPDATE dept SET loc = 'again' WHERE deptno = 10", "dept U (deptno=10)->(deptno=10)")
	s.Resume(senders...)
}

func TestPostgres_FeedSurvivesTheServer(t *testing.T) {
	t.Parallel()
	s := logicalServer(t)
	f := follow(t, s.URL(), feedSchema, source.FeedLogical, feedTables)
	s.Stop(dbtest.Immediate)
	if err := f.ended(); err == nil {
		t.Error("Run returned without an error")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := f.feed.Settled(ctx, []*source.Tx{{ID: 5}}); err == nil {
		t.Error("something is settled on a server that is down")
	}
	s.Start()
	f.conn = feedConn(t, s.URL())
	f.run()
	f.want("UPDATE dept SET loc = 'back' WHERE deptno = 10", "dept U (deptno=10)->(deptno=10)")
}
