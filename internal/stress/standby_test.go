package stress

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// standbyVersion is the first of PostgreSQL whose standbys send changes.
const standbyVersion = 16

// A pair is a primary and a standby of it that is followed and read.
type pair struct {
	t                testing.TB
	primary, standby *dbtest.Server
	url, reads       string
}

func newPair(t testing.TB) *pair {
	t.Helper()
	settings := maps.Clone(testbed.Logical)
	settings["wal_keep_size"] = "256MB"
	delete(settings, "shared_preload_libraries")
	p := &pair{t: t, primary: dbtest.NewPostgresSince(t, standbyVersion, settings)}
	p.url = p.primary.Database(t)
	p.standby = p.primary.Standby(t, map[string]string{"hot_standby_feedback": "on"})
	p.reads = strings.Replace(p.url, p.primary.Address(), p.standby.Address(), 1)
	return p
}

// open opens the primary, with reads of the standby.
func (p *pair) open(t testing.TB) source.Source {
	t.Helper()
	src, err := postgres.Open(t.Context(), p.url, postgres.Options{Reads: p.reads, Log: testbed.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	return src
}

// standbyFaults are what can happen to a standby that is read. Each returns what ends it.
var standbyFaults = []struct {
	name  string
	begin func(p *pair) (end func())
}{
	{"paused", func(p *pair) func() {
		p.standby.Exec("SELECT pg_wal_replay_pause()")
		return func() { p.standby.Exec("SELECT pg_wal_replay_resume()") }
	}},
	{"lagging", func(p *pair) func() {
		set := func(delay string) {
			p.standby.Exec("ALTER SYSTEM SET recovery_min_apply_delay = '" + delay + "'")
			p.standby.Exec("SELECT pg_reload_conf()")
		}
		set(fmt.Sprintf("%dms", 20+rand.IntN(400)))
		return func() { set("0") }
	}},
	{"frozen", func(p *pair) func() {
		pids := p.standby.Pids()
		p.standby.Pause(pids...)
		return func() { p.standby.Resume(pids...) }
	}},
	{"restarted", func(p *pair) func() {
		p.standby.Stop(dbtest.Fast)
		return p.standby.Start
	}},
	{"crashed", func(p *pair) func() {
		p.standby.Stop(dbtest.Immediate)
		return p.standby.Start
	}},
	{"feed killed", func(p *pair) func() {
		p.standby.Exec("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_replication")
		return func() {}
	}},
	{"reads killed", func(p *pair) func() {
		p.standby.Exec("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity" +
			" WHERE application_name = 'hotrow'")
		return func() {}
	}},
	{"cut off", func(p *pair) func() {
		p.primary.Exec("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_replication")
		return func() {}
	}},
}

// A standby that is read answers as the primary would, whatever happens to it: no read is
// older than the contract allows, what was written through hotrow is read back, and
// nothing that memory holds at the end is old.
func TestStressPostgres_Standby(t *testing.T) {
	t.Parallel() // it waits, most of the time
	p := newPair(t)
	w := newWorld(t, testbed.Dial(t, p.url))
	src := p.open(t)
	s := newStandOver(t, src, plan{Specs: worldSpecs(), Mode: source.FeedLogical,
		Change: func(o *resource.SourceOptions) { o.Audit = 10 }})
	ws := &writers{t: t, world: w, url: p.url}
	rs := newReaders(s, w)
	rs.faults, rs.replica = true, true

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for _, mode := range []string{"off", "on", "on"} {
		ws.start(ctx, &wg, mode, writer{wait: 2 * time.Millisecond})
	}
	for range 4 {
		ws.start(ctx, &wg, "on", writer{wait: 5 * time.Millisecond, held: true})
	}
	ws.haunt(ctx, &wg)
	ws.own(ctx, &wg, s, 5*time.Millisecond)
	rs.run(ctx, &wg, 6)
	testbed.Pause(ctx, testbed.Length(2*time.Second)/2)
	times := 0
	for end := time.Now().Add(testbed.Length(2*time.Second) / 2); times == 0 || time.Now().Before(end); times++ {
		for _, i := range rand.Perm(len(standbyFaults)) {
			f := standbyFaults[i]
			begun := time.Now()
			end := f.begin(p)
			testbed.Pause(ctx, time.Duration(100+rand.IntN(900))*time.Millisecond)
			end()
			waittest.Until(t, "recovery of a standby that was "+f.name, func() bool {
				st := s.Stats()
				return st.State == "fresh" && st.Attached
			})
			if took := time.Since(begun); testing.Verbose() {
				t.Logf("%s: %v until fresh", f.name, took.Round(time.Millisecond))
			}
		}
	}
	testbed.Work(t, 0, &rs.hits, &ws.through)
	cancel()
	wg.Wait()
	rs.finish()
	linear := rs.linearizable(t)
	swept, old := rs.sweep(t)
	elsewhere := src.(source.Replicated).Elsewhere()
	testbed.Figures(t, "%d reads (%d of the database, %d with a token, %d checked by porcupine), %d hits, "+
		"%d flagged stale, %d refused; %d commits, %d through hotrow and read back, %d held "+
		"invisible; %d of each fault; unexplained %d; %d reads of the primary; sweep: %d hits "+
		"of %d, %d stale", rs.reads.Load(), rs.direct.Load(), rs.tokens.Load(), linear, rs.hits.Load(),
		rs.stale.Load(), rs.refused.Load(), ws.commits.Load(), ws.through.Load(), ws.held.Load(), times,
		len(rs.violations), elsewhere, swept, 2*len(rs.pages), old)
	if rs.hits.Load() == 0 || ws.through.Load() == 0 || elsewhere == 0 {
		t.Error("a part of the test has done nothing")
	}
}

// What no change stream tells is found on a standby as on a primary.
func TestPostgres_DefinitionsOfAStandby(t *testing.T) {
	t.Parallel() // it waits, most of the time
	p := newPair(t)
	conn := testbed.Dial(t, p.url)
	var list []redefinition
	var specs []resource.Spec
	for _, r := range redefinitions() {
		if r.only == "" || r.only == source.FeedLogical {
			testbed.MustExec(t, conn, r.setup)
			list, specs = append(list, r), append(specs, r.spec)
		}
	}
	s := newStandOver(t, p.open(t), plan{Specs: specs, Mode: source.FeedLogical})
	for _, r := range list {
		t.Run(r.name, func(t *testing.T) {
			s.redefine(t, r, func(sql string) { testbed.MustExec(t, conn, "BEGIN; "+sql+"; COMMIT") })
		})
	}
}
