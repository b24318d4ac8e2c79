package robust

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// standbyVersion is the first of PostgreSQL whose standbys send changes.
const standbyVersion = 16

// promotedReads: a standby that is followed and read is promoted, and written to by somebody
// else. While the primary lives, that is what answers, and nobody sees what the other server
// has. When it is gone, the standby is the primary, and hotrow finds it by the URL.
func promotedReads(alive bool) func(t *testing.T) string {
	return func(t *testing.T) string {
		o := newOracle(t, 100)
		d := newPostgresSince(t, o, standbyVersion, map[string]string{"wal_keep_size": "64MB"})
		standby := d.postgres.Standby(t, map[string]string{"hot_standby_feedback": "on"})
		primary, next := d.postgres.Address(), standby.Address()
		url := d.url
		if !alive {
			url = severalHosts(t, d.url, primary, next)
		}
		x := &served{o: o, d: d}
		x.p = serve(t, d.config(setup{url: url,
			source: fmt.Sprintf("    reads: %q\n", strings.Replace(d.url, primary, next, 1))}))
		x.p.awaitReady()
		x.w = d.work(o, x.p, 3)
		x.more(t, "fresh answers", &o.fresh)
		_, _, token, _ := x.p.ask("/kv/1", "")
		if alive {
			standby.Promote()
			dbtest.Psql(t, strings.Replace(d.url, primary, next, 1), "UPDATE kv SET v = -1")
			until(t, x.p.text, "a word about the standby", func() bool {
				return strings.Contains(x.p.text(), "url to another one") && !x.p.ready()
			})
			x.more(t, "commits on the primary", &o.commits)
			for k := 1; k <= 20; k++ { // with a token: a flagged copy is no answer
				least := o.least(k, time.Now())
				code, v, _, took := x.p.ask(fmt.Sprintf("/kv/%d", k), token)
				if code != http.StatusOK || v < least || took > readLimit {
					t.Errorf("key %d: %d, %d (at least %d) after %v", k, code, v, least, took)
				}
			}
			x.w.stop()
			o.check()
			return "the primary answers; " + o.figures()
		}
		x.haveAll(t, 1)
		d.stop(dbtest.Immediate)
		standby.Promote()
		return x.onNext(t, strings.Replace(d.url, primary, next, 1), token)
	}
}

// readFollowsNext: of two standbys one is followed and read, and the other is promoted when
// the primary is gone. The one that is read replays its log from then on, and is read again.
func readFollowsNext(t *testing.T) string {
	o := newOracle(t, 100)
	d := newPostgresSince(t, o, standbyVersion, map[string]string{"wal_keep_size": "64MB"})
	read := d.postgres.Standby(t, map[string]string{"hot_standby_feedback": "on"})
	third := d.postgres.Standby(t, nil)
	primary, next := d.postgres.Address(), third.Address()
	x := &served{o: o, d: d}
	x.p = serve(t, d.config(setup{url: severalHosts(t, d.url, primary, next),
		source: fmt.Sprintf("    reads: %q\n", strings.Replace(d.url, primary, read.Address(), 1))}))
	x.p.awaitReady()
	x.w = d.work(o, x.p, 3)
	x.more(t, "fresh answers", &o.fresh)
	_, _, token, _ := x.p.ask("/kv/1", "")
	x.haveAll(t, 2)
	d.stop(dbtest.Immediate)
	third.Promote()
	pause(t.Context(), 300*time.Millisecond) // nobody replays the next log yet
	read.Follow(third)
	said := x.onNext(t, strings.Replace(d.url, primary, next, 1), token)
	if n := read.Exec("SELECT count(*) FROM pg_replication_slots WHERE active"); n != "1" {
		t.Errorf("%s feeds follow the standby, want 1", n)
	}
	return said
}

// haveAll stops the writers, and waits until so many standbys have all that they wrote.
func (x *served) haveAll(t *testing.T, standbys int) {
	t.Helper()
	x.w.writers()
	until(t, x.p.text, "the standbys", func() bool {
		n := x.d.postgres.Exec("SELECT count(*) FROM pg_stat_replication WHERE" +
			" application_name = 'walreceiver' AND replay_lsn = pg_current_wal_lsn()")
		return n == strconv.Itoa(standbys)
	})
}

// onNext writes to the next primary, which has been promoted, and wants fresh answers of it.
func (x *served) onNext(t *testing.T, url, token string) string {
	t.Helper()
	opened := x.freshAgain(t)
	x.w.stop()
	x.d.query = func(sql string) string { return dbtest.Psql(t, url, sql) }
	x.d.exec = newSession(t, url)
	x.w = x.d.work(x.o, x.p, 3)
	x.more(t, "commits on the next primary", &x.o.commits)
	x.keepsToHistory(t, token)
	x.state(t, true)
	x.more(t, "fresh answers", &x.o.fresh)
	return fmt.Sprintf("fresh %v after the promotion; %s", ms(opened), x.end(t))
}
