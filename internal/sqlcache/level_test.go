package sqlcache_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestLevel_AFenceReachedWhileLooking: a copy that was found good before the feed told of a change is
// not given to a session that has seen the change, though the feed is as far as that by now.
func TestLevel_AFenceReachedWhileLooking(t *testing.T) {
	server := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	s := newServing(t, server.Database(t, dbtest.Setup(authors)), never, "a")
	var waits atomic.Bool
	found, goesOn := make(chan struct{}), make(chan struct{})
	s.cache.Looked(func() {
		if waits.Load() {
			found <- struct{}{}
			<-goesOn
		}
	})
	direct := connect(t, s.database, pgx.QueryExecModeSimpleProtocol)
	c := connect(t, s.url, pgx.QueryExecModeSimpleProtocol)
	run(t, c, "SET hotrow.freshness = 'session'")
	read := func(sql string) (n int) {
		if err := c.QueryRow(t.Context(), sql).Scan(&n); err != nil {
			t.Error(err)
		}
		return n
	}
	const fromMemory, fromServer = "SELECT score FROM a WHERE id = 1", "SELECT score + 0 FROM a WHERE id = 1"
	n := 100
	waittest.Until(t, "a look has found what the feed had not told of", func() bool {
		s.becomesServed(c, fromMemory)
		senders := server.PauseSenders()
		n++
		run(t, direct, "UPDATE a SET score = "+strconv.Itoa(n)+" WHERE id = 1")
		if got := read(fromServer); got != n {
			t.Errorf("the server says %d, want %d", got, n)
		}
		seen := resource.Clock()
		waits.Store(true)
		got := make(chan int)
		go func() { got <- read(fromMemory) }()
		answered, looked := 0, false
		select {
		case <-found:
			looked = true
		case answered = <-got:
		}
		server.Resume(senders...)
		if looked {
			waittest.Until(t, "the feed is as far", func() bool { return s.cache.FencedAt() > seen })
			goesOn <- struct{}{}
			answered = <-got
		}
		waits.Store(false)
		if answered != n {
			t.Errorf("the session has seen %d, and then %d", n, answered)
		}
		return looked
	})
}
