package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sourcetest"
)

// holding are the settings of a server whose commits wait for a replica that is
// not there, after they have been written to the binary log.
var holding = map[string]string{
	"rpl-semi-sync-master-wait-point": "AFTER_SYNC",
	"rpl-semi-sync-master-timeout":    "400", // milliseconds
}

// A settling is the randomized test of what proves transactions visible.
type settling struct {
	*fixture
	url     string
	settled atomic.Int64
	early   atomic.Int64 // delivered and not visible
	wrong   atomic.Int64
}

const rows = 12

// transact runs statements in one transaction.
func transact(ctx context.Context, c *sql.Conn, statements ...string) error {
	for _, s := range slices.Concat([]string{"START TRANSACTION"}, statements, []string{"COMMIT"}) {
		if _, err := c.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// write updates random rows, and now and then many, or deletes one and makes it
// anew, until ctx ends. Each writer has rows of its own, but for the last, which
// is hot: there the values of all writers grow in the order of their locks.
func (s *settling) write(ctx context.Context, n int) {
	c := foreign(s.t, s.url)
	for ctx.Err() == nil {
		id := n
		if rand.IntN(3) == 0 {
			id = rows
		}
		var err error
		switch rand.IntN(8) {
		case 0:
			err = transact(ctx, c, fmt.Sprintf("UPDATE t SET v = v + 1 WHERE id = %d", id),
				fmt.Sprintf("INSERT INTO log (id) VALUES (%d)", id))
		case 1:
			err = transact(ctx, c, fmt.Sprintf("INSERT INTO log (id) VALUES (%d)", id),
				"DELETE FROM log LIMIT 3", fmt.Sprintf("UPDATE t SET v = v + 1 WHERE id = %d", id))
		default:
			_, err = c.ExecContext(ctx, fmt.Sprintf("UPDATE t SET v = v + 1 WHERE id = %d", id))
		}
		if err != nil && ctx.Err() == nil && !serialization(err) {
			s.t.Errorf("write: %v", err)
			return
		}
		if err != nil {
			_, _ = c.ExecContext(ctx, "ROLLBACK")
		}
		pause(ctx, time.Duration(rand.IntN(4))*time.Millisecond)
	}
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// disturb rotates the log, defines tables and lets commits wait, until ctx ends.
func (s *settling) disturb(ctx context.Context) {
	c := foreign(s.t, s.url)
	for ctx.Err() == nil {
		what := []string{
			"FLUSH BINARY LOGS", "FLUSH BINARY LOGS",
			"CREATE OR REPLACE TABLE other (id int PRIMARY KEY)", "DROP TABLE IF EXISTS other",
			"SET GLOBAL rpl_semi_sync_master_enabled = OFF",
			"SET GLOBAL rpl_semi_sync_master_enabled = ON",
			"SET GLOBAL rpl_semi_sync_master_enabled = ON",
		}[rand.IntN(7)]
		for _, sql := range dbtest.SQL(what) {
			if _, err := c.ExecContext(ctx, sql); err != nil && ctx.Err() == nil {
				s.t.Errorf("%s: %v", sql, err)
				return
			}
		}
		pause(ctx, time.Duration(rand.IntN(120))*time.Millisecond)
	}
}

// check proves the transactions that were delivered, and reads their rows: when
// the proof is there each row must be at least what the transactions made of it.
func (s *settling) check(ctx context.Context) {
	c := foreign(s.t, s.url)
	read := func() (v [rows + 1]int64) {
		rs, err := c.QueryContext(context.Background(), "SELECT id, v FROM t")
		if err != nil {
			s.t.Error(err)
			return
		}
		defer rs.Close()
		for rs.Next() {
			var id, n int64
			_ = rs.Scan(&id, &n)
			v[id] = n
		}
		return v
	}
	var open []*source.Tx
	var made [rows + 1]int64 // by what was delivered; a row begins with 0
	need := make(map[*source.Tx][rows + 1]int64)
	for last := false; ; {
		for _, tx := range s.rec.take() {
			for _, ch := range tx.Changes {
				var id int
				if _, err := fmt.Sscan(ch.New[0].Text, &id); err == nil {
					made[id]++
				}
			}
			need[tx] = made
			open = append(open, tx)
		}
		if before := read(); len(open) > 0 && less(before, need[open[len(open)-1]]) {
			s.early.Add(1)
		}
		settled, err := s.feed.Settled(context.Background(), open)
		if err != nil {
			s.t.Errorf("Settled: %v", err)
			return
		}
		now := read()
		var left []*source.Tx
		for i, tx := range open {
			switch {
			case !settled[i]:
				left = append(left, tx)
			case less(now, need[tx]) && !tx.All:
				s.wrong.Add(1)
				s.t.Errorf("%s is said to be visible, but is not: %v, want %v", sourcetest.Text(tx), now, need[tx])
				fallthrough
			default:
				s.settled.Add(1)
				delete(need, tx)
			}
		}
		if open = left; ctx.Err() == nil {
			continue
		}
		if len(open) == 0 && last {
			return
		}
		last = len(open) == 0
		if !s.t.Failed() && !last {
			time.Sleep(5 * time.Millisecond) // between polls
			continue
		}
		s.tryFence()
	}
}

// less reports whether a row is older than it must be.
func less(have, want [rows + 1]int64) bool {
	for i := range have {
		if have[i] < want[i] {
			return true
		}
	}
	return false
}

// What is proven visible is visible to every read that begins afterwards, while
// the log is rotated, tables are defined and commits wait invisible; and
// everything is proven in the end.
func TestMariaDB_SettleIsAProof(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMariaDB(t, holding)
	url := server.Database(t)
	statements := []string{
		"CREATE TABLE t (id int PRIMARY KEY, v bigint NOT NULL)",
		"CREATE TABLE log (n bigint AUTO_INCREMENT PRIMARY KEY, id int)",
		fmt.Sprintf("INSERT INTO t SELECT seq, 0 FROM seq_1_to_%d", rows),
		"SET GLOBAL rpl_semi_sync_master_enabled = ON",
	}
	f := follow(t, url, statements, "t id")
	s := &settling{fixture: f, url: url}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for n := 1; n <= 6; n++ {
		wg.Go(func() { s.write(ctx, n) })
	}
	wg.Go(func() { s.disturb(ctx) })
	done := make(chan struct{})
	go func() { defer close(done); s.check(ctx) }()
	pause(ctx, 4*time.Second)
	await(t, "each part does something", func() bool {
		return t.Failed() || s.settled.Load() > 100 && s.early.Load() > 10
	})
	cancel()
	wg.Wait()
	select {
	case <-done:
	case <-time.After(feedTimeout):
		t.Error("not everything that was delivered is proven")
	}
	t.Logf("%d proven, %d looks at what was delivered and invisible, %d wrong", s.settled.Load(),
		s.early.Load(), s.wrong.Load())
}
