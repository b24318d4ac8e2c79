package robust

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// readLimit bounds a read: what it may wait for a connection and for a statement, and what
// a busy machine takes.
var readLimit = waittest.Limit(10 * time.Second)

// A way is how the URL leads to the primary, whichever server that is.
type way func(t *testing.T, url, primary, standby string) (through string)

// severalHosts: the URL names both servers, the first primary first, and wants the one
// that can be written to.
func severalHosts(_ *testing.T, url, primary, standby string) string {
	return strings.Replace(url, primary, primary+","+standby, 1) +
		"&target_session_attrs=read-write"
}

// behindHAProxy: HAProxy leads to the first primary while that listens, to the standby
// else.
func behindHAProxy(t *testing.T, url, primary, standby string) string {
	addr := dbtest.HAProxy(t, func(addr string) string {
		return "defaults\n mode tcp\n timeout connect 1s\n timeout client 1h\n timeout server 1h\n" +
			" default-server check inter 100ms fall 2 rise 1 on-marked-down shutdown-sessions\n" +
			"listen database\n bind " + addr + "\n server first " + primary + "\n server second " +
			standby + " backup\n"
	})
	return strings.Replace(url, primary, addr, 1)
}

// promoted: the primary goes, the standby is promoted and written to. Then the first
// primary is back, as a machine that was started again, and takes whoever comes to it;
// hotrow loses its connections. Nobody gets what that one has.
//
// frozen: it hangs meanwhile, instead of being killed; back: there is no way but to it then.
func promoted(lead way, frozen, back bool) func(t *testing.T) string {
	return func(t *testing.T) string {
		o := newOracle(t, 100)
		d := newPostgres(t, o, map[string]string{"wal_keep_size": "64MB"})
		standby := d.postgres.Standby(t, nil)
		primary, next := d.postgres.Address(), standby.Address()
		x, token := d.servedBy(t, o, lead(t, d.url, primary, next))

		x.w.writers() // so that the standby can have everything
		until(t, x.p.text, "the standby", func() bool {
			return d.postgres.Exec("SELECT count(*) FROM pg_stat_replication WHERE"+
				" application_name = 'walreceiver' AND replay_lsn = pg_current_wal_lsn()") == "1"
		})
		goes, returns := func() { d.stop(dbtest.Immediate) }, d.start
		if frozen {
			goes, returns = d.freeze, d.thaw
		}
		goes()
		standby.Promote()
		opened := x.freshAgain(t) // the gate may have closed and opened before anybody looks
		x.w.stop()
		url := strings.Replace(d.url, primary, next, 1)
		d.query, d.exec = func(sql string) string { return dbtest.Psql(t, url, sql) }, newSession(t, url)
		x.w = d.work(o, x.p, 3)
		x.more(t, "commits on the next primary", &o.commits)
		x.keepsToHistory(t, token)

		returns()
		pause(t.Context(), 300*time.Millisecond) // HAProxy notices
		gaps := x.p.metric("hotrow_feed_gaps_total")
		standby.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity" +
			" WHERE application_name LIKE 'hotrow%'")
		until(t, x.p.text, "the feed to be lost", func() bool {
			return x.p.metric("hotrow_feed_gaps_total") > gaps || !x.p.ready()
		})
		if back {
			until(t, x.p.text, "a word about the first primary", func() bool {
				return strings.Contains(x.p.text(), "was the primary of before") && !x.p.ready()
			})
			x.more(t, "copies of before", &o.flagged)
			d.stop(dbtest.Immediate)
		}
		x.state(t, true)
		x.more(t, "fresh answers", &o.fresh)
		if slowest := time.Duration(o.slowest.Load()); slowest > readLimit {
			t.Errorf("an answer after %v", slowest)
		}
		return fmt.Sprintf("fresh %v after the promotion, no answer took more than %v; %s",
			ms(opened), ms(time.Duration(o.slowest.Load())), x.end(t))
	}
}

// servedBy serves a database by a URL that leads to it, under load, and returns the token of
// an answer.
func (d *database) servedBy(t *testing.T, o *oracle, url string) (x *served, token string) {
	t.Helper()
	x = &served{o: o, d: d}
	x.p = serve(t, d.config(setup{url: url, disk: diskFile(t)}))
	x.p.awaitReady()
	x.w = d.work(o, x.p, 3)
	x.more(t, "fresh answers", &o.fresh)
	_, _, token, _ = x.p.ask("/kv/1", "")
	return x, token
}

// keepsToHistory asks with a token of a history that has ended: the database answers, and
// nobody waits for what cannot come.
func (x *served) keepsToHistory(t *testing.T, token string) {
	t.Helper()
	const wish = 2 * time.Second
	best := wish
	for range 5 {
		least := x.o.least(1, time.Now())
		code, v, next, took := x.p.ask("/kv/1", token, "wait=2")
		if code != http.StatusOK || v < least || next == token {
			t.Errorf("token %s of before: %d, %d (at least %d), %s", token, code, v, least, next)
		}
		best = min(best, took)
	}
	if best >= wish {
		t.Errorf("token %s of before was waited for", token)
	}
}
