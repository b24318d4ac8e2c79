package stress

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestStressPostgres_AutoTakesTheBetterFeed: while readers and writers go on, the role is
// allowed to replicate and forbidden again. Each time another feed takes over, without a
// restart of anything and without an old answer.
func TestStressPostgres_AutoTakesTheBetterFeed(t *testing.T) {
	t.Parallel() // it waits for the most part
	server := dbtest.NewPostgres(t, testbed.Logical)
	url := server.Database(t)
	conn := testbed.Dial(t, url)
	w := newWorld(t, conn)
	testbed.ApplyDoctor(t, url, worldSpecs())
	testbed.MustExec(t, conn, "CREATE ROLE app LOGIN", "CREATE PUBLICATION hotrow FOR ALL TABLES",
		"GRANT ALL ON ALL TABLES IN SCHEMA public TO app",
		"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO app")
	s := newStand(t, strings.Replace(url, "postgres@", "app@", 1), plan{
		Specs: worldSpecs(), Mode: source.FeedAuto,
		Change: func(o *resource.SourceOptions) { o.LookBetter = 200 * time.Millisecond },
	})
	chosen := func(what string, mode source.FeedMode) {
		t.Helper()
		waittest.Until(t, what, func() bool {
			st := s.Stats()
			return st.Feed == mode && st.State == "fresh" && st.Attached
		})
	}
	ws := &writers{t: t, world: w, url: url}
	rs := newReaders(s, w)
	rs.faults = true
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for _, mode := range []string{"off", "local", "local"} {
		ws.start(ctx, &wg, mode, writer{wait: 2 * time.Millisecond})
	}
	ws.own(ctx, &wg, s, 5*time.Millisecond)
	rs.run(ctx, &wg, 6)
	chosen("what there is at the start", source.FeedNotify)
	rounds := 1
	if waittest.Long() {
		rounds = 2
	}
	for range rounds {
		testbed.MustExec(t, conn, "ALTER ROLE app REPLICATION")
		begun := time.Now()
		chosen("the better feed", source.FeedLogical)
		up := time.Since(begun)
		testbed.Pause(ctx, testbed.Length(time.Second))
		testbed.MustExec(t, conn, "ALTER ROLE app NOREPLICATION",
			"SELECT pg_terminate_backend(pid) FROM pg_stat_replication")
		begun = time.Now()
		chosen("the lesser feed", source.FeedNotify)
		testbed.Figures(t, "logical after %v, notify after %v", up.Round(time.Millisecond),
			time.Since(begun).Round(time.Millisecond))
		testbed.Work(t, testbed.Length(time.Second), &rs.hits, &ws.commits, &ws.through)
	}
	cancel()
	wg.Wait()
	rs.finish()
	swept, old := rs.sweep(t)
	testbed.Figures(t, "%d reads, %d hits, %d flagged stale, %d refused; %d commits, %d through hotrow; "+
		"unexplained %d; sweep: %d hits of %d, %d stale", rs.reads.Load(), rs.hits.Load(),
		rs.stale.Load(), rs.refused.Load(), ws.commits.Load(), ws.through.Load(),
		len(rs.violations), swept, 2*len(rs.pages), old)
	if rs.hits.Load() == 0 || ws.commits.Load() == 0 || ws.through.Load() == 0 {
		t.Error("a part of the test has done nothing")
	}
}

// TestPostgres_AutoKeepsAFeedThatWorks while a better one would have to wait for
// transactions that are open: nothing would be kept until they have ended.
func TestPostgres_AutoKeepsAFeedThatWorks(t *testing.T) {
	t.Parallel() // it waits for the most part
	server := dbtest.NewPostgres(t, testbed.Logical)
	url := server.Database(t)
	conn := testbed.Dial(t, url)
	testbed.MustExec(t, conn, swapTable)
	specs := []resource.Spec{testbed.Spec("swap")}
	doctored(t, url, specs)
	testbed.MustExec(t, conn, "CREATE ROLE app LOGIN", "CREATE PUBLICATION hotrow FOR ALL TABLES",
		"GRANT ALL ON swap TO app")
	s := newStand(t, strings.Replace(url, "postgres@", "app@", 1), plan{
		Specs: specs, Mode: source.FeedAuto,
		Change: func(o *resource.SourceOptions) { o.LookBetter = 100 * time.Millisecond },
	})
	long := testbed.Dial(t, url)
	testbed.MustExec(t, long, "BEGIN", "INSERT INTO swap VALUES (9, 109, 0)")
	epoch := s.Stats().Epoch
	testbed.MustExec(t, conn, "ALTER ROLE app REPLICATION")
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); testbed.Pause(t.Context(), 5*time.Millisecond) {
		if st := s.Stats(); st.Feed != source.FeedNotify || st.Epoch != epoch {
			t.Fatalf("while a transaction is open: %+v", st)
		}
	}
	s.follows(url)
	if n := testbed.Number(t, conn, "SELECT count(*) FROM pg_replication_slots"); n != 0 {
		t.Errorf("%d slots were left behind by trying", n)
	}
	testbed.MustExec(t, long, "COMMIT")
	waittest.Until(t, "the better feed", func() bool {
		st := s.Stats()
		return st.Feed == source.FeedLogical && st.State == "fresh"
	})
	s.follows(url)
	testbed.MustExec(t, conn, "DROP PUBLICATION hotrow") // which the role may not make again
	waittest.Until(t, "the lesser feed", func() bool {
		st := s.Stats()
		return st.Feed == source.FeedNotify && st.State == "fresh"
	})
	s.follows(url)
}
