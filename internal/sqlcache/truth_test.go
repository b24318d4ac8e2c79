package sqlcache_test

import (
	"cmp"
	"context"
	"flag"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

var (
	atLeast    = flag.Int64("atleast", 0, "so many reads of the test of truth there are at least")
	auditEvery = flag.Int("audit", 50, "of so many hits of it the server is asked for one")
)

// theirs is what another program writes: in a session
// that asks for it nothing is older than what that has seen.
type theirs struct {
	t     *testing.T
	acked [21]atomic.Int64 // by row
}

func (th *theirs) write(c *pgx.Conn, r *rand.Rand, done <-chan struct{}) {
	for n := int64(1); ; n++ {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(r.IntN(4)) * time.Millisecond):
		}
		id := 1 + r.IntN(20)
		if _, err := c.Exec(context.Background(), "UPDATE theirs SET n = $1 WHERE id = $2", n, id); err != nil {
			th.t.Errorf("write: %v", err)
			return
		}
		th.acked[id].Store(n)
	}
}

// read reads in one session, until done is closed.
func (th *theirs) read(c *pgx.Conn, r *rand.Rand, reads *atomic.Int64, done <-chan struct{}) {
	var seen [21]int64
	if _, err := c.Exec(context.Background(), "SET hotrow.freshness = 'session'"); err != nil {
		th.t.Error(err)
	}
	for {
		select {
		case <-done:
			return
		default:
		}
		id := 1 + r.IntN(20)
		sql := "SELECT n FROM theirs WHERE id = $1"
		if r.IntN(10) == 0 {
			sql = "SELECT n + 0 FROM theirs WHERE id = $1" // by the server
		}
		var n int64
		if err := c.QueryRow(context.Background(), sql, id).Scan(&n); err != nil {
			th.t.Errorf("read: %v", err)
			return
		}
		if reads.Add(1); n < seen[id] {
			th.t.Errorf("row %d was %d, and now %d", id, seen[id], n)
		}
		seen[id] = n
	}
}

// TestServe_Truth: what a client has written through hotrow, by whichever session, it reads through
// hotrow, by whichever session: beside others who do the same, one who writes the database itself,
// definitions, and a feed that is cut.
func TestServe_Truth(t *testing.T) {
	s := newServing(t, dbtest.Postgres(t, dbtest.Setup(rowsOfTruth)), *auditEvery,
		append(tablesOfTruth, "part", "theirs")...)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	p := newPool(t, s.url, 16, allModes...)
	done := make(chan struct{})
	var sessions, beside sync.WaitGroup
	var asked, written, others atomic.Int64
	th := &theirs{t: t}
	direct, cutter := connect(t, s.database, pgx.QueryExecModeExec), connect(t, s.database, pgx.QueryExecModeExec)
	reader := connect(t, s.url, pgx.QueryExecModeCacheStatement)
	beside.Go(func() { th.write(direct, rand.New(rand.NewPCG(seed, 100)), done) })
	beside.Go(func() { th.read(reader, rand.New(rand.NewPCG(seed, 101)), &others, done) })
	beside.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(700 * time.Millisecond):
			}
			sql := []string{"SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots" +
				" WHERE database = current_database() AND active_pid IS NOT NULL",
				"ALTER TABLE mine ADD COLUMN IF NOT EXISTS extra int", "ALTER TABLE mine DROP COLUMN IF EXISTS extra",
				"CREATE INDEX IF NOT EXISTS more ON whole (n)", "ANALYZE"}[i%5]
			if _, err := cutter.Exec(context.Background(), sql); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
	})
	deadline := waittest.Deadline(20 * time.Second)
	goesOn := func(n int) bool {
		return n < *rounds || asked.Load() < *atLeast ||
			s.front.Stats().Hits < 100 && time.Now().Before(deadline)
	}
	for i := range 8 {
		w := &writer{t: t, p: p, r: rand.New(rand.NewPCG(seed, uint64(i))), of: i + 1, rows: make(map[int]fact),
			parts: make(map[int]int), table: tablesOfTruth[i%4], reads: &asked, writes: &written}
		if i < 4 {
			w.direct = connect(t, s.database, pgx.QueryExecModeExec)
		}
		sessions.Go(func() {
			for n := 0; !t.Failed() && goesOn(n); n++ {
				if w.r.IntN(100) >= cmp.Or(*reads, 90) || n < 5 {
					w.write()
				}
				w.read()
			}
		})
	}
	sessions.Wait()
	close(done)
	beside.Wait()
	st, c := s.front.Stats(), s.counts()
	t.Logf("%d reads of what was written by %d writes, %d of others; %d hits, %d misses, passed on %v; %+v",
		asked.Load(), written.Load(), others.Load(), st.Hits, st.Misses, st.Passes, c)
	if c.Wrong > 0 || st.Hits == 0 {
		t.Errorf("%d hits, %d of those that were compared were wrong", st.Hits, c.Wrong)
	}
}
