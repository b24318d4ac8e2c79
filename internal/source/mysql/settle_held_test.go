package mysql

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sourcetest"
)

// hold begins a commit on a connection of its own that is written to the log and
// stays invisible. The function that it returns waits for its end.
func hold(t *testing.T, url string, statements ...string) (wait func()) {
	t.Helper()
	c := foreign(t, url)
	run(t, c, "SET GLOBAL rpl_semi_sync_master_enabled = OFF",
		"SET GLOBAL rpl_semi_sync_master_enabled = ON")
	done := make(chan error, 1)
	go func() {
		var err error
		for _, s := range statements {
			if err == nil {
				_, err = c.ExecContext(context.Background(), s)
			}
		}
		done <- err
	}()
	return func() {
		t.Helper()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// visible reports whether a new read sees v in row 1.
func (f *fixture) visible(v int64) bool {
	f.t.Helper()
	var n int64
	if err := f.conn.QueryRowContext(context.Background(), "SELECT v FROM t WHERE id = 1").
		Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	return n >= v
}

// proven waits until txs are settled, and fails if they are before row 1 has v.
// It returns whether it has seen the row old.
func (f *fixture) proven(txs []*source.Tx, v int64) (held bool) {
	f.t.Helper()
	await(f.t, "proof", func() bool {
		settled, err := f.feed.Settled(f.t.Context(), txs)
		if err != nil {
			f.t.Fatal(err)
		}
		now := f.visible(v) // after the proof: what is settled is there
		for _, ok := range settled {
			if !ok {
				held = held || !now
				return false
			}
		}
		if !now {
			f.t.Error("said to be visible, but a new read finds the row as it was")
		}
		return true
	})
	return held
}

// waiting are settings under which commits wait long enough to look at them.
var waiting = map[string]string{
	"rpl-semi-sync-master-wait-point": "AFTER_SYNC",
	"rpl-semi-sync-master-timeout":    "1500", // milliseconds
}

// A rotation makes the server write an event of its own a moment later, which
// moves the place of snapshots beyond transactions that are still invisible.
func TestMariaDB_SettleWaitsForHeldCommits(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMariaDB(t, waiting)
	url := server.Database(t)
	f := follow(t, url, []string{"CREATE TABLE t (id int PRIMARY KEY, v bigint)",
		"INSERT INTO t VALUES (1, 0)", "CREATE TABLE keyless (v bigint)",
		"CREATE TABLE named (id varchar(20) PRIMARY KEY)"}, "t id", "keyless v", "named id")
	for v, c := range []struct {
		before string
		first  []string
	}{
		{"SELECT 1", nil}, {"FLUSH BINARY LOGS", nil}, {"FLUSH BINARY LOGS", nil},
		{"FLUSH BINARY LOGS", one("INSERT INTO named VALUES ('Zürich')")},
		{"FLUSH BINARY LOGS", []string{"INSERT INTO named VALUES ('Bern')",
			"DELETE FROM named WHERE id = 'Bern'"}},
		{"FLUSH BINARY LOGS", one("UPDATE named SET id = CONCAT(id, '!')")},
	} {
		run(t, f.conn, "SET GLOBAL rpl_semi_sync_master_enabled = OFF",
			"INSERT INTO keyless VALUES (1)", c.before)
		wait := hold(t, url, slices.Concat(one("START TRANSACTION"), c.first,
			[]string{"UPDATE t SET v = v + 1 WHERE id = 1", "COMMIT"})...)
		f.rec.take()
		var txs []*source.Tx
		await(t, "delivery of the commit", func() bool {
			for _, tx := range f.rec.take() {
				if len(tx.Changes) > 0 && tx.Changes[len(tx.Changes)-1].Op == source.Update {
					txs = append(txs, tx)
				}
			}
			return len(txs) > 0
		})
		if !f.proven(txs, int64(v+1)) {
			t.Errorf("after %v: the commit was not held, so nothing was tested", c)
		}
		wait()
	}
}

// A feed that begins while a commit is held does not deliver it, and says that
// everything may have changed until it is visible.
func TestMariaDB_SettleWaitsForCommitsBeforeTheFeed(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMariaDB(t, map[string]string{
		"rpl-semi-sync-master-wait-point": "AFTER_SYNC",
		"rpl-semi-sync-master-timeout":    "6000", // milliseconds
	})
	url := server.Database(t)
	f := &fixture{t: t, src: openSource(t, url, Options{}), conn: foreign(t, url),
		rec: new(recorder)}
	run(t, f.conn, "CREATE TABLE t (id int PRIMARY KEY, v bigint)", "INSERT INTO t VALUES (1, 0)")
	wait := hold(t, url, "UPDATE t SET v = v + 1 WHERE id = 1")
	await(t, "the commit waits", func() bool {
		var state string
		err := f.conn.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM"+
			" information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for semi-sync%'").Scan(&state)
		return err == nil && state == "1"
	})
	if !f.proven(f.begin("t id"), 1) {
		t.Error("the commit was not held, so nothing was tested")
	}
	wait()
}

// Fences go on while commits wait, although the server does not say where its log
// ends: else all that is in memory would count as old.
func TestMariaDB_FeedFencesWhileCommitsWait(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMariaDB(t, waiting)
	url := server.Database(t)
	f := follow(t, url, []string{"CREATE TABLE t (id int PRIMARY KEY, v bigint)",
		"INSERT INTO t VALUES (1, 0), (2, 0)"}, "t id")
	wait := hold(t, url, "UPDATE t SET v = 1 WHERE id = 1")
	await(t, "delivery of the commit", func() bool { return len(f.rec.take()) > 0 })
	second := foreign(t, url)
	done := make(chan error, 1)
	go func() {
		_, err := second.ExecContext(context.Background(), "UPDATE t SET v = 1 WHERE id = 2")
		done <- err
	}()
	fenced := 0
	for !f.visible(1) {
		ctx, cancel := context.WithTimeout(t.Context(), feedTimeout)
		_, err := f.feed.Fence(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if !f.visible(1) {
			fenced++
		}
	}
	if fenced < 2 {
		t.Errorf("%d fences were reached while a commit waited", fenced)
	}
	wait()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// begin runs a feed for the rest of the test and returns the first transaction.
func (f *fixture) begin(tables ...string) []*source.Tx {
	f.t.Helper()
	feed, _, err := f.src.OpenFeed(f.t.Context(), source.FeedBinlog, followed(f.src, tables...))
	if err != nil {
		f.t.Fatal(err)
	}
	f.feed = feed
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = feed.Run(ctx, f.rec) // it ends with ctx
	}()
	f.t.Cleanup(func() { cancel(); <-done })
	var txs []*source.Tx
	await(f.t, "attach", func() bool {
		txs = f.rec.take()
		return len(txs) > 0
	})
	if !txs[0].All && !dbtest.IsMySQL() { // which delivers what was not visible at the beginning
		f.t.Fatalf("the feed begins with %s", sourcetest.Text(txs[0]))
	}
	return txs
}

// On a server where nothing happens the feed finds out by itself that nothing
// before its beginning is invisible.
func TestMariaDB_SettleNeedsNoWrites(t *testing.T) {
	server := dbtest.NewMariaDB(t, nil)
	url := server.Database(t)
	conn := foreign(t, url)
	statements := []string{"CREATE TABLE t (id int PRIMARY KEY, v bigint)",
		"INSERT INTO t VALUES (1, 0)", "FLUSH BINARY LOGS", "ALTER TABLE t ADD COLUMN w int",
		"XA START 'x'", "INSERT INTO t VALUES (2, 0, 0)", "XA END 'x'", "XA PREPARE 'x'",
		"XA COMMIT 'x'", "FLUSH BINARY LOGS", "CREATE TABLE u (id int PRIMARY KEY)"}
	for _, s := range statements {
		run(t, conn, s)
		if s[:2] == "XA" || s[:6] == "CREATE" && s[13] == 't' {
			continue // a session with a transaction in it
		}
		f := &fixture{t: t, src: openSource(t, url, Options{}), conn: conn, rec: new(recorder)}
		begin := time.Now()
		f.proven(f.begin("t id"), 0)
		t.Logf("after %s: %v", s, time.Since(begin))
	}
}
