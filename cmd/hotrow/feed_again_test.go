package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// feedIs waits until a mode is in use, as the metrics, /-/feed and the log say.
func (r *running) feedIs(mode string) {
	r.t.Helper()
	deadline := waittest.Deadline(40 * time.Second)
	want := fmt.Sprintf("hotrow_feed_mode{mode=%q,source=\"main\"} 1\n", mode)
	for {
		_, metrics := get(r.t, r.ops+"/metrics")
		_, feeds := get(r.t, r.ops+"/-/feed")
		if strings.Contains(metrics, want) && strings.Contains(feeds, `"mode": "`+mode+`"`) &&
			strings.Contains(feeds, `"why": "`) {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("the feed is not %s: %s\n%s", mode, feeds, r.log)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestMariaDB_ServeFollowsOnceItMay: by a URL alone, whose user gets the right to follow the
// binary log while hotrow runs, and loses it again.
func TestMariaDB_ServeFollowsOnceItMay(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMariaDB(t, nil)
	url := server.Database(t)
	dbtest.MariaDBShell(t, url, mariadbSQL[:strings.Index(mariadbSQL, "CREATE TABLE thing")])
	server.Exec("CREATE USER app@'%' IDENTIFIED BY 'x'; GRANT SELECT ON *.* TO app@'%'")
	r := serve(t, strings.Replace(url, "root@", "app:x@", 1))
	r.feedIs("none")
	for again := range 2 {
		server.Exec("GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO app@'%'")
		r.feedIs("binlog")
		until(t, r.log, r.complete)
		r.hit("/emp/7839")
		dbtest.MariaDBShell(t, url, "UPDATE emp SET sal = sal + 1 WHERE empno = 7839")
		r.shows("/emp/7839", salary(t, url), showBound)
		if again == 1 {
			break
		}
		r.hit("/emp/7839")
		server.Exec("REVOKE REPLICATION SLAVE, REPLICATION CLIENT ON *.* FROM app@'%'")
		for id := range strings.FieldsSeq(server.Exec(
			"SELECT id FROM information_schema.processlist WHERE user = 'app'")) {
			_, _ = server.TryExec("KILL " + id)
		}
		r.feedIs("none")
		dbtest.MariaDBShell(t, url, "UPDATE emp SET sal = sal + 1 WHERE empno = 7839")
		a := r.get("/emp/7839")
		if !strings.Contains(a.body, salary(t, url)) ||
			!strings.Contains(a.header.Get("Cache-Status"), "fwd=bypass") {
			t.Errorf("without a feed: %v %s", a.header, a.body)
		}
	}
	for _, want := range []string{`msg="feed chosen"`, "feed=binlog", `msg="no feed: nothing is kept"`} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("no %s in the log:\n%s", want, r.log)
		}
	}
}

// salary returns what KING earns, as a part of the document.
func salary(t *testing.T, url string) string {
	return `"sal":` + strings.TrimSpace(dbtest.MariaDBShell(t, url, "SELECT sal FROM emp WHERE empno = 7839"))
}
