package mysql

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/binlog"
)

// flatSchema is one table.
var flatSchema = []string{"CREATE TABLE t (id int PRIMARY KEY, v bigint)",
	"INSERT INTO t VALUES (1, 0)"}

// count is a statement that changes row 1, and what the feed tells of it.
const (
	countUp   = "UPDATE t SET v = v + 1 WHERE id = 1"
	countedUp = "t U (id=1)->(id=1)"
)

// newProxy puts a proxy in front of the server and returns the URL through it.
func newProxy(t *testing.T, to string) (*toxiproxy.Proxy, string) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	var empty toxiproxy.ApiServer
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zeroOf(empty.Logger))
	p := toxiproxy.NewProxy(server, "link", "127.0.0.1:0", u.Host)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	u.Host = p.Listen
	return p, u.String()
}

// zeroOf returns the zero value of what p points to: a logger that is silent.
func zeroOf[T any](*T) (zero T) { return zero }

// A connection that breaks is made again from where it was: what happened
// meanwhile is delivered, and nothing that was cached has to go.
func TestMariaDB_FeedGoesOnAfterACut(t *testing.T) {
	direct := dbtest.MariaDB(t)
	proxy, through := newProxy(t, direct)
	f := follow(t, through, flatSchema, "t id")
	conn := foreign(t, direct)
	for range 3 {
		proxy.Stop()
		run(t, conn, countUp, "FLUSH BINARY LOGS", countUp)
		if err := proxy.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "the feed goes on", f.tryFence)
		if got := f.fence(); !slices.Equal(got, []string{countedUp, countedUp}) {
			t.Errorf("the feed tells %q, want what happened while it was cut off", got)
		}
	}
	if n := f.rec.epochs(); n != 1 {
		t.Errorf("%d epochs, want that of the beginning only", n)
	}
}

// A network that takes everything and brings nothing is no feed.
func TestMariaDB_FeedNoticesSilence(t *testing.T) {
	direct := dbtest.MariaDB(t)
	proxy, through := newProxy(t, direct)
	f := follow(t, through, flatSchema, "t id")
	for _, stream := range []string{"upstream", "downstream"} {
		if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(`{"name": "` + stream +
			`", "type": "timeout", "stream": "` + stream + `", "attributes": {"timeout": 0}}`)); err != nil {
			t.Fatal(err)
		}
	}
	run(t, foreign(t, direct), countUp)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if pos, err := f.feed.Fence(ctx); err == nil {
		t.Errorf("a fence was reached, at %d, over a network that brings nothing", pos)
	}
	proxy.Toxics.ResetToxics(context.Background())
	await(t, "the feed goes on", f.tryFence)
	if got := strings.Join(f.fence(), " "); !strings.Contains(got, countedUp) &&
		!strings.Contains(got, "all") && f.rec.epochs() < 2 {
		t.Errorf("the feed tells %q, want the change or everything", got)
	}
}

// A server that is killed and started again has the same history.
func TestMariaDB_FeedGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMariaDB(t, nil)
	at := server.Database(t)
	f := follow(t, at, flatSchema, "t id")
	for _, mode := range []dbtest.StopMode{dbtest.Immediate, dbtest.Fast} {
		run(t, foreign(t, at), countUp)
		server.Stop(mode)
		if f.tryFence() {
			t.Error("a fence was reached without a server")
		}
		server.Start()
		f.conn = foreign(t, at)
		run(t, f.conn, countUp)
		await(t, "the feed goes on", f.tryFence)
		got := strings.Join(f.fence(), " ")
		if n := strings.Count(got, countedUp); n != 2 && !strings.Contains(got, "all") {
			t.Errorf("after stopping (%v) the feed tells %q, want both changes or everything", mode, got)
		}
	}
	if n := f.rec.epochs(); n != 1 {
		t.Errorf("%d epochs, want that of the beginning only", n)
	}
}

// No fence is reached while the server is frozen, and all are when it goes on.
func TestMariaDB_FeedNoticesAFrozenServer(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMariaDB(t, nil)
	f := follow(t, server.Database(t), flatSchema, "t id")
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := f.feed.Fence(ctx); err == nil {
		t.Error("a fence was reached while the server was frozen")
	}
	server.Resume()
	await(t, "the feed goes on", f.tryFence)
	f.want([]string{countUp}, countedUp)
}

// When the log is gone from where the feed was, everything may have changed.
func TestMariaDB_FeedBeginsAnewWithoutItsLog(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMariaDB(t, nil)
	direct := server.Database(t)
	proxy, through := newProxy(t, direct)
	f := follow(t, through, flatSchema, "t id")
	conn := foreign(t, direct)
	was := fmt.Sprintf("binlog.%06d", f.feed.Stats().Position>>binlog.OffsetBits)
	proxy.Stop()
	run(t, conn, countUp, "FLUSH BINARY LOGS")
	await(t, "the log is gone", func() bool { // which the storage engine keeps for a moment
		run(t, conn, "PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY", countUp)
		return !strings.Contains(dbtest.MariaDBShell(t, direct, "SHOW BINARY LOGS"), was)
	})
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the feed begins anew", func() bool { return f.rec.epochs() == 2 && f.tryFence() })
	f.rec.take()
	f.conn = conn
	f.want([]string{countUp}, countedUp)
}

// Rotation loses nothing, whatever is written meanwhile.
func TestMariaDB_FeedFollowsRotation(t *testing.T) {
	server := dbtest.NewMariaDB(t, map[string]string{"max-binlog-size": "4096"})
	at := server.Database(t)
	f := follow(t, at, flatSchema, "t id")
	const writers, each = 4, 150
	done := make(chan struct{})
	for range writers {
		c := foreign(t, at)
		go func() {
			defer func() { done <- struct{}{} }()
			for range each {
				if _, err := c.ExecContext(context.Background(), countUp); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	for range 20 {
		run(t, f.conn, "FLUSH BINARY LOGS")
	}
	for range writers {
		<-done
	}
	if n := strings.Count(strings.Join(f.fence(), ";"), countedUp); n != writers*each {
		t.Errorf("the feed tells of %d changes of %d", n, writers*each)
	}
}

// What stands against a feed is said before one is opened.
func TestMariaDB_FeedSaysWhyThereIsNone(t *testing.T) {
	server := dbtest.NewMariaDB(t, map[string]string{"skip-log-bin": ""})
	src := openSource(t, server.Database(t), Options{})
	mustExec(t, src, flatSchema...)
	tables := followed(src, "t id")
	feed, why, err := src.OpenFeed(t.Context(), source.FeedAuto, tables)
	if feed != nil || err != nil || !strings.Contains(why, "log_bin") {
		t.Errorf("OpenFeed(auto) = %v, %q, %v, want no feed and the setting", feed, why, err)
	}
	if _, _, err = src.OpenFeed(t.Context(), source.FeedBinlog, tables); err == nil ||
		!strings.Contains(err.Error(), "log_bin") {
		t.Errorf("OpenFeed(binlog): %v, want the setting", err)
	}
	if _, _, err = src.OpenFeed(t.Context(), source.FeedLogical, tables); err == nil {
		t.Error("a feed of another database was opened")
	}
	if feed, _, err = src.OpenFeed(t.Context(), source.FeedNone, tables); feed != nil || err != nil {
		t.Errorf("OpenFeed(none) = %v, %v", feed, err)
	}
}

// A feed can be opened of the server that the URL leads to now, while loads are kept from it:
// they belong to the one that was followed before.
func TestMariaDB_FeedIsOpenedOfAnotherServer(t *testing.T) {
	src := openSource(t, dbtest.MariaDB(t), Options{})
	mustExec(t, src, flatSchema...)
	tables := followed(src, "t id")
	src.Pin("the primary of before")
	if _, err := src.Catalog(t.Context()); source.ClassOf(err) != source.Unavailable {
		t.Fatalf("a read of another server: %v", err)
	}
	feed, why, err := src.OpenFeed(t.Context(), source.FeedAuto, tables)
	if feed == nil || err != nil {
		t.Fatalf("OpenFeed(auto) = %v, %q, %v", feed, why, err)
	}
	if err := feed.Close(); err != nil {
		t.Error(err)
	}
}

// A user with no more than it needs can follow.
func TestMariaDB_FeedNeedsFewPrivileges(t *testing.T) {
	at := dbtest.MariaDB(t)
	run(t, foreign(t, at), append(flatSchema,
		"CREATE TABLE up (id int PRIMARY KEY)",
		"ALTER TABLE t ADD COLUMN up int, ADD FOREIGN KEY (up) REFERENCES up (id) ON DELETE SET NULL")...)
	name := "follower" + fmt.Sprint(time.Now().UnixNano()%1e6)
	u, _ := url.Parse(at)
	table := strings.TrimPrefix(u.Path, "/") + ".t"
	f := &fixture{t: t, conn: foreign(t, at), rec: new(recorder)}
	f.src = openSource(t, userOf(t, at, name, "REPLICATION SLAVE, BINLOG MONITOR ON *.*",
		"SELECT ON "+table), Options{})
	f.start("t id")
	f.want([]string{countUp}, countedUp)
	f.want([]string{"INSERT INTO up VALUES (1)"})
	f.want([]string{"DELETE FROM up"}, "t*") // which the user may not see
}
