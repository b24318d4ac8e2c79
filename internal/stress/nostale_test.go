package stress

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// oldRows has the log tell the whole of the rows before a change.
const oldRows = `ALTER TABLE dept REPLICA IDENTITY FULL; ALTER TABLE emp REPLICA IDENTITY FULL;
	ALTER TABLE flat REPLICA IDENTITY FULL; ALTER TABLE side REPLICA IDENTITY FULL;
	ALTER TABLE bulk REPLICA IDENTITY FULL`

// feeds are the ways in which PostgreSQL tells of changed rows, and one of them
// with a memory that is too small, and a disk behind it.
var feeds = []struct {
	name, sql string
	mode      source.FeedMode
	disk      bool
}{
	{"identity=default", "", source.FeedLogical, false},
	{"identity=full", oldRows, source.FeedLogical, false},
	{"disk", oldRows, source.FeedLogical, true},
	{"feed=notify", "", source.FeedNotify, false},
}

// No read, of whatever kind and whatever writers do, is older than the contract
// allows, and when the writers stop nothing that memory holds is old.
func TestStressPostgres_NoStaleRead(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, testbed.Logical)
	for _, feed := range feeds {
		t.Run(feed.name, func(t *testing.T) {
			url := server.Database(t)
			conn := testbed.Dial(t, url)
			w := newWorld(t, conn)
			testbed.MustExec(t, conn, feed.sql)
			if feed.mode == source.FeedNotify {
				testbed.ApplyDoctor(t, url, worldSpecs())
			}
			p := plan{Specs: worldSpecs(), Mode: feed.mode, Disk: feed.disk}
			if feed.disk {
				p.Memory = 128 << 10
			}
			s := newStand(t, url, p)
			ws := &writers{t: t, world: w, url: url, hot: true}
			rs := newReaders(s, w)
			rs.hot = true

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var wg sync.WaitGroup
			for range 2 {
				ws.start(ctx, &wg, "off", writer{wait: time.Millisecond})
				ws.start(ctx, &wg, "local", writer{wait: time.Millisecond})
			}
			// A commit that notifies and is held keeps all others from committing.
			haunted := feed.mode == source.FeedLogical
			if haunted {
				for range 16 {
					ws.start(ctx, &wg, "on", writer{wait: 5 * time.Millisecond, held: true})
				}
				ws.haunt(ctx, &wg)
			}
			ws.bulk(ctx, &wg, time.Second)
			ws.own(ctx, &wg, s, 5*time.Millisecond)
			comes := rs.comesAndGoes(ctx, &wg, "side")
			rs.run(ctx, &wg, 8)
			// From here on: on a busy machine to connect may take as long as the rest.
			parts := []*atomic.Int64{&rs.sampled, &rs.wire, &rs.hits, &ws.commits, &ws.through,
				&comes.added}
			if haunted {
				parts = append(parts, &ws.held)
			}
			testbed.Work(t, testbed.Length(time.Second/2), parts...)
			// What keeps a load that a change has overtaken is seen by so many in nearly each run.
			waittest.Until(t, "many answers from memory", func() bool { return rs.hits.Load() >= 200 })
			if feed.disk {
				ws.breathe(ctx, &wg)
				waittest.Until(t, "something comes from the disk", func() bool { return s.Recalled() > 0 })
				testbed.Pause(ctx, testbed.Length(time.Second/2))
			}
			cancel()
			wg.Wait()

			rs.finish()
			linear := rs.linearizable(t)
			swept, old := rs.sweep(t)
			reads, hits := rs.reads.Load(), rs.hits.Load()
			testbed.Figures(t, "%d reads (%d over the wire, %d with a token, %d of the database, %d checked "+
				"by porcupine), "+
				"hit ratio %.2f, %d flagged stale; %d commits, %d through hotrow and read back, "+
				"%d held invisible, %d rolled back; unexplained %d; largest lag stated %v, "+
				"largest real age of a hit %v; sweep: %d hits of %d, %d stale; %d answers from disk; "+
				"side was added %d times, epoch %d", reads,
				rs.wire.Load(), rs.tokens.Load(), rs.direct.Load(), linear, float64(hits)/float64(reads),
				rs.stale.Load(), ws.commits.Load(), ws.through.Load(), ws.held.Load(),
				ws.rollbacks.Load(), len(rs.violations), time.Duration(rs.lag.Load()),
				time.Duration(rs.late.Load()).Round(time.Microsecond), swept, 2*len(rs.pages), old,
				s.Recalled(), comes.added.Load(), s.Stats().Epoch)
			if reads == 0 || rs.wire.Load() == 0 || hits == 0 || ws.commits.Load() == 0 ||
				ws.through.Load() == 0 || linear == 0 || haunted && ws.held.Load() == 0 ||
				feed.disk != (s.Recalled() > 0) {
				t.Error("a part of the test has done nothing")
			}
		})
	}
}
