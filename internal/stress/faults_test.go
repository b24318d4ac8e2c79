package stress

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A fault is something that happens to a feed. begin makes it happen and
// returns what ends it.
type fault struct {
	name  string
	begin func(p *patient) (end func())
	lasts func() time.Duration // 0: it is over as soon as it has happened
}

// A patient is what faults happen to.
type patient struct {
	t      testing.TB
	server *dbtest.Server
	conn   *pgx.Conn
	link   *link
}

func briefly() time.Duration { return time.Duration(500+rand.IntN(500)) * time.Millisecond }
func atOnce() time.Duration  { return 0 }

// faults are all that can happen. A slot is temporary: it goes with its
// connection, and cannot be dropped before.
var faults = []fault{
	{"killed", func(p *patient) func() {
		testbed.Number(p.t, p.conn, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_replication")
		return func() {}
	}, atOnce},
	{"frozen", func(p *patient) func() {
		pid := int(testbed.Number(p.t, p.conn, "SELECT coalesce(max(pid), 0) FROM pg_stat_replication"))
		if pid == 0 {
			return func() {}
		}
		p.server.Pause(pid)
		return func() { p.server.Resume(pid) }
	}, func() time.Duration { return time.Duration(500+rand.IntN(1500)) * time.Millisecond }},
	{"slot dropped", func(p *patient) func() {
		testbed.MustExec(p.t, p.conn, `DO $$ BEGIN
			PERFORM pg_terminate_backend(active_pid) FROM pg_replication_slots;
			FOR i IN 1..100 LOOP
				EXIT WHEN NOT EXISTS (SELECT FROM pg_replication_slots WHERE active);
				PERFORM pg_sleep(0.002);
			END LOOP;
			PERFORM pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active;
		EXCEPTION WHEN undefined_object OR object_in_use THEN NULL; END $$`)
		return func() {}
	}, atOnce},
	{"cut", func(p *patient) func() { p.link.cut(); return p.link.mend }, briefly},
	{"half open", func(p *patient) func() { p.link.swallow(); return p.link.spit }, briefly},
}

// outcome is what one kind of fault has done, at worst.
type outcome struct {
	times         int
	closed, fresh time.Duration // until the gate closed, from the fault's end until it was fresh
}

// inject makes faults happen in random turn until ctx ends, each after the feed
// has recovered from the one before, and each kind at least once.
func inject(ctx context.Context, p *patient, s *stand) map[string]*outcome {
	seen := make(map[string]*outcome)
	for n := 0; n < len(faults) || ctx.Err() == nil; {
		for _, i := range rand.Perm(len(faults)) {
			if n >= len(faults) && ctx.Err() != nil {
				break
			}
			n++
			f := faults[i]
			o := seen[f.name]
			if o == nil {
				o = new(outcome)
				seen[f.name] = o
			}
			o.times++
			closed, fresh := happen(p, s, &f)
			o.closed, o.fresh = max(o.closed, closed), max(o.fresh, fresh)
		}
	}
	return seen
}

// happen makes one fault happen and returns how long it took until the gate
// closed, or the feed began anew, and from its end until the feed was fresh.
func happen(p *patient, s *stand, f *fault) (closed, fresh time.Duration) {
	gaps, lasts := s.Stats().Gaps, f.lasts()
	begin := time.Now()
	end := f.begin(p)
	waittest.Until(p.t, "notice that the feed is "+f.name, func() bool {
		st := s.Stats()
		return st.Gaps > gaps || st.State != "fresh"
	})
	closed = time.Since(begin)
	testbed.Pause(context.Background(), lasts-time.Since(begin))
	over := time.Now()
	end()
	waittest.Until(p.t, "recovery of a feed that was "+f.name, func() bool {
		st := s.Stats()
		return st.State == "fresh" && st.Attached && (st.Gaps > gaps || f.name == "frozen")
	})
	fresh = time.Since(over)
	return closed, fresh
}

// Whatever happens to the feed, no answer is served as fresh that is older than
// the contract allows, and nothing that changed meanwhile stays in memory.
func TestStressPostgres_FeedFaults(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, testbed.Logical)
	url := server.Database(t)
	conn := testbed.Dial(t, url)
	w := newWorld(t, conn)
	p := &patient{t: t, server: server, conn: conn, link: newLink(t, url)}
	s := newStand(t, p.link.url, plan{Specs: worldSpecs(), Mode: source.FeedLogical})
	ws := &writers{t: t, world: w, url: url}
	rs := newReaders(s, w)
	rs.faults = true

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for _, mode := range []string{"off", "on", "on"} {
		ws.start(ctx, &wg, mode, writer{wait: 2 * time.Millisecond})
	}
	rs.run(ctx, &wg, 6)
	limit, stop := context.WithTimeout(ctx, testbed.Length(time.Second))
	defer stop()
	seen := inject(limit, p, s)
	testbed.Work(t, 0, &rs.stale, &rs.hits)
	cancel()
	wg.Wait()
	rs.finish()
	swept, old := rs.sweep(t)

	var parts []string
	for _, f := range faults {
		o := seen[f.name]
		parts = append(parts, fmt.Sprintf("%s x%d closed %v fresh %v", f.name, o.times,
			o.closed.Round(time.Millisecond), o.fresh.Round(time.Millisecond)))
		// The bound and the time that a busy machine takes to notice.
		if waittest.Late(o.closed-staleAfter, time.Second) {
			t.Errorf("%s: the gate closed after %v", f.name, o.closed)
		}
	}
	testbed.Figures(t, "%s; %d reads, %d hits, %d flagged stale, %d refused; %d commits; served as fresh "+
		"beyond the bound: %d; largest lag stated by a hit %v; sweep: %d hits of %d, %d stale",
		strings.Join(parts, ", "), rs.reads.Load(), rs.hits.Load(), rs.stale.Load(),
		rs.refused.Load(), ws.commits.Load(), len(rs.violations), time.Duration(rs.lag.Load()),
		swept, 2*len(rs.pages), old)
	if rs.stale.Load() == 0 || rs.hits.Load() == 0 {
		t.Error("a part of the test has done nothing")
	}
}
