package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/testbed"
)

// heldAfter is when a commit counts as held: logged, and so delivered by a feed,
// but not visible.
const heldAfter = 20 * time.Millisecond

// writers are foreign programs that change the world.
type writers struct {
	t     testing.TB
	world *world
	url   string
	hot   bool        // one in three transactions changes what is asked for the most
	ghost atomic.Bool // commits that wait for a standby are being held
	calm  atomic.Bool // nothing is written for a while

	commits, rollbacks, conflicts, held atomic.Int64

	through atomic.Int64 // writes through hotrow
}

// A writer is one connection.
type writer struct {
	*writers
	conn *pgx.Conn
	wait time.Duration // between two transactions
	held bool          // commits only while they are held
}

// start runs a writer with this synchronous_commit until ctx ends.
func (ws *writers) start(ctx context.Context, wg *sync.WaitGroup, sync string, w writer) {
	ws.t.Helper()
	w.writers, w.conn = ws, testbed.Dial(ws.t, ws.url)
	testbed.MustExec(ws.t, w.conn, "SET synchronous_commit = "+sync)
	wg.Go(func() {
		for ctx.Err() == nil && testbed.Pause(ctx, w.wait) {
			if w.held && !ws.ghost.Load() || ws.calm.Load() {
				continue
			}
			// A row whose change is held is not kept: those that are asked for most are not held.
			j := ws.world.job
			if ws.hot && !w.held {
				j = ws.world.hotJob
			}
			if err := w.run(j()); err != nil {
				ws.t.Errorf("writer: %v", err)
				return
			}
		}
	})
}

// breathe has the writers stop every now and then, for long enough that what was read reaches
// the disk, goes from memory, and is asked for again before it changes.
func (ws *writers) breathe(ctx context.Context, wg *sync.WaitGroup) {
	wg.Go(func() {
		for testbed.Pause(ctx, 500*time.Millisecond) {
			ws.calm.Store(!ws.calm.Load())
		}
	})
}

// bulk changes all rows of one table every now and then, in a way that its
// readers cannot be told row by row.
func (ws *writers) bulk(ctx context.Context, wg *sync.WaitGroup, every time.Duration) {
	w := writer{writers: ws, conn: testbed.Dial(ws.t, ws.url)}
	testbed.MustExec(ws.t, w.conn, "SET synchronous_commit = off")
	wg.Go(func() {
		for testbed.Pause(ctx, every) {
			if err := w.run(ws.world.bulkJob()); err != nil {
				ws.t.Errorf("bulk writer: %v", err)
				return
			}
		}
	})
}

// run makes one transaction of a job. What the server refuses, a deadlock, is
// rolled back and no error.
func (w *writer) run(j job) error {
	ctx, cancel := context.WithTimeout(context.Background(), testbed.Patience)
	defer cancel()
	took, err := w.lock(ctx, j.sorted())
	if err != nil || !took {
		return errors.Join(err, w.rollback(ctx))
	}
	stmts := j.plan()
	var changes []Change
	batch := new(pgx.Batch)
	if rand.IntN(10) == 0 {
		batch.Queue("SAVEPOINT s") // what follows has an identifier of its own in the log
	}
	for _, s := range stmts {
		batch.Queue(s.sql, s.args...)
		changes = append(changes, s.changes...)
	}
	if err := w.conn.SendBatch(ctx, batch).Close(); err != nil {
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code != "40P01" {
			return fmt.Errorf("%s: %w", stmts[0].sql, err)
		}
		w.conflicts.Add(1)
		return w.rollback(ctx)
	}
	if rand.IntN(20) == 0 {
		w.rollbacks.Add(1)
		return w.rollback(ctx)
	}
	return w.commit(ctx, changes)
}

// lock begins a transaction and takes locks that go with it; false: somebody
// else has one of them. A writer whose commits are held waits for its locks.
func (w *writer) lock(ctx context.Context, locks []int64) (bool, error) {
	batch := new(pgx.Batch)
	batch.Queue("BEGIN")
	for _, l := range locks {
		if w.held {
			batch.Queue("SELECT true FROM pg_advisory_xact_lock($1)", l)
		} else {
			batch.Queue("SELECT pg_try_advisory_xact_lock($1)", l)
		}
	}
	res := w.conn.SendBatch(ctx, batch)
	_, err := res.Exec()
	took := true
	for range locks {
		var ok bool
		if err == nil {
			err = res.QueryRow().Scan(&ok)
		}
		took = took && ok
	}
	return took, errors.Join(err, res.Close())
}

func (w *writer) rollback(ctx context.Context) error {
	_, err := w.conn.Exec(ctx, "ROLLBACK")
	return err
}

// commit commits and reads a position of the log that is behind the commit.
func (w *writer) commit(ctx context.Context, changes []Change) error {
	ghost := w.ghost.Load()
	batch := new(pgx.Batch)
	batch.Queue("COMMIT")
	batch.Queue("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
	c := w.world.history.Begin(changes)
	res := w.conn.SendBatch(ctx, batch)
	_, err := res.Exec()
	var upto int64
	if err == nil {
		err = res.QueryRow().Scan(&upto)
	}
	if err = errors.Join(err, res.Close()); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	took := c.Done(uint64(upto))
	w.commits.Add(1)
	if ghost && took > heldAfter {
		w.writers.held.Add(1)
	}
	return nil
}

// haunt makes commits wait for a standby that does not exist, again and again:
// they are in the log, the feed delivers them, and nobody sees them.
func (ws *writers) haunt(ctx context.Context, wg *sync.WaitGroup) {
	conn := testbed.Dial(ws.t, ws.url)
	testbed.MustExec(ws.t, conn, "SET synchronous_commit = local")
	set := func(name string) error {
		for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = '" + name + "'",
			"SELECT pg_reload_conf()"} {
			if _, err := conn.Exec(context.Background(), sql); err != nil {
				return err
			}
		}
		return nil
	}
	wg.Go(func() {
		for on := true; ; on = !on {
			name, wait := "", 30*time.Millisecond
			if on && ctx.Err() == nil {
				name, wait = "ghost", time.Duration(50+rand.IntN(250))*time.Millisecond
			}
			if err := set(name); err != nil {
				ws.t.Errorf("haunt: %v", err)
				return
			}
			ws.ghost.Store(name != "")
			if !testbed.Pause(ctx, wait) && name == "" {
				return
			}
		}
	})
}
