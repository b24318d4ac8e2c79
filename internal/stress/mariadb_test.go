package stress

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
)

// heldMariaDB makes commits wait for a replica that is not there: they are in the
// log, the feed delivers them, and nobody sees them.
var heldMariaDB = map[string]string{
	"rpl-semi-sync-master-wait-point": "AFTER_SYNC",
	"rpl-semi-sync-master-timeout":    "150", // milliseconds
	"max-binlog-size":                 "1048576",
	"max-connections":                 "200",
}

// No read, of whatever kind and whatever writers do, is older than the contract
// allows, and when the writers stop nothing that memory holds is old.
func TestStressMariaDB_NoStaleRead(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMariaDB(t, heldMariaDB)
	url := server.Database(t)
	conn := testbed.DialMariaDB(t, url)
	w := newMariaWorld(t, conn)
	s := newStandOver(t, testbed.OpenMariaDB(t, url), plan{Specs: worldSpecs(), Mode: source.FeedBinlog})
	ws := &mariaWriters{t: t, world: w, url: url}
	rs := newReaders(s, w)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for range 6 {
		ws.start(ctx, &wg, time.Millisecond)
	}
	ws.haunt(ctx, &wg)
	ws.bulk(ctx, &wg, time.Second)
	ws.own(ctx, &wg, s, 5*time.Millisecond)
	comes := rs.comesAndGoes(ctx, &wg, "side")
	rs.run(ctx, &wg, 8)
	testbed.Work(t, testbed.Length(time.Second/2), &rs.sampled, &rs.wire, &rs.hits, &ws.commits, &ws.through, &ws.held,
		&comes.added)
	cancel()
	wg.Wait()

	rs.finish()
	linear := rs.linearizable(t)
	swept, old := rs.sweep(t)
	reads, hits := rs.reads.Load(), rs.hits.Load()
	testbed.Figures(t, "%d reads (%d over the wire, %d with a token, %d of the database, %d checked "+
		"by porcupine), "+
		"hit ratio %.2f, %d flagged stale; %d commits, %d through hotrow and read back, "+
		"%d held invisible, %d rotations; unexplained %d; largest lag stated %v, "+
		"largest real age of a hit %v; sweep: %d hits of %d, %d stale; side was added %d times, "+
		"epoch %d", reads,
		rs.wire.Load(), rs.tokens.Load(), rs.direct.Load(), linear, float64(hits)/float64(reads),
		rs.stale.Load(), ws.commits.Load(), ws.through.Load(), ws.held.Load(),
		ws.rotations.Load(), len(rs.violations), time.Duration(rs.lag.Load()),
		time.Duration(rs.late.Load()).Round(time.Microsecond), swept, 2*len(rs.pages), old,
		comes.added.Load(), s.Stats().Epoch)
	if reads == 0 || rs.wire.Load() == 0 || hits == 0 || ws.commits.Load() == 0 || ws.through.Load() == 0 ||
		linear == 0 || ws.held.Load() == 0 {
		t.Error("a part of the test has done nothing")
	}
}
