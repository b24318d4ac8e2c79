package clicks

import (
	"context"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

// away: while the database is away clicks are taken, counted and shown; all of
// them arrive when it is back.
func away(t *testing.T, b *bed, stop, start func()) {
	b.start()
	for i := range 300 {
		b.append(visit(1, i*4))
	}
	b.drained()
	stop()
	for i := range 2000 {
		b.append(visit(2, i*4))
	}
	waitFor(t, "the drainer says that the database is away", func() bool { return b.d.Stats().Away })
	waitFor(t, "the tail has what was clicked meanwhile", func() bool {
		c, _ := b.d.Tail(2)
		return c.Clicks == 2000
	})
	start()
	b.drained()
	b.consistent()
	b.want("SELECT clicks FROM link_stats WHERE link_id = 2", "2000")
	if c, _ := b.d.Tail(2); c.Clicks != 0 {
		t.Errorf("the tail still has %v", c)
	}
	waitFor(t, "the drainer says that the database is back", func() bool { return !b.d.Stats().Away })
}

func TestPostgres_AwayAndBack(t *testing.T) {
	server := dbtest.NewPostgres(t, nil)
	b := newBedAt(t, "postgres", server.Database(t), Options{})
	away(t, b, func() { server.Stop(dbtest.Immediate) }, server.Start)
}

func TestMariaDB_AwayAndBack(t *testing.T) {
	server := dbtest.NewMariaDB(t, nil)
	b := newBedAt(t, "mariadb", server.Database(t), Options{})
	away(t, b, func() { server.Stop(dbtest.Immediate) }, server.Start)
}

// TestSQLite_LockedAndFree: another program holds the file's only lock.
func TestSQLite_LockedAndFree(t *testing.T) {
	b := newBed(t, "sqlite", Options{})
	other, err := openURL(t.Context(), "sqlite", b.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
	free, held, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	away(t, b, func() {
		go func() {
			_, err := other.Tx(context.WithoutCancel(t.Context()), func(tx source.StoreTx) error {
				_, err := tx.Exec(t.Context(), "DELETE FROM link_users")
				close(held)
				<-free
				return err
			})
			ended <- err
		}()
		<-held
	}, func() {
		close(free)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestLive_FollowsAndResumes: a follower that comes back with its token misses
// nothing and gets nothing twice.
func TestLive_FollowsAndResumes(t *testing.T) {
	b := newBed(t, "sqlite", Options{})
	b.start()
	s, err := b.d.Subscribe("")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit(20*time.Second))
	defer cancel()
	seen := map[int64]int{}
	follow := func(s *Subscription, until int) {
		t.Helper()
		for len(seen) < until {
			list, err := s.Next(ctx)
			if err != nil {
				t.Fatalf("%d of %d events: %v", len(seen), until, err)
			}
			for _, e := range list {
				seen[e.Link]++
			}
		}
	}
	for i := range 100 {
		b.append(visit(int64(i+1), i))
	}
	follow(s, 100)
	token := s.Position()
	b.d.Hold(true) // what comes now stays in the log
	for i := range 100 {
		b.append(visit(int64(i+101), i))
	}
	waitFor(t, "they are counted", func() bool { return b.d.Stats().Tail == 100 })
	again, err := b.d.Subscribe(token)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		b.append(visit(int64(i+201), i))
	}
	follow(again, 300)
	for link, n := range seen {
		if n != 1 {
			t.Errorf("link %d was seen %d times", link, n)
		}
	}
	if _, err := b.d.Subscribe("nonsense"); err == nil {
		t.Error("a token of nobody is taken")
	}
	if _, err := b.d.Subscribe("00000000.1"); err != nil {
		t.Errorf("the token of another log: %v", err)
	}
}

// A drainer whose log nobody writes to does nothing, says that it is behind by nothing, and
// takes the next click at once.
func TestDrainer_RestsUntilAClickComes(t *testing.T) {
	b := newBed(t, "sqlite", Options{})
	b.start()
	for i := range 3 {
		for start := time.Now(); !b.d.resting.Load(); time.Sleep(time.Millisecond) {
			if waittest.Late(time.Since(start), 20*time.Second) {
				t.Fatal("it does not rest")
			}
		}
		if s := b.d.Stats(); s.Lag != 0 || s.Tail != 0 {
			t.Errorf("at rest: lag %v, tail %d", s.Lag, s.Tail)
		}
		before := time.Now()
		b.append(&clicklog.Record{At: before.UnixMilli(), Link: 1, Agent: []byte("Mozilla/5.0 Firefox/140.0")})
		for b.d.Stats().Drained < uint64(i+1) {
			if waittest.Late(time.Since(before), 20*time.Second) {
				t.Fatal("a click after a rest does not reach the database")
			}
			time.Sleep(time.Millisecond)
		}
		if s := b.d.Stats(); s.Lag > 10*time.Second {
			t.Errorf("after the rest: lag %v", s.Lag)
		}
	}
}
