package robust

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
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

func pg(settings map[string]string) func(t *testing.T) func(*oracle) *database {
	return func(t *testing.T) func(*oracle) *database {
		return func(o *oracle) *database { return newPostgres(t, o, settings) }
	}
}

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
	pause(t.Context(), 200*time.Millisecond)
	w.stop()
	o.sweep(p, d.query)
	o.check()
	return fmt.Sprintf("503 meanwhile; ready %v after the database; %s", ms(took), o.figures())
}

// dies: hits go on, flagged, and fresh ones soon after the database is back.
func dies(db func(t *testing.T) func(*oracle) *database) func(t *testing.T) string {
	return func(t *testing.T) string {
		x := newServed(t, db(t), setup{})
		x.d.stop(dbtest.Immediate)
		closed := x.state(t, false)
		before := x.o.flagged.Load()
		pause(t.Context(), 2*time.Second)
		if x.o.flagged.Load() == before {
			t.Error("no copy is served while the database is down")
		}
		x.d.start()
		opened := x.state(t, true)
		return fmt.Sprintf("gate closed after %v, open %v after the database; %s", ms(closed),
			ms(opened), x.end(t))
	}
}

// hangs: the connections stay, and nothing comes.
func hangs(t *testing.T) string {
	x := newServed(t, pg(nil)(t), setup{})
	x.relay.set(true, 0, false)
	closed := x.state(t, false)
	pause(t.Context(), 2*time.Second)
	if limit := 2 * time.Second; closed > limit {
		t.Errorf("noticed after %v", closed)
	}
	x.relay.set(false, 0, false)
	opened := x.state(t, true)
	return fmt.Sprintf("gate closed after %v, open %v after the end; %s", ms(closed), ms(opened),
		x.end(t))
}

// frozen: the processes of the server are stopped.
func frozen(t *testing.T) string {
	x := newServed(t, pg(nil)(t), setup{})
	pids := x.d.postgres.Pids()
	x.d.postgres.Pause(pids...)
	closed := x.state(t, false)
	pause(t.Context(), time.Second)
	x.d.postgres.Resume(pids...)
	opened := x.state(t, true)
	return fmt.Sprintf("gate closed after %v, open %v after the end; %s", ms(closed), ms(opened),
		x.end(t))
}

// slow: every piece takes 20 ms more each way.
func slow(t *testing.T) string {
	x := newServed(t, pg(nil)(t), setup{})
	x.relay.set(false, 20*time.Millisecond, false)
	pause(t.Context(), 2*time.Second)
	x.relay.set(false, 0, false)
	return x.end(t)
}

// halfOpen: what was connected hears nothing any more, what connects anew does.
func halfOpen(t *testing.T) string {
	x := newServed(t, pg(nil)(t), setup{})
	x.relay.set(true, 0, false)
	closed := x.state(t, false)
	x.relay.hangUp()
	x.relay.set(false, 0, false)
	opened := x.state(t, true)
	return fmt.Sprintf("gate closed after %v, open %v after; %s", ms(closed), ms(opened), x.end(t))
}

// senderFrozen: only the process that sends the log is stopped.
func senderFrozen(t *testing.T) string {
	x := newServed(t, pg(nil)(t), setup{})
	pids := x.d.postgres.WalSenders()
	x.d.postgres.Pause(pids...)
	closed := x.state(t, false)
	pause(t.Context(), time.Second)
	x.d.postgres.Resume(pids...)
	opened := x.state(t, true)
	if closed > time.Second {
		t.Errorf("noticed after %v", closed)
	}
	return fmt.Sprintf("gate closed after %v, open %v after; %s", ms(closed), ms(opened), x.end(t))
}

// failover: the standby takes over behind the same address, with all commits or
// without the last ones.
func failover(lost bool) func(t *testing.T) string {
	return func(t *testing.T) string {
		x := newServed(t, pg(map[string]string{"wal_keep_size": "64MB"})(t),
			setup{disk: diskFile(t), feed: ", slot: hotrow_f"})
		standby := x.d.postgres.Standby(t)
		pause(t.Context(), time.Second)
		var since time.Time
		if lost {
			// What is committed from here on never arrives.
			pids := standby.Pids()
			since = time.Now()
			standby.Pause(pids...)
			pause(t.Context(), 500*time.Millisecond)
			x.d.postgres.Kill(x.d.postgres.Pids()...)
			standby.Resume(pids...)
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
		if lost {
			x.w.stop()
			x.o.forgive(since.Add(-50 * time.Millisecond))
		}
		url := strings.Replace(x.d.url, x.d.postgres.Address(), standby.Address(), 1)
		x.relay.point(standby.Address())
		x.relay.set(false, 0, false)
		opened := x.state(t, true)
		x.d.query = func(sql string) string { return dbtest.Psql(t, url, sql) }
		x.d.exec = newSession(t, url)
		x.w = x.d.work(x.o, x.p, 3)
		return fmt.Sprintf("fresh %v after the promotion; %s", ms(opened), x.end(t))
	}
}

// slotDropped: somebody takes the slot away under load.
func slotDropped(t *testing.T) string {
	x := newServed(t, pg(nil)(t), setup{disk: diskFile(t), feed: ", slot: hotrow_d"})
	for range 3 {
		x.d.postgres.Exec("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots" +
			" WHERE active_pid IS NOT NULL")
		_, err := x.d.postgres.TryExec("SELECT pg_drop_replication_slot('hotrow_d')")
		pause(t.Context(), 300*time.Millisecond)
		x.state(t, true)
		_ = err // the feed may have been faster, and be there again
	}
	return fmt.Sprintf("%.0f gaps; %s", x.p.metric("hotrow_feed_gaps_total"), x.end(t))
}

// ddl: the table is altered and rewritten under load.
func ddl(t *testing.T) string {
	x := newServed(t, pg(nil)(t), setup{})
	for _, sql := range []string{"ALTER TABLE kv ADD COLUMN extra int DEFAULT 7",
		"ALTER TABLE kv ALTER pad TYPE varchar(60)", "VACUUM FULL kv",
		"ALTER TABLE kv DROP COLUMN extra"} {
		until(t, x.p.text, sql, func() bool { return x.d.exec(sql) == nil })
		pause(t.Context(), 300*time.Millisecond)
	}
	pause(t.Context(), 6*time.Second) // the bound within which a definition is noticed
	return x.end(t)
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
	x := newServed(t, func(o *oracle) *database { return newMariaDB(t, o) },
		setup{disk: diskFile(t)})
	x.relay.set(false, 0, true)
	for range 3 {
		x.d.mariadb.Exec("FLUSH BINARY LOGS")
		pause(t.Context(), 200*time.Millisecond)
	}
	x.d.mariadb.Exec("PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY")
	x.relay.set(false, 0, false)
	x.state(t, true)
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
