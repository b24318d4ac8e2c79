package mysql

import (
	"slices"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
)

// follows has the feed follow tables as it runs, and returns the transaction that stands for what
// it has passed over.
func (f *fixture) follows(tables ...string) []*source.Tx {
	f.t.Helper()
	if _, err := f.feed.Fence(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	before, err := f.feed.Follow(f.t.Context(), followed(f.src, tables...))
	if err != nil {
		f.t.Fatal(err)
	}
	return []*source.Tx{{ID: before, Tables: []string{f.src.cfg.DBName + ".t"}}}
}

// twoTables are what a feed may follow.
var twoTables = []string{"CREATE TABLE t (id int PRIMARY KEY, v bigint)",
	"INSERT INTO t VALUES (1, 0)", "CREATE TABLE u (id int PRIMARY KEY)"}

// What a feed has passed over of a table, before it follows that too, may not be visible yet. It
// says so.
func TestMariaDB_FollowWaitsForCommitsPassedOver(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMariaDB(t, map[string]string{
		"rpl-semi-sync-master-wait-point": "AFTER_SYNC",
		"rpl-semi-sync-master-timeout":    "6000", // milliseconds
	})
	url := server.Database(t)
	f := follow(t, url, twoTables, "u id")
	wait := hold(t, url, "UPDATE t SET v = v + 1 WHERE id = 1")
	await(t, "the commit waits", func() bool {
		var state string
		err := f.conn.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM"+
			" information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for semi-sync%'").Scan(&state)
		return err == nil && state == "1"
	})
	if !f.proven(f.follows("u id", "t id"), 1) {
		t.Error("the commit was not held, so nothing was tested")
	}
	wait()
}

// A transaction that was prepared when the feed did not follow a table has changed that when it is
// committed.
func TestMariaDB_FollowKnowsWhatWasPrepared(t *testing.T) {
	url := dbtest.MariaDB(t)
	f := follow(t, url, twoTables, "u id")
	run(t, f.conn, "XA START 'x'", "UPDATE t SET v = 5 WHERE id = 1", "INSERT INTO u VALUES (1)",
		"XA END 'x'", "XA PREPARE 'x'")
	f.follows("u id", "t id")
	f.rec.take()
	run(t, f.conn, "XA COMMIT 'x'")
	if _, err := f.feed.Fence(t.Context()); err != nil {
		t.Fatal(err)
	}
	table := f.src.cfg.DBName + ".t"
	if !slices.ContainsFunc(f.rec.take(), func(tx *source.Tx) bool {
		return slices.Contains(tx.Tables, table)
	}) {
		t.Error("what was prepared before is not told")
	}
}

// Definitions that change beside are those that rows are read by.
func TestMariaDB_FollowBesideChangesOfDefinitions(t *testing.T) {
	url := dbtest.MariaDB(t)
	f := follow(t, url, twoTables, "u id")
	other := foreign(t, url)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for range 400 { // a table keeps what it had, up to a thousand columns
			run(t, other, "ALTER TABLE t ADD COLUMN w tinyint FIRST", "UPDATE t SET v = v + 1",
				"ALTER TABLE t DROP COLUMN w", "UPDATE t SET v = v + 1")
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	for range 5 {
		f.follows("u id", "t id")
		f.follows("u id")
	}
	f.follows("u id", "t id")
	close(stop)
	<-ended
	if _, err := f.feed.Fence(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.rec.take()
	run(t, f.conn, "UPDATE t SET v = 77 WHERE id = 1")
	await(t, "the row is told", func() bool {
		return slices.ContainsFunc(f.rec.take(), func(tx *source.Tx) bool {
			return slices.Contains(tx.Tables, f.src.cfg.DBName+".t") || len(tx.Changes) == 1 &&
				tx.Changes[0].Table == f.src.cfg.DBName+".t" && tx.Changes[0].New[0].Text == "1"
		})
	})
}
