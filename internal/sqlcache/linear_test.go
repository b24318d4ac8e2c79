package sqlcache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/linear"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A look is one read or write of a row: the row of key 4 is written through hotrow, others past it.
type rowLook struct {
	session, row int
	write        bool
	value        int64
	from, to     time.Duration
}

const (
	linearRows = 4
	ownRow     = linearRows
	staleAfter = 250 * time.Millisecond
)

// linearLog is what all sessions have seen and done.
type linearLog struct {
	mu    sync.Mutex
	begun time.Time
	looks []rowLook
}

func (l *linearLog) add(session, row int, write bool, value int64, from time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks = append(l.looks, rowLook{session, row, write, value, from, time.Since(l.begun)})
}

// rowModel is a row: a read gives what was written last.
var rowModel = linear.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, output any) (bool, any) {
		if l := input.(rowLook); l.write {
			return true, l.value
		}
		return output.(int64) == state.(int64), state
	},
}

// tableModel is all rows that one program writes, whose writes have numbers: it has made so many of
// them. A read gives what was written last to its row.
func tableModel(rowOf []int) linear.Model {
	return linear.Model{
		Init: func() any { return int64(0) },
		Step: func(state, input, output any) (bool, any) {
			n := state.(int64)
			l := input.(rowLook)
			if l.write {
				return l.value == n+1, n + 1
			}
			for n > 0 && rowOf[n] != l.row {
				n--
			}
			return output.(int64) == n, state
		},
	}
}

// checks checks reads and writes with linear.
func checks(t *testing.T, what string, m linear.Model, looks []rowLook) {
	t.Helper()
	var ops []linear.Operation
	for i, l := range looks {
		ops = append(ops, linear.Operation{ClientId: i, Input: l, Call: int64(l.from), Output: l.value,
			Return: int64(l.to)})
	}
	if !linear.Explains(m, ops) {
		t.Errorf("%s: no order explains %d reads and writes", what, len(looks))
	}
}

var linearLevels = []string{"now", "now", "session", "session", "session", "bounded", "bounded"}

// TestServe_LevelsAreKept: whatever a feed does that is late or cut, reads of each level are as new as
// it says, by a checker that is not ours. now is linearizable; bounded may be stale_after old; session
// may be old, but for what the session has seen of any row. None misses what was written through hotrow.
func TestServe_LevelsAreKept(t *testing.T) {
	server := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	s := newServing(t, server.Database(t, dbtest.Setup("CREATE TABLE r (id int PRIMARY KEY, n int8);"+
		"INSERT INTO r SELECT i, 0 FROM generate_series(1, 4) i")), never, "r")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	log := &linearLog{begun: time.Now()}
	done := make(chan struct{})
	var all sync.WaitGroup
	var writes atomic.Int64
	for i, through := range []string{s.database, s.url} {
		c, r := connect(t, through, pgx.QueryExecModeExec), rand.New(rand.NewPCG(seed, uint64(i)))
		all.Go(func() {
			for n := int64(1); ; n++ {
				select {
				case <-done:
					return
				case <-time.After(time.Duration(r.IntN(200)) * time.Millisecond):
				}
				at := []int{1 + r.IntN(linearRows-1), ownRow}[i]
				from := time.Since(log.begun)
				if _, err := c.Exec(context.Background(), "UPDATE r SET n = $1 WHERE id = $2", n, at); err != nil {
					t.Errorf("write: %v", err)
					return
				}
				log.add(-1, at, true, n, from)
				writes.Add(1)
			}
		})
	}
	for i, level := range linearLevels {
		c, r := connect(t, s.url, pgx.QueryExecModeExec), rand.New(rand.NewPCG(seed, 100+uint64(i)))
		run(t, c, "SET hotrow.freshness = '"+level+"'")
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(time.Duration(r.IntN(4)) * time.Millisecond):
				}
				at, sql := 1+r.IntN(linearRows), "SELECT n FROM r WHERE id = $1"
				if r.IntN(8) == 0 {
					sql = "SELECT n + 0 FROM r WHERE id = $1" // by the server
				}
				var n int64
				from := time.Since(log.begun)
				if err := c.QueryRow(context.Background(), sql, at).Scan(&n); err != nil {
					t.Errorf("read: %v", err)
					return
				}
				log.add(i, at, false, n, from)
			}
		})
	}
	r := rand.New(rand.NewPCG(seed, 99))
	enough := int64(100)
	if waittest.Long() {
		enough = 1000
	}
	for i := 0; (writes.Load() < enough || s.front.Stats().Hits < 100) && !t.Failed(); i++ {
		<-time.After(time.Duration(r.IntN(900)) * time.Millisecond)
		pids := server.PauseSenders()
		<-time.After(time.Duration(r.IntN(200)) * time.Millisecond)
		server.Resume(pids...)
		if i%4 == 3 {
			server.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_replication")
		}
	}
	close(done)
	all.Wait()
	log.check(t)
	st := s.front.Stats()
	t.Logf("%d reads and writes, %d from memory, passed on %v", len(log.looks), st.Hits, st.Passes)
}

// TestTableModel_TellsAnOlderRead: after a read of one row that shows the second write, another that
// does not show the first one is wrong, and before it is not.
func TestTableModel_TellsAnOlderRead(t *testing.T) {
	m := tableModel([]int{0, 1, 2})
	for _, tt := range []struct {
		seen, then rowLook
		want       bool
	}{
		{rowLook{row: 2, value: 2}, rowLook{row: 1, value: 0}, false},
		{rowLook{row: 2, value: 2}, rowLook{row: 1, value: 1}, true},
		{rowLook{row: 2, value: 0}, rowLook{row: 1, value: 0}, true},
	} {
		var ops []linear.Operation
		for i, l := range []rowLook{{row: 1, write: true, value: 1}, {row: 2, write: true, value: 2}} {
			ops = append(ops, linear.Operation{ClientId: i, Input: l, Call: int64(i), Return: 1000})
		}
		for i, l := range []rowLook{tt.seen, tt.then} {
			at := int64(10 + 10*i)
			ops = append(ops, linear.Operation{ClientId: 9, Input: l, Call: at, Output: l.value, Return: at + 5})
		}
		if got := linear.Explains(m, ops); got != tt.want {
			t.Errorf("%+v, then %+v: %t, want %t", tt.seen, tt.then, got, tt.want)
		}
	}
}

func (l *linearLog) check(t *testing.T) {
	rowOf := []int{0}
	for _, one := range l.looks {
		if one.write && one.row != ownRow {
			rowOf = append(rowOf, one.row)
		}
	}
	for row := 1; row <= linearRows; row++ {
		for _, level := range []string{"now", "bounded", "session"} {
			if level == "session" && row != ownRow {
				continue
			}
			var looks []rowLook
			for _, one := range l.looks {
				if one.row != row || !one.write && linearLevels[one.session] != level {
					continue
				}
				if level == "bounded" && !one.write && row != ownRow {
					one.from -= staleAfter
				}
				looks = append(looks, one)
			}
			checks(t, fmt.Sprintf("%s, row %d", level, row), rowModel, looks)
		}
	}
	for i, level := range linearLevels {
		if level != "session" {
			continue
		}
		var looks []rowLook
		for _, one := range l.looks {
			switch {
			case one.row == ownRow, !one.write && one.session != i:
				continue
			case one.write: // it may be seen late
				one.to = time.Hour
			}
			looks = append(looks, one)
		}
		checks(t, fmt.Sprintf("session %d", i), tableModel(rowOf), looks)
	}
}
