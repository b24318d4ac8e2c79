package robust

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// served is a row's usual beginning: a database with the oracle's table, hotrow
// over it through a relay, ready, and readers and writers at work.
type served struct {
	o     *oracle
	d     *database
	relay *relay
	p     *program
	w     *load
}

func newServed(t *testing.T, d func(*oracle) *database, s setup) *served {
	o := newOracle(t, 100)
	x := &served{o: o, d: d(o)}
	x.relay, s.url = through(t, x.d.url)
	x.p = serve(t, x.d.config(s))
	x.p.awaitReady()
	x.w = x.d.work(o, x.p, 3)
	pause(t.Context(), 500*time.Millisecond) // of ordinary work
	return x
}

// end lets the load go on for a moment, ends it and compares all that is kept.
func (x *served) end(t *testing.T) string {
	t.Helper()
	x.p.awaitReady()
	pause(t.Context(), 300*time.Millisecond)
	x.w.stop()
	x.o.sweep(x.p, x.d.query)
	x.o.check()
	return x.o.figures()
}

// state waits until the feed's state is (or is not) fresh and returns how long
// that took.
func (x *served) state(t *testing.T, fresh bool) time.Duration {
	t.Helper()
	begin := time.Now()
	until(t, x.p.text, "the feed's state", func() bool { return x.p.ready() == fresh })
	return time.Since(begin)
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// more waits until a count has grown: what it counts goes on.
func (x *served) more(t *testing.T, what string, count *atomic.Int64) {
	t.Helper()
	before := count.Load()
	until(t, x.p.text, what, func() bool { return count.Load() >= before+20 })
}

// notice bounds how late a row may find the gate closed. That nothing of before
// counts as fresh for longer than the contract says is for the readers, whatever
// the machine does meanwhile; this is what tells a fence from a connection's own
// timeouts.
var notice = waittest.Limit(10 * time.Second)

// downAtStart: hotrow listens, is not ready, and becomes so by itself.
func downAtStart(t *testing.T) string {
	o := newOracle(t, 20)
	d := newPostgres(t, o, nil)
	d.stop(dbtest.Fast)
	p := serve(t, d.config(setup{}))
	code, _, _, err := fetch(client, "http://"+p.ops+"/livez")
	if err != nil || code != http.StatusOK || p.ready() {
		t.Errorf("without its database: /livez %d %v, ready %v", code, err, p.ready())
	}
	if code, _, body := p.get("/kv/1"); code != http.StatusServiceUnavailable {
		t.Errorf("GET: %d %s", code, body)
	}
	d.start()
	begin := time.Now()
	p.awaitReady()
	took := time.Since(begin)
	if n := strings.Count(p.text(), "\n"); n > 60 {
		t.Errorf("%d lines in the log", n)
	}
	w := d.work(o, p, 1)
	until(t, p.text, "answers", func() bool { return o.fresh.Load() >= 20 && o.commits.Load() >= 5 })
	w.stop()
	o.sweep(p, d.query)
	o.check()
	return fmt.Sprintf("503 meanwhile; ready %v after the database; %s", ms(took), o.figures())
}

// dies: hits go on, flagged, and fresh ones soon after the database is back.
func dies(db maker) func(t *testing.T) string {
	return func(t *testing.T) string {
		x := newServed(t, db(t), setup{})
		routines := x.p.metric("go_goroutines")
		x.d.stop(dbtest.Immediate)
		closed := x.state(t, false)
		x.more(t, "copies while the database is down", &x.o.flagged)
		pause(t.Context(), 2*time.Second)
		if n := x.p.metric("go_goroutines"); n > routines+50 {
			t.Errorf("%.0f goroutines, %.0f before", n, routines)
		}
		x.d.start()
		opened := x.state(t, true)
		return fmt.Sprintf("gate closed after %v, open %v after the database; %s", ms(closed),
			ms(opened), x.end(t))
	}
}

// hangs: the connections stay, and nothing comes.
func hangs(db maker) func(t *testing.T) string {
	return func(t *testing.T) string {
		x := newServed(t, db(t), setup{})
		x.relay.set(true, 0, false)
		closed := x.state(t, false)
		x.more(t, "copies while the database hangs", &x.o.flagged)
		pause(t.Context(), 2*time.Second)
		if closed > notice {
			t.Errorf("noticed after %v", closed)
		}
		x.relay.set(false, 0, false)
		opened := x.state(t, true)
		return fmt.Sprintf("gate closed after %v, open %v after the end; %s", ms(closed), ms(opened),
			x.end(t))
	}
}

// frozen: the processes of the server are stopped.
func frozen(db maker) func(t *testing.T) string {
	return func(t *testing.T) string {
		x := newServed(t, db(t), setup{})
		x.d.freeze()
		closed := x.state(t, false)
		x.more(t, "copies while the database is frozen", &x.o.flagged)
		pause(t.Context(), time.Second)
		x.d.thaw()
		opened := x.state(t, true)
		return fmt.Sprintf("gate closed after %v, open %v after the end; %s", ms(closed), ms(opened),
			x.end(t))
	}
}

// slow: every piece takes 20 ms more each way, and then 50 ms.
func slow(db maker) func(t *testing.T) string {
	return func(t *testing.T) string {
		x := newServed(t, db(t), setup{})
		for _, delay := range []time.Duration{20 * time.Millisecond, 50 * time.Millisecond} {
			x.relay.set(false, delay, false)
			x.more(t, "answers from a slow database", &x.o.reads)
			pause(t.Context(), 2*time.Second)
		}
		x.relay.set(false, 0, false)
		return x.end(t)
	}
}

// halfOpen: what was connected hears nothing any more, what connects anew does.
func halfOpen(db maker) func(t *testing.T) string {
	return func(t *testing.T) string {
		x := newServed(t, db(t), setup{})
		x.relay.set(true, 0, false)
		closed := x.state(t, false)
		if closed > notice {
			t.Errorf("noticed after %v", closed)
		}
		x.relay.forget()
		x.relay.set(false, 0, false)
		opened := x.state(t, true)
		return fmt.Sprintf("gate closed after %v, open %v after; %s", ms(closed), ms(opened), x.end(t))
	}
}

// senderFrozen: only the process that sends the log is stopped.
func senderFrozen(t *testing.T) string {
	x := newServed(t, pg(nil)(t), setup{})
	pids := x.d.postgres.PauseSenders()
	closed := x.state(t, false)
	pause(t.Context(), time.Second)
	x.d.postgres.Resume(pids...)
	opened := x.state(t, true)
	if closed > notice {
		t.Errorf("noticed after %v", closed)
	}
	return fmt.Sprintf("gate closed after %v, open %v after; %s", ms(closed), ms(opened), x.end(t))
}

// failover: the standby takes over behind the same address, with all commits or
// without the last ones.
func failover(lost bool) func(t *testing.T) string {
	return func(t *testing.T) string {
		x := newServed(t, pg(map[string]string{"wal_keep_size": "64MB"})(t),
			setup{disk: diskFile(t), slot: "hotrow_f"})
		standby := x.d.postgres.Standby(t, nil)
		pause(t.Context(), time.Second)
		if lost {
			// What is committed from here on never arrives. (To stop the standby would
			// not do: it finds in its socket what was sent meanwhile.)
			standby.Exec("ALTER SYSTEM SET primary_conninfo = ''")
			standby.Exec("SELECT pg_reload_conf()")
			until(t, x.p.text, "the end of replication", func() bool {
				return standby.Exec("SELECT count(*) FROM pg_stat_wal_receiver") == "0"
			})
			commits := x.o.commits.Load()
			until(t, x.p.text, "commits", func() bool { return x.o.commits.Load() >= commits+20 })
			x.more(t, "reads of them", &x.o.fresh)
			x.d.postgres.Kill(x.d.postgres.Pids()...)
		} else {
			x.w.stop() // so that the standby can have everything
			until(t, x.p.text, "the standby", func() bool {
				return x.d.postgres.Exec("SELECT count(*) FROM pg_stat_replication WHERE"+
					" application_name = 'walreceiver' AND replay_lsn = pg_current_wal_lsn()") == "1"
			})
			x.d.postgres.Kill(x.d.postgres.Pids()...)
		}
		x.relay.set(false, 0, true)
		standby.Promote()
		x.state(t, false)
		url := strings.Replace(x.d.url, x.d.postgres.Address(), standby.Address(), 1)
		x.d.query = func(sql string) string { return dbtest.Psql(t, url, sql) }
		figures := ""
		if lost {
			x.w.writers()
			n := x.o.forgive(values(t, x.d.query), time.Now())
			if n == 0 {
				t.Error("no commit was lost: the row shows nothing")
			}
			figures = fmt.Sprintf("%d commits undone, ", n)
		}
		x.relay.point(standby.Address())
		x.relay.set(false, 0, false)
		opened := x.state(t, true)
		x.w.stop()
		x.d.exec = newSession(t, url)
		x.w = x.d.work(x.o, x.p, 3)
		return fmt.Sprintf("%sfresh %v after the promotion; %s", figures, ms(opened), x.end(t))
	}
}

// values returns what the table has.
func values(t *testing.T, query func(sql string) string) map[int]int64 {
	t.Helper()
	has := make(map[int]int64)
	for line := range strings.SplitSeq(query("SELECT concat(id, ' ', v) FROM kv"), "\n") {
		var id int
		var v int64
		if _, err := fmt.Sscan(line, &id, &v); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		has[id] = v
	}
	return has
}

// slotDropped: somebody takes the slot away under load, and what is written until
// the feed is back is in no log for it.
func slotDropped(t *testing.T) string {
	x := newServed(t, pg(nil)(t), setup{disk: diskFile(t), slot: "hotrow_d"})
	for i := range 3 {
		gaps := x.p.metric("hotrow_feed_gaps_total")
		x.relay.set(false, 0, true) // so that the feed is not faster
		until(t, x.p.text, "the slot to be dropped", func() bool {
			_, err := x.d.postgres.TryExec("SELECT pg_terminate_backend(active_pid) FROM" +
				" pg_replication_slots WHERE active_pid IS NOT NULL;" +
				" SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
			return err == nil // also when an attempt that has failed late had dropped it
		})
		commits := x.o.commits.Load()
		until(t, x.p.text, "commits", func() bool { return x.o.commits.Load() >= commits+20 })
		x.relay.set(false, 0, false)
		until(t, x.p.text, "the feed to have a slot again", func() bool {
			n, err := x.d.postgres.TryExec("SELECT count(*) FROM pg_replication_slots WHERE active")
			return err == nil && strings.TrimSpace(n) == "1"
		})
		x.state(t, true)
		if x.p.metric("hotrow_feed_gaps_total") == gaps {
			t.Errorf("round %d: the slot was gone, and nothing was forgotten", i)
		}
	}
	return fmt.Sprintf("%.0f gaps; %s", x.p.metric("hotrow_feed_gaps_total"), x.end(t))
}

// ddl: the table is altered and rewritten under load, and emptied at last.
func ddl(db maker, more ...string) func(t *testing.T) string {
	return func(t *testing.T) string {
		x := newServed(t, db(t), setup{})
		for _, sql := range slices.Concat([]string{"ALTER TABLE kv ADD COLUMN extra int DEFAULT 7"},
			more, []string{"ALTER TABLE kv DROP COLUMN extra"}) {
			until(t, x.p.text, sql, func() bool { return x.d.exec(sql) == nil })
			pause(t.Context(), 300*time.Millisecond)
		}
		pause(t.Context(), 6*time.Second) // the bound within which a definition is noticed
		figures := x.end(t)
		until(t, x.p.text, "TRUNCATE", func() bool { return x.d.exec("TRUNCATE TABLE kv") == nil })
		pause(t.Context(), staleAfter)
		for k := range x.o.keys {
			path := fmt.Sprintf("/kv/%d", k+1)
			if code, status, body := x.p.fresh(path); code != http.StatusNotFound {
				t.Errorf("%s after TRUNCATE: %d %s (%s)", path, code, body, status)
			}
		}
		return figures
	}
}

// manyRows: one transaction changes every row of a large table.
func manyRows(t *testing.T) string {
	o := newOracle(t, 150_000)
	d := newPostgres(t, o, nil)
	p := serve(t, d.config(setup{}))
	p.awaitReady()
	w := d.work(o, p, 3)
	pause(t.Context(), time.Second)
	d.postgres.Exec("SELECT 1")
	dbtest.Psql(t, d.url, "UPDATE kv SET pad = 'y'")
	pause(t.Context(), time.Second)
	w.stop()
	rss := resident(t, p)
	if rss > 400<<20 {
		t.Errorf("%d MiB are resident", rss>>20)
	}
	o.check()
	return fmt.Sprintf("%d MiB resident; %s", rss>>20, o.figures())
}

// purged: the log that the feed needs is gone.
func purged(t *testing.T) string {
	x := newServed(t, maria(t), setup{disk: diskFile(t)})
	gaps := x.p.metric("hotrow_feed_gaps_total")
	x.relay.set(false, 0, true)
	for range 3 {
		x.d.mariadb.Exec("FLUSH BINARY LOGS")
		pause(t.Context(), 200*time.Millisecond)
	}
	until(t, x.p.text, "the log to be purged", func() bool { // not while it is still sent
		for id := range strings.FieldsSeq(x.d.mariadb.Exec("SELECT id FROM" +
			" information_schema.processlist WHERE command LIKE 'Binlog Dump%'")) {
			_, _ = x.d.mariadb.TryExec("KILL " + id) // it may have gone
		}
		x.d.mariadb.Exec("PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY")
		return strings.Count(x.d.mariadb.Exec("SHOW BINARY LOGS"), "\n") == 0
	})
	x.relay.set(false, 0, false)
	x.state(t, true)
	if x.p.metric("hotrow_feed_gaps_total") == gaps {
		t.Error("the log was gone, and nothing was forgotten")
	}
	x.w.stop()
	x.d.mariadb.Exec("RESET MASTER")
	x.w = x.d.work(x.o, x.p, 3)
	pause(t.Context(), time.Second)
	return fmt.Sprintf("%.0f gaps; %s", x.p.metric("hotrow_feed_gaps_total"), x.end(t))
}

// partition: of two nodes one does not reach the database.
func partition(t *testing.T) string {
	x := newServed(t, pg(nil)(t), setup{})
	other := serve(t, x.d.config(setup{}))
	other.awaitReady()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() { defer close(done); x.o.read(ctx, other) }()
	x.relay.set(true, 0, false)
	x.state(t, false)
	pause(t.Context(), time.Second)
	if !other.ready() {
		t.Error("the other node is not ready either")
	}
	x.relay.set(false, 0, false)
	x.state(t, true)
	cancel()
	<-done
	return x.end(t)
}
