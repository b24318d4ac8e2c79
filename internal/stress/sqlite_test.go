package stress

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/testbed"
)

// series are numbers from 1 to n, in SQLite's words.
func series(n int) string {
	return fmt.Sprintf("(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM s WHERE i < %d) "+
		"SELECT i FROM s)", n)
}

// sqliteTables are worldTables in SQLite's words.
var sqliteTables = []string{
	`CREATE TABLE dept (deptno INTEGER PRIMARY KEY, value INTEGER NOT NULL)`,
	`CREATE TABLE emp (empno INTEGER PRIMARY KEY, value INTEGER NOT NULL,
		deptno INTEGER REFERENCES dept)`,
	`CREATE INDEX of_dept ON emp (deptno)`,
	`CREATE TABLE flat (id INTEGER PRIMARY KEY, value INTEGER NOT NULL)`,
	`CREATE TABLE side (id INTEGER PRIMARY KEY, value INTEGER NOT NULL)`,
	`CREATE TABLE bulk (id INTEGER PRIMARY KEY, value INTEGER NOT NULL)`,
	`INSERT INTO dept SELECT i, i FROM ` + series(depts),
	`INSERT INTO emp SELECT i, 100 + i, i % 10 + 1 FROM ` + series(emps),
	`INSERT INTO flat SELECT i, 200 + i FROM ` + series(flats),
	`INSERT INTO side SELECT i, 400 + i FROM ` + series(sides),
	`INSERT INTO bulk SELECT i, 500 FROM ` + series(bulks),
}

// sqliteWriters change the world: some through the connection that hotrow writes
// with, others as a foreign program would, through one of their own.
type sqliteWriters struct {
	t     testing.TB
	world *world
	locks [5][max(emps, flats) + 1]sync.Mutex // by table and key

	commits, foreign, through atomic.Int64
}

// lock takes the locks of a job that are free. It returns what gives them back,
// or nil when somebody else has one.
func (ws *sqliteWriters) lock(list []int64) (unlock func()) {
	var taken []*sync.Mutex
	unlock = func() {
		for _, m := range taken {
			m.Unlock()
		}
	}
	for _, l := range list {
		m := &ws.locks[l/1_000_000-1][l%1_000_000]
		if !m.TryLock() {
			unlock()
			return nil
		}
		taken = append(taken, m)
	}
	return unlock
}

// start runs a writer until ctx ends.
func (ws *sqliteWriters) start(
	ctx context.Context, wg *sync.WaitGroup, to *sqlite.Source, count *atomic.Int64,
	wait time.Duration, next func() job,
) {
	wg.Go(func() {
		for testbed.Pause(ctx, wait) {
			if err := ws.run(to, next()); err != nil {
				ws.t.Errorf("writer: %v", err)
				return
			}
			count.Add(1)
		}
	})
}

// run makes one transaction of a job.
func (ws *sqliteWriters) run(to *sqlite.Source, j job) error {
	unlock := ws.lock(j.sorted())
	if unlock == nil {
		return nil
	}
	defer unlock()
	var statements []string
	var changes []Change
	for _, s := range j.plan() {
		text := strings.Replace(s.sql, "TRUNCATE", "DELETE FROM", 1)
		for i, arg := range s.args {
			if arg == nil {
				arg = "NULL"
			}
			text = strings.ReplaceAll(text, fmt.Sprint("$", i+1), fmt.Sprint(arg))
		}
		statements, changes = append(statements, text), append(changes, s.changes...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), testbed.Patience)
	defer cancel()
	commit := ws.world.history.Begin(changes)
	if err := to.Exec(ctx, statements...); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(statements, "; "), err)
	}
	commit.Done(0) // a file has no position that others could read
	return nil
}

// own writes through hotrow itself and reads back what it wrote.
func (ws *sqliteWriters) own(
	ctx context.Context, wg *sync.WaitGroup, c road, wait time.Duration,
) {
	wg.Go(func() {
		for testbed.Pause(ctx, wait) {
			k := 1 + rand.IntN(emps)
			lock, write := int64(lockEmp+k), ws.world.ownEmp
			if rand.IntN(2) == 0 {
				lock, write = int64(lockFlat+k), ws.world.ownFlat
			}
			unlock := ws.lock([]int64{lock})
			if unlock == nil {
				continue
			}
			err := write(c, k)
			if unlock(); err != nil {
				ws.t.Errorf("write through hotrow: %v", err)
				return
			}
			ws.through.Add(1)
		}
	})
}

// No read, of whatever kind and whatever writers do, is older than the contract
// allows, and when the writers stop nothing that memory holds is old.
func TestStressSQLite_NoStaleRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "world.db")
	src := testbed.OpenSQLite(t, path, sqlite.Options{Own: true})
	if err := src.Exec(t.Context(), sqliteTables...); err != nil {
		t.Fatal(err)
	}
	w := newRegisters()
	s := newStandOver(t, src, plan{Specs: worldSpecs(), Mode: source.FeedAuto})
	foreign := testbed.OpenSQLite(t, path, sqlite.Options{Own: true})
	ws := &sqliteWriters{t: t, world: w}
	rs := newReaders(s, w)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for range 3 {
		ws.start(ctx, &wg, src, &ws.commits, time.Millisecond, w.job)
	}
	ws.start(ctx, &wg, foreign, &ws.foreign, 20*time.Millisecond, w.job)
	ws.start(ctx, &wg, src, &ws.commits, time.Second, w.bulkJob)
	for i := range 2 {
		ws.own(ctx, &wg, s.road(i), 5*time.Millisecond)
	}
	rs.run(ctx, &wg, 8)
	testbed.Work(t, testbed.Length(time.Second/2), &rs.sampled, &rs.wire, &rs.hits,
		&ws.commits, &ws.foreign, &ws.through)
	cancel()
	wg.Wait()

	rs.finish()
	linear := rs.linearizable(t)
	swept, old := rs.sweep(t)
	reads, hits := rs.reads.Load(), rs.hits.Load()
	testbed.Figures(t, "%d reads (%d over the wire, %d with a token, %d of the database, %d checked by "+
		"porcupine), hit ratio %.2f, %d flagged stale; %d commits, %d by a foreign program, "+
		"%d through hotrow and read back; unexplained %d; largest lag stated %v, "+
		"largest real age of a hit %v; sweep: %d hits of %d, %d stale", reads, rs.wire.Load(),
		rs.tokens.Load(), rs.direct.Load(), linear, float64(hits)/float64(reads),
		rs.stale.Load(), ws.commits.Load(), ws.foreign.Load(), ws.through.Load(),
		len(rs.violations), time.Duration(rs.lag.Load()),
		time.Duration(rs.late.Load()).Round(time.Microsecond), swept, 2*len(rs.pages), old)
	if hits == 0 || rs.wire.Load() == 0 || ws.commits.Load() == 0 || ws.foreign.Load() == 0 ||
		ws.through.Load() == 0 || linear == 0 {
		t.Error("a part of the test has done nothing")
	}
}
