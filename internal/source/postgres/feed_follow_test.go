package postgres

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
)

// following has the feed follow tables beside the test.
func (f *fixture) following(tables []source.Watched) (done chan *source.Tx) {
	done = make(chan *source.Tx, 1)
	go func() {
		before, err := f.feed.Follow(f.t.Context(), tables)
		if err != nil {
			f.t.Errorf("Follow: %v", err)
		}
		done <- &source.Tx{ID: before, Tables: []string{tables[0].Table}}
	}()
	return done
}

// A transaction that has changed a table before it was published, and goes on, is waited for; what
// it has changed is not told, or not all of it. What comes after it is.
func TestPostgres_FollowWaitsForWriters(t *testing.T) {
	f := follow(t, dbtest.Postgres(t), feedSchema, source.FeedLogical, feedTables[1:])
	open := feedConn(t, f.url)
	exec := func(sql string) {
		t.Helper()
		if _, err := open.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("BEGIN")
	exec("UPDATE dept SET loc = 'first' WHERE deptno = 10")
	done := f.following(feedTables)
	await(t, "publish the table", func() bool {
		var n int
		err := f.conn.QueryRow(t.Context(),
			"SELECT count(*) FROM pg_publication_tables WHERE tablename = 'dept'").Scan(&n)
		return err == nil && n == 1
	})
	exec("UPDATE dept SET loc = 'second' WHERE deptno = 10")
	for range 3 { // what others write meanwhile does not end the wait
		f.exec("UPDATE emp SET ename = 'X'", "UPDATE dept SET loc = 'other' WHERE deptno = 20")
		if _, err := f.feed.Fence(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-done:
		t.Fatal("the table is followed while a transaction goes on that had changed it before")
	default:
	}
	exec("COMMIT")
	tx := <-done
	await(t, "settle", func() bool { return f.settled(tx) })
	f.exec("UPDATE dept SET loc = 'third' WHERE deptno = 10")
	f.rec.find(t, "tell what was written after", func(tx *source.Tx) bool {
		return len(tx.Changes) == 1 && tx.Changes[0].Table == "public.dept"
	})
}

// A commit that no read sees yet, and that the feed has passed over, is waited for.
func TestPostgres_FollowWaitsForCommitsPassedOver(t *testing.T) {
	s := logicalServer(t)
	f := follow(t, s.URL(), feedSchema+"; CREATE PUBLICATION hotrow FOR TABLE dept, emp",
		source.FeedLogical, feedTables[1:])
	f.exec("SET synchronous_commit = local")
	ghosts(t, s, "ghost")
	held := holding(t, s, "UPDATE dept SET loc = 'new' WHERE deptno = 10")
	done := f.following(feedTables)
	visible := func() bool {
		var loc string
		if err := f.conn.QueryRow(t.Context(), "SELECT loc FROM dept WHERE deptno = 10").
			Scan(&loc); err != nil {
			t.Fatal(err)
		}
		return loc == "new"
	}
	for range 5 {
		if _, err := f.feed.Fence(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case tx := <-done:
			if f.settled(tx) && !visible() {
				t.Fatal("settled while no read sees what was passed over")
			}
			done <- tx
		default:
		}
	}
	ghosts(t, s, "")
	<-held
	tx := <-done
	await(t, "settle", func() bool { return f.settled(tx) })
	if !visible() {
		t.Error("settled while no read sees what was passed over")
	}
}

// Triggers of others notify a channel for each table, which nobody listens to yet.
func TestPostgres_FollowOfOtherTriggersOpensTheFeedAgain(t *testing.T) {
	f := follow(t, dbtest.Postgres(t), feedSchema+seedTriggers, source.FeedNotify, feedTables[:1])
	_, err := f.feed.Follow(t.Context(), feedTables)
	if err == nil || !strings.Contains(err.Error(), source.ErrReopen.Error()) {
		t.Errorf("error %v, want %v", err, source.ErrReopen)
	}
}
