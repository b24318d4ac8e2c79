package stress

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A transaction that somebody forgot to end, after an update, keeps neither the
// feed from being fresh nor other keys from being told of.
func TestStressPostgres_OpenTransaction(t *testing.T) {
	url := dbtest.Postgres(t)
	w := newWorld(t, testbed.Dial(t, url))
	s := newStand(t, url, plan{Specs: worldSpecs(), Mode: source.FeedLogical})
	forgotten := testbed.Dial(t, url)
	testbed.MustExec(t, forgotten, "BEGIN", "INSERT INTO flat VALUES (121, 1)",
		"UPDATE flat SET value = 2 WHERE id = 121")

	ws := &writers{t: t, world: w, url: url}
	rs := newReaders(s, w)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for _, mode := range []string{"off", "on", "on"} {
		ws.start(ctx, &wg, mode, writer{wait: 3 * time.Millisecond})
	}
	rs.run(ctx, &wg, 4)
	testbed.Work(t, testbed.Length(time.Second/2), &ws.commits)
	// A busy machine may be late now and then; a feed that the transaction holds up is late
	// from then on, and no answer of memory is without a flag any more.
	plain := rs.hits.Load()
	waittest.Until(t, "memory still answers", func() bool { return rs.hits.Load() > plain+100 })
	cancel()
	wg.Wait()
	rs.finish()
	swept, old := rs.sweep(t)
	c := s.connect()
	c.mustGet(t, 404, "/flat/121")
	testbed.MustExec(t, forgotten, "COMMIT")
	waittest.Until(t, "the forgotten row", func() bool {
		a, err := c.get("/flat/121")
		return err == nil && a.code == 200
	})
	reads, hits, stale := rs.reads.Load(), rs.hits.Load(), rs.stale.Load()
	testbed.Figures(t, "%d reads, hit ratio %.2f, %d flagged stale; %d commits; unexplained %d; "+
		"largest lag stated %v, largest real age of a hit %v; sweep: %d hits of %d, %d stale", reads,
		float64(hits)/float64(reads), stale, ws.commits.Load(), len(rs.violations),
		time.Duration(rs.lag.Load()), time.Duration(rs.late.Load()).Round(time.Microsecond),
		swept, 2*len(rs.pages), old)
}
