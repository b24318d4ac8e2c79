package sqlcache_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// An address passes connections on to a server, and to another when it is told.
type address struct {
	net.Listener
	mu   sync.Mutex
	to   string
	open map[net.Conn]bool
}

func newAddress(t *testing.T, to string) *address {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &address{Listener: l, to: to, open: make(map[net.Conn]bool)}
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			passing.Go(func() { a.pass(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		a.leadTo(t, "")
		passing.Wait()
	})
	return a
}

func (a *address) pass(c net.Conn) {
	a.mu.Lock()
	to, err := net.Dial("tcp", a.to)
	if err != nil {
		a.mu.Unlock()
		_ = c.Close()
		return
	}
	a.open[c], a.open[to] = true, true
	a.mu.Unlock()
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{c, to}, {to, c}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			_ = c.Close()
			_ = to.Close()
		})
	}
	both.Wait()
	a.mu.Lock()
	delete(a.open, c)
	delete(a.open, to)
	a.mu.Unlock()
}

// leadTo has new connections go elsewhere, and cuts the others.
func (a *address) leadTo(t *testing.T, to string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.to = to
	for c := range a.open {
		_ = c.Close()
	}
}

// tries opens a connection; nil: it cannot be had now.
func tries(rawURL string) *pgx.Conn {
	cfg, err := pgx.ParseConfig(rawURL)
	if err != nil {
		return nil
	}
	cfg.DefaultQueryExecMode = []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeCacheStatement,
		pgx.QueryExecModeSimpleProtocol}[rand.IntN(3)]
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Limit(10*time.Second))
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil
	}
	return c
}

// A toiler writes a row of its own through hotrow while everything fails, and reads it in other
// sessions.
type toiler struct {
	t       *testing.T
	through string // hotrow
	direct  string
	id, n   int
	reader  *pgx.Conn
	reads   *atomic.Int64
	writes  *atomic.Int64
	unknown *atomic.Int64 // writes whose answer was lost
}

// close ends a connection as a program does that has been told nothing.
func hangUp(c *pgx.Conn) {
	if c != nil {
		_ = c.PgConn().Conn().Close()
	}
}

func (w *toiler) run(done <-chan struct{}) {
	var writer *pgx.Conn
	defer func() {
		hangUp(writer)
		hangUp(w.reader)
	}()
	for i := 1; !w.t.Failed(); i++ {
		select {
		case <-done:
			return
		default:
		}
		if writer == nil {
			if writer = tries(w.through); writer == nil {
				<-time.After(10 * time.Millisecond)
				continue
			}
		}
		n := w.id*1_000_000 + i
		if _, err := writer.Exec(context.Background(), "UPDATE c SET n = $1 WHERE id = $2", n, w.id); err == nil {
			w.n = n
			w.writes.Add(1)
		} else {
			w.unknown.Add(1)
			pid := writer.PgConn().PID()
			hangUp(writer)
			writer = nil
			w.n = w.finds(pid)
		}
		for range 4 {
			w.read()
		}
	}
}

// finds returns what the database has, when a process that may have written it is gone.
func (w *toiler) finds(pid uint32) (n int) {
	waittest.Until(w.t, "it is known what a lost write did", func() bool {
		c := tries(w.direct)
		if c == nil {
			return false
		}
		defer hangUp(c)
		there := true
		err := c.QueryRow(context.Background(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND"+
			" pid <> pg_backend_pid())", pid).Scan(&there)
		if err != nil || there {
			return false
		}
		return c.QueryRow(context.Background(), "SELECT n FROM c WHERE id = $1", w.id).Scan(&n) == nil
	})
	return n
}

func (w *toiler) read() {
	if w.reader == nil {
		if w.reader = tries(w.through); w.reader == nil {
			return
		}
	}
	for sql, args := range map[string][]any{"SELECT n FROM c WHERE id = $1": {w.id},
		"SELECT n FROM c WHERE n = $1": {w.n}, "SELECT max FROM (SELECT max(n) FROM c WHERE id = $1) m": {w.id}} {
		got := 0
		err := w.reader.QueryRow(context.Background(), sql, args...).Scan(&got)
		if err != nil && err != pgx.ErrNoRows {
			hangUp(w.reader)
			w.reader = nil
			return
		}
		if w.reads.Add(1); got != w.n {
			w.t.Errorf("%s %v says %d, want %d", sql, args, got, w.n)
		}
	}
}

// TestServe_FaultsMissNoWrite: beside a server that is restarted, killed, frozen and replaced by its
// standby, processes that are ended and a feed that is cut or late, what a client has written it reads.
func TestServe_FaultsMissNoWrite(t *testing.T) {
	settings := map[string]string{"wal_level": "logical", "wal_keep_size": "256MB", "max_connections": "100"}
	primary := dbtest.NewPostgres(t, settings)
	database := primary.Database(t, dbtest.Setup("CREATE TABLE c (id int PRIMARY KEY, n int);"+
		"INSERT INTO c SELECT i, 0 FROM generate_series(1, 6) i; CREATE INDEX ON c (n)"))
	standby := primary.Standby(t, nil)
	at := newAddress(t, primary.Address())
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = at.Addr().String()
	s := newServing(t, u.String(), never, "c")
	done := make(chan struct{})
	var toil sync.WaitGroup
	var reads, writes, unknown atomic.Int64
	for id := range 6 {
		w := &toiler{t: t, through: s.url, direct: u.String(), id: id + 1, reads: &reads, writes: &writes,
			unknown: &unknown}
		w.n = w.finds(0)
		toil.Go(func() { w.run(done) })
	}
	now := primary
	for _, fault := range []struct {
		name string
		do   func()
	}{
		{"nothing", func() {}},
		{"processes ended", func() {
			now.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend'" +
				" AND pid <> pg_backend_pid()")
		}},
		{"sessions ended", func() {
			for range 5 {
				now.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%UPDATE c%'" +
					" AND pid <> pg_backend_pid()")
			}
		}},
		{"feed cut", func() { now.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_replication") }},
		{"feed late", func() {
			pids := now.PauseSenders()
			defer now.Resume(pids...)
			before := writes.Load()
			waittest.Until(t, "writes go on", func() bool { return writes.Load() > before+20 })
		}},
		{"connections cut", func() { at.leadTo(t, now.Address()) }},
		{"frozen", func() {
			pids := now.Pids()
			now.Pause(pids...)
			waittest.Until(t, "the feed is silent for too long", func() bool {
				return s.set.Ready() != nil
			})
			now.Resume(pids...)
		}},
		{"restarted", func() {
			now.Stop(dbtest.Fast)
			now.Start()
		}},
		{"crashed", func() {
			now.Stop(dbtest.Immediate)
			now.Start()
		}},
		{"replaced by its standby", func() {
			primary.Stop(dbtest.Fast)
			standby.Promote()
			now = standby
			at.leadTo(t, standby.Address())
		}},
	} {
		before, hits := writes.Load(), s.front.Stats().Hits
		fault.do()
		waittest.Until(t, "work goes on: "+fault.name, func() bool {
			return t.Failed() || writes.Load() > before+30 && s.front.Stats().Hits > hits+30
		})
		t.Logf("%s: %d reads, %d writes, %d of unknown end, %d answers from memory, %d orphans", fault.name,
			reads.Load(), writes.Load(), unknown.Load(), s.front.Stats().Hits, s.cache.Stats().Orphans)
	}
	close(done)
	toil.Wait()
	waittest.Until(t, "no write is thought to be under way", func() bool { return s.cache.Stats().Orphans == 0 })
}
