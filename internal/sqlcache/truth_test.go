package sqlcache_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// rowsOfTruth are the tables of the test: those of writers who write through hotrow, and of one who
// writes the database itself. Values are cast, keys are made, rows go with others.
const rowsOfTruth = `CREATE TABLE mine (id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, of int NOT NULL, k int, n int);
	CREATE INDEX ON mine (of, k);
	CREATE TABLE whole (id int PRIMARY KEY, of int NOT NULL, k int, n int); ALTER TABLE whole REPLICA IDENTITY FULL;
	CREATE TABLE part (id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
		of int NOT NULL, part int REFERENCES whole ON DELETE CASCADE ON UPDATE CASCADE);
	CREATE TABLE theirs (id int PRIMARY KEY, n int); INSERT INTO theirs SELECT i, 0 FROM generate_series(1, 20) i;`

// A pool is sessions through hotrow, of which a writer takes any at each step.
type pool struct{ free chan *pgx.Conn }

func newPool(t *testing.T, url string, n int) *pool {
	p := &pool{free: make(chan *pgx.Conn, n)}
	modes := []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec}
	for i := range n {
		p.free <- connect(t, url, modes[i%len(modes)])
	}
	return p
}

func (p *pool) with(f func(c *pgx.Conn)) {
	c := <-p.free
	defer func() { p.free <- c }()
	f(c)
}

// A fact is a row as its writer knows it.
type fact struct{ k, n int }

// A writer knows what its rows are: nobody else writes them.
type writer struct {
	t     *testing.T
	p     *pool
	r     *rand.Rand
	of    int
	table string
	rows  map[int]fact
	parts map[int]int // how many of a row of whole
	reads *atomic.Int64
}

func (w *writer) exec(sql string, args ...any) {
	w.p.with(func(c *pgx.Conn) {
		if _, err := c.Exec(context.Background(), sql, args...); err != nil {
			w.t.Errorf("%s: %v", sql, err)
		}
	})
}

func (w *writer) any() int {
	ids := slices.Sorted(maps.Keys(w.rows))
	if len(ids) == 0 {
		return 0
	}
	return ids[w.r.IntN(len(ids))]
}

// write does one thing, by a session of the pool.
func (w *writer) write() {
	id, k, n := w.any(), w.r.IntN(4), w.r.IntN(1000)
	table := w.table
	switch op := w.r.IntN(12); {
	case op < 3 || id == 0:
		w.p.with(func(c *pgx.Conn) {
			if table == "whole" {
				id = w.of*1_000_000 + w.r.IntN(30)
				if _, had := w.rows[id]; had {
					return
				}
				_, err := c.Exec(context.Background(), "INSERT INTO whole VALUES ($1, $2, $3, $4)", id, w.of, k, n)
				if err != nil {
					w.t.Errorf("insert: %v", err)
				}
			} else if err := c.QueryRow(context.Background(),
				"INSERT INTO mine (of, k, n) VALUES ($1, $2, $3) RETURNING id", w.of, k, n).Scan(&id); err != nil {
				w.t.Errorf("insert: %v", err)
			}
			w.rows[id] = fact{k, n}
		})
	case op < 5:
		w.exec(fmt.Sprintf("UPDATE %s SET n = $1 WHERE id = $2", table), n, id)
		w.rows[id] = fact{w.rows[id].k, n}
	case op < 6: // the column rounds
		w.exec(fmt.Sprintf("UPDATE %s SET n = %d.7 WHERE id = %d", table, n, id))
		w.rows[id] = fact{w.rows[id].k, n + 1}
	case op < 7:
		w.exec(fmt.Sprintf("UPDATE %s SET k = $1 WHERE id = $2", table), k, id)
		w.rows[id] = fact{k, w.rows[id].n}
	case op < 8: // many rows, by what is no key
		w.exec(fmt.Sprintf("UPDATE %s SET n = n + 1, k = $1 WHERE of = $2 AND k = $3", table), k, w.of, w.rows[id].k)
		old := w.rows[id].k
		for i, f := range w.rows {
			if f.k == old {
				w.rows[i] = fact{k, f.n + 1}
			}
		}
	case op < 9:
		w.exec(fmt.Sprintf("DELETE FROM %s WHERE id = $1", table), id)
		delete(w.rows, id)
		delete(w.parts, id)
	case op < 10 && table == "whole" && w.r.IntN(2) == 0: // the row has another key, and what goes with it
		to := w.of*1_000_000 + w.r.IntN(30)
		if _, had := w.rows[to]; !had {
			w.exec("UPDATE whole SET n = n, id = $1 WHERE id = $2", to, id)
			w.rows[to], w.parts[to] = w.rows[id], w.parts[id]
			delete(w.rows, id)
			delete(w.parts, id)
		}
	case op < 10 && table == "whole":
		w.exec("INSERT INTO part (of, part) VALUES ($1, $2)", w.of, id)
		w.parts[id]++
	case op < 11: // a transaction, which may be for nothing
		end := []string{"COMMIT", "ROLLBACK"}[w.r.IntN(2)]
		w.p.with(func(c *pgx.Conn) {
			for _, sql := range []string{"BEGIN", fmt.Sprintf("UPDATE %s SET n = %d WHERE id = %d", table, n, id),
				fmt.Sprintf("SELECT n FROM %s WHERE id = %d", table, id), end} {
				if _, err := c.Exec(context.Background(), sql); err != nil {
					w.t.Errorf("%s: %v", sql, err)
				}
			}
		})
		if end == "COMMIT" {
			w.rows[id] = fact{w.rows[id].k, n}
		}
	default: // several statements at once, of which the last fails
		w.p.with(func(c *pgx.Conn) {
			_, err := c.PgConn().Exec(context.Background(), fmt.Sprintf(
				"UPDATE %s SET n = -1 WHERE id = %d; SELECT 1/0", table, id)).ReadAll()
			if err == nil {
				w.t.Error("a division by zero is none")
			}
		})
	}
}

// read asks one question, by any session of the pool, and knows the answer.
func (w *writer) read() {
	id, k := w.any(), w.r.IntN(4)
	if w.r.IntN(8) == 0 {
		id = w.of*1_000_000 + 500 + w.r.IntN(3) // it is nobody's
	}
	var got, want any
	one := func(sql string, args ...any) {
		w.p.with(func(c *pgx.Conn) {
			rows, err := c.Query(context.Background(), sql, args...)
			if err != nil {
				w.t.Errorf("%s: %v", sql, err)
				return
			}
			list, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (s string, err error) {
				v, err := r.Values()
				return fmt.Sprint(v...), err
			})
			if err != nil {
				w.t.Errorf("%s: %v", sql, err)
			}
			got = fmt.Sprint(list)
		})
		w.reads.Add(1)
		if got != want {
			w.t.Errorf("%d: %s %v says %v, want %v", w.of, sql, args, got, want)
		}
	}
	var list, top []string
	var ofK []int
	for _, i := range slices.Sorted(maps.Keys(w.rows)) {
		if w.rows[i].k == k {
			ofK = append(ofK, i)
			list = append(list, fmt.Sprint(i, w.rows[i].n))
		}
	}
	switch op := w.r.IntN(7); {
	case op < 3:
		want = "[]"
		if f, ok := w.rows[id]; ok {
			want = fmt.Sprint([]string{fmt.Sprint(f.k, f.n)})
		}
		one(fmt.Sprintf("SELECT k, n FROM %s WHERE id = $1", w.table), id)
	case op < 4:
		want = fmt.Sprint(list)
		one(fmt.Sprintf("SELECT id, n FROM %s WHERE of = $1 AND k = $2 ORDER BY id", w.table), w.of, k)
	case op < 5:
		want = fmt.Sprintf("[%d]", len(ofK))
		one(fmt.Sprintf("SELECT count(*) FROM %s WHERE of = $1 AND k IN ($2)", w.table), w.of, k)
	case op < 6:
		slices.SortFunc(ofK, func(a, b int) int {
			if d := w.rows[b].n - w.rows[a].n; d != 0 {
				return d
			}
			return a - b
		})
		for _, i := range ofK[:min(len(ofK), 2)] {
			top = append(top, fmt.Sprint(i))
		}
		want = fmt.Sprint(top)
		one(fmt.Sprintf("SELECT id FROM %s WHERE of = %d AND k = %d ORDER BY n DESC, id LIMIT 2", w.table, w.of, k))
	default:
		want = fmt.Sprintf("[%d]", w.parts[id])
		one("SELECT count(*) FROM part WHERE part = $1", id)
	}
}

// theirs is what another program writes: in a session
// that asks for it nothing is older than what that has seen.
type theirs struct {
	t     *testing.T
	acked [21]atomic.Int64 // by row
}

func (th *theirs) write(c *pgx.Conn, r *rand.Rand, done <-chan struct{}) {
	for n := int64(1); ; n++ {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(r.IntN(4)) * time.Millisecond):
		}
		id := 1 + r.IntN(20)
		if _, err := c.Exec(context.Background(), "UPDATE theirs SET n = $1 WHERE id = $2", n, id); err != nil {
			th.t.Errorf("write: %v", err)
			return
		}
		th.acked[id].Store(n)
	}
}

// read reads in one session, until done is closed.
func (th *theirs) read(c *pgx.Conn, r *rand.Rand, reads *atomic.Int64, done <-chan struct{}) {
	var seen [21]int64
	if _, err := c.Exec(context.Background(), "SET hotrow.freshness = 'session'"); err != nil {
		th.t.Error(err)
	}
	for {
		select {
		case <-done:
			return
		default:
		}
		id := 1 + r.IntN(20)
		sql := "SELECT n FROM theirs WHERE id = $1"
		if r.IntN(10) == 0 {
			sql = "SELECT n + 0 FROM theirs WHERE id = $1" // by the server
		}
		var n int64
		if err := c.QueryRow(context.Background(), sql, id).Scan(&n); err != nil {
			th.t.Errorf("read: %v", err)
			return
		}
		if reads.Add(1); n < seen[id] {
			th.t.Errorf("row %d was %d, and now %d", id, seen[id], n)
		}
		seen[id] = n
	}
}

// TestServe_Truth: what a client has written through hotrow, by whichever session, it reads through
// hotrow, by whichever session: beside others who do the same, one who writes the database itself,
// definitions, and a feed that is cut.
func TestServe_Truth(t *testing.T) {
	s := newServing(t, dbtest.Postgres(t, dbtest.Setup(rowsOfTruth)), 50, "mine", "whole", "part", "theirs")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	p := newPool(t, s.url, 16)
	done := make(chan struct{})
	var sessions, beside sync.WaitGroup
	var asked, others atomic.Int64
	th := &theirs{t: t}
	direct, cutter := connect(t, s.database, pgx.QueryExecModeExec), connect(t, s.database, pgx.QueryExecModeExec)
	reader := connect(t, s.url, pgx.QueryExecModeCacheStatement)
	beside.Go(func() { th.write(direct, rand.New(rand.NewPCG(seed, 100)), done) })
	beside.Go(func() { th.read(reader, rand.New(rand.NewPCG(seed, 101)), &others, done) })
	beside.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(700 * time.Millisecond):
			}
			sql := []string{"SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots" +
				" WHERE database = current_database() AND active_pid IS NOT NULL",
				"ALTER TABLE mine ADD COLUMN IF NOT EXISTS extra int", "ALTER TABLE mine DROP COLUMN IF EXISTS extra",
				"CREATE INDEX IF NOT EXISTS more ON whole (n)", "ANALYZE"}[i%5]
			if _, err := cutter.Exec(context.Background(), sql); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
	})
	for i := range 6 {
		w := &writer{t: t, p: p, r: rand.New(rand.NewPCG(seed, uint64(i))), of: i + 1, rows: make(map[int]fact),
			parts: make(map[int]int), table: []string{"mine", "whole"}[i%2], reads: &asked}
		sessions.Go(func() {
			for n := range *rounds {
				if t.Failed() {
					return
				}
				if w.r.IntN(100) >= cmp.Or(*reads, 90) || n < 5 {
					w.write()
				}
				w.read()
			}
		})
	}
	sessions.Wait()
	close(done)
	beside.Wait()
	st, c := s.front.Stats(), s.counts()
	t.Logf("%d reads of what was written, %d of others; %d hits, %d misses, passed on %v", asked.Load(),
		others.Load(), st.Hits, st.Misses, st.Passes)
	if c.Wrong > 0 || st.Hits < uint64(asked.Load())/20 {
		t.Errorf("%d hits, %d of those that were compared were wrong", st.Hits, c.Wrong)
	}
}
