package robust

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Commits that the feed has told and that nobody sees yet: with them a reader that
// takes a change for visible keeps the old value for ever.

// crowd has more writers at work, each by a session of its own, since each commit
// takes long now. The function that it returns ends them.
func (x *served) crowd(t *testing.T, session func() func(sql string) error) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 8 {
		exec := session()
		wg.Go(func() { x.o.write(ctx, exec, time.Millisecond) })
	}
	end = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(end)
	return end
}

// held waits until a change is delivered and stays invisible, and until answers
// count as fresh meanwhile.
func (x *served) held(t *testing.T) {
	t.Helper()
	until(t, x.p.text, "a change that is delivered and not visible", func() bool {
		return x.p.metric("hotrow_unsettled_oldest_seconds") > 0.1
	})
	x.more(t, "fresh answers while commits are held", &x.o.fresh)
}

// heldCommits: commits wait for a standby that is not there.
func heldCommits(t *testing.T) string {
	x := newServed(t, pg(nil)(t), setup{})
	end := x.crowd(t, func() func(string) error { return newSession(t, x.d.url) })
	for range 3 {
		x.d.postgres.Exec("ALTER SYSTEM SET synchronous_standby_names = 'ghost'")
		x.d.postgres.Exec("SELECT pg_reload_conf()")
		x.held(t)
		x.d.postgres.Exec("ALTER SYSTEM RESET synchronous_standby_names")
		x.d.postgres.Exec("SELECT pg_reload_conf()")
		pause(t.Context(), 300*time.Millisecond)
	}
	end()
	return x.end(t)
}

// heldMariaDBCommits: the same, with the log written before (AFTER_SYNC).
func heldMariaDBCommits(t *testing.T) string {
	x := newServed(t, maria(t), setup{})
	x.d.mariadb.Exec("SET GLOBAL rpl_semi_sync_master_wait_point = 'AFTER_SYNC'")
	x.d.mariadb.Exec("SET GLOBAL rpl_semi_sync_master_timeout = 2000")
	end := x.crowd(t, func() func(string) error { return newMariaSession(t, x.d.url) })
	for range 3 {
		x.d.mariadb.Exec("SET GLOBAL rpl_semi_sync_master_enabled = OFF")
		x.d.mariadb.Exec("SET GLOBAL rpl_semi_sync_master_enabled = ON")
		x.held(t)
	}
	x.d.mariadb.Exec("SET GLOBAL rpl_semi_sync_master_enabled = OFF")
	end()
	return x.end(t)
}

// listenerCut: the feed by NOTIFY is cut off again and again, and what is notified
// meanwhile is gone.
func listenerCut(t *testing.T) string {
	db := func(o *oracle) *database {
		d := newPostgres(t, o, nil)
		out, err := exec.CommandContext(t.Context(), binary, "doctor", "--feed", "notify", "--apply",
			d.url).CombinedOutput()
		if err != nil {
			t.Fatalf("doctor --apply: %v\n%s", err, out)
		}
		return d
	}
	x := newServed(t, db, setup{mode: "notify"})
	for i := range 6 {
		attached := strings.Count(x.p.text(), "feed attached")
		commits := x.o.commits.Load()
		if i%2 == 0 {
			x.relay.set(false, 0, true)
			until(t, x.p.text, "commits", func() bool { return x.o.commits.Load() >= commits+20 })
			x.relay.set(false, 0, false)
		} else { // by the server
			x.d.postgres.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE" +
				" query ILIKE 'listen%'")
		}
		until(t, x.p.text, "the feed anew", func() bool {
			return strings.Count(x.p.text(), "feed attached") > attached
		})
		x.state(t, true)
		if gaps := x.p.metric("hotrow_feed_gaps_total"); gaps < float64(i+1) {
			t.Errorf("%.0f gaps after %d cuts", gaps, i+1)
		}
	}
	return fmt.Sprintf("%.0f gaps; %s", x.p.metric("hotrow_feed_gaps_total"), x.end(t))
}
