package robust

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// primaryChanged: a replica of MariaDB or MySQL, which has all commits or lacks the last
// ones, takes the place of the primary, which is killed amid writes.
func primaryChanged(lead way, lost bool) func(t *testing.T) string {
	return func(t *testing.T) string {
		o := newOracle(t, 100)
		d := newMariaDB(t, o)
		replica := d.mariadb.Replica(t)
		d.mariadb.AwaitReplica(replica)
		primary, next := d.mariadb.Address(), replica.Address()
		x, token := d.servedBy(t, o, lead(t, d.url, primary, next))

		url := strings.Replace(d.url, primary, next, 1)
		d.query, d.exec = func(sql string) string { return dbtest.MariaDBShell(t, url, sql) },
			newMariaSession(t, url)
		figures := ""
		if lost {
			replica.StopReplication()
			x.more(t, "commits that are lost", &o.commits)
			x.more(t, "reads of them", &o.fresh)
			x.w.writers()
			n := o.forgive(values(t, d.query), time.Now().Add(patience)) // not as long as they are there
			if n == 0 {
				t.Error("no commit was lost: the row shows nothing")
			}
			figures = fmt.Sprintf("%d commits undone, ", n)
		} else {
			x.w.writers()
			d.mariadb.AwaitReplica(replica)
		}
		d.stop(dbtest.Immediate)
		o.goneSince(time.Now().Add(staleAfter))
		replica.Promote()
		opened := x.freshAgain(t)
		x.w.stop()
		x.w = d.work(o, x.p, 3)
		x.more(t, "commits on the next primary", &o.commits)
		x.more(t, "fresh answers", &o.fresh)
		x.keepsToHistory(t, token)
		if slowest := time.Duration(o.slowest.Load()); slowest > readLimit {
			t.Errorf("an answer after %v", slowest)
		}
		return fmt.Sprintf("%sfresh %v after the promotion, no answer took more than %v; %s", figures,
			ms(opened), ms(time.Duration(o.slowest.Load())), x.end(t))
	}
}

// freshAgain waits until an epoch has begun after the one that hotrow has started with, and
// returns how long that took.
func (x *served) freshAgain(t *testing.T) time.Duration {
	t.Helper()
	begin := time.Now()
	until(t, x.p.text, "another epoch", func() bool {
		return strings.Count(x.p.text(), "a new epoch") > 1 && x.p.ready()
	})
	return time.Since(begin)
}
