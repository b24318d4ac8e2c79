package stress

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// crowd is how many clients come at once.
const crowd = 5000

// loads counts how often the load of documents of flat was sent to the database.
const loads = `SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements s
	JOIN pg_database d ON d.oid = s.dbid AND d.datname = current_database()
	WHERE query LIKE 'SELECT%"flat"%'`

// newHerd serves one table of a shared server whose statements are counted.
func newHerd(t *testing.T) (*stand, *pgx.Conn, string) {
	t.Helper()
	files(t, 2*crowd+500)
	return newHerdIn(t, 0)
}

// newHerdIn is newHerd with a bound of the memory in bytes.
func newHerdIn(t *testing.T, memory int64) (*stand, *pgx.Conn, string) {
	t.Helper()
	url := dbtest.Postgres(t)
	conn := testbed.Dial(t, url)
	testbed.MustExec(t, conn, "CREATE EXTENSION pg_stat_statements",
		"CREATE TABLE flat (id int PRIMARY KEY, value bigint)",
		"INSERT INTO flat SELECT i, i FROM generate_series(1, 5000) i", "ANALYZE flat")
	s := newStand(t, url, plan{Specs: []resource.Spec{testbed.Spec("flat")}, Mode: source.FeedLogical,
		Memory: memory})
	return s, conn, url
}

// files makes sure that the process may open n files.
func files(t *testing.T, n uint64) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur >= n {
		return
	}
	limit.Cur, limit.Max = n, max(limit.Max, n)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Skipf("the test needs %d open files: %v", n, err)
	}
}

// freeze keeps the database from answering loads of flat until thaw.
func freeze(t *testing.T, url string) (thaw func()) {
	t.Helper()
	conn := testbed.Dial(t, url)
	testbed.MustExec(t, conn, "BEGIN", "LOCK TABLE flat IN ACCESS EXCLUSIVE MODE")
	return func() { testbed.MustExec(t, conn, "ROLLBACK") }
}

// A round is what one request by each of many clients got.
type round struct {
	answers []*answer
	err     error
}

// all sends one request by each client at once.
func all(clients []*client, path func(i int) string) round {
	answers := make([]*answer, len(clients))
	var wg sync.WaitGroup
	var failed atomic.Int64
	for i, c := range clients {
		wg.Go(func() {
			var err error
			if answers[i], err = c.get(path(i)); err != nil {
				failed.Add(1)
			}
		})
	}
	wg.Wait()
	if n := failed.Load(); n > 0 {
		return round{err: fmt.Errorf("%d of %d requests failed", n, len(clients))}
	}
	return round{answers: answers}
}

// Five thousand clients that ask at once for a document which memory does not
// hold cost one query.
func TestStressPostgres_Herd_OneKey(t *testing.T) {
	s, conn, url := newHerd(t)
	clients := make([]*client, crowd)
	for i := range clients {
		clients[i] = s.connect()
	}
	s.connect().mustHit(t, "/flat/1")
	if r := all(clients, func(int) string { return "/flat/1" }); r.err != nil {
		t.Fatal(r.err)
	}

	// A machine that is so busy that the feed is late meanwhile has whoever comes after that
	// read anew, for freshness comes first.
	for key := 777; ; key++ {
		queries := herdOn(t, s, conn, url, clients, key)
		if queries == 1 {
			return
		}
		if key == 796 {
			t.Fatalf("%d queries, want 1", queries)
		}
	}
}

// herdOn has the clients ask at once for a document that memory does not hold, and returns
// how often it was read; 0: they had to be refused.
func herdOn(
	t *testing.T, s *stand, conn *pgx.Conn, url string, clients []*client, key int,
) (queries int64) {
	t.Helper()
	before, misses := testbed.Number(t, conn, loads), s.Resource("flat").Stats().Misses
	thaw := freeze(t, url)
	done := make(chan round, 1)
	begin := time.Now()
	go func() { done <- all(clients, func(int) string { return fmt.Sprint("/flat/", key) }) }()
	waittest.Until(t, "all clients wait for one load", func() bool {
		return s.Resource("flat").Stats().Misses-misses == crowd
	})
	gathered := time.Since(begin)
	thaw()
	r := <-done
	took := time.Since(begin)
	queries = testbed.Number(t, conn, loads) - before
	if r.err != nil {
		t.Fatal(r.err)
	}
	for _, a := range r.answers {
		if a.code == 503 { // the lock was held for longer than a load may take
			return 0
		}
		if a.code != 200 || string(a.body) != fmt.Sprintf(`{"id":%d,"value":%d}`, key, key) {
			t.Fatalf("a client got %+v", a)
		}
	}
	testbed.Figures(t, "%d concurrent misses of one key: %d query, gathered in %v, answered in %v",
		crowd, queries, gathered.Round(time.Millisecond), (took - gathered).Round(time.Millisecond))
	return queries
}

// A thousand different documents that are asked for at once do not take more
// connections than the pool has: the others wait, or are told when to come back.
func TestStressPostgres_Herd_ManyKeys(t *testing.T) {
	const keys = 1000
	s, conn, url := newHerd(t)
	s.connect().mustHit(t, "/flat/1")
	clients := make([]*client, keys)
	for i := range clients {
		clients[i] = s.connect()
	}
	thaw := freeze(t, url)
	done := make(chan round, 1)
	begin := time.Now()
	go func() {
		done <- all(clients, func(i int) string { return fmt.Sprintf("/flat/%d", 1001+i) })
	}()
	most, limit := int64(0), s.Stats().Pool.Max
	waittest.Until(t, "all but the readers wait", func() bool {
		most = max(most, testbed.Number(t, conn, `SELECT count(*) FROM pg_stat_activity
			WHERE application_name = 'hotrow' AND datname = current_database()`))
		return s.Stats().Waiting >= keys-limit && most >= int64(limit) ||
			waittest.Late(time.Since(begin), time.Second)
	})
	thaw()
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	ok, refused := 0, 0
	for i, a := range r.answers {
		switch want := fmt.Sprintf(`{"id":%d,"value":%[1]d}`, 1001+i); {
		case a.code == 200 && string(a.body) == want:
			ok++
		case a.code == 503 && a.header.Get("Retry-After") != "":
			refused++
		default:
			t.Fatalf("key %d got %d: %s", 1001+i, a.code, a.body)
		}
	}
	testbed.Figures(t, "%d different cold keys at once: %d connections at most, pool.max %d; %d answered, "+
		"%d told to come back, in %v", keys, most, limit, ok, refused,
		time.Since(begin).Round(time.Millisecond))
	if most > int64(limit) || most == 0 {
		t.Errorf("%d connections, pool.max is %d", most, limit)
	}
	if ok < keys/2 {
		t.Errorf("only %d of %d were answered", ok, keys)
	}
}

// A hot document that changes all the time is loaded about once for each change,
// however many ask for it.
func TestStressPostgres_Herd_Storm(t *testing.T) {
	s, conn, url := newHerd(t)
	s.connect().mustHit(t, "/flat/1")
	ctx, cancel := context.WithTimeout(t.Context(), min(testbed.Length(2*time.Second), 10*time.Second))
	defer cancel()
	before, stored := testbed.Number(t, conn, loads), s.Resource("flat").Stats()
	var reads, wrong atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		c := s.connect()
		wg.Go(func() {
			for testbed.Breathe(ctx) {
				a, err := c.get("/flat/1")
				if err != nil || a.code != 200 || !strings.HasPrefix(string(a.body), `{"id":1,"value":`) {
					wrong.Add(1)
				}
				reads.Add(1)
			}
		})
	}
	writer, changes, stalled := testbed.Dial(t, url), int64(0), time.Duration(0)
	testbed.MustExec(t, writer, "SET synchronous_commit = off")
	for ctx.Err() == nil {
		begun := time.Now()
		testbed.MustExec(t, writer, "UPDATE flat SET value = value + 1 WHERE id = 1")
		if took := time.Since(begun); took > 20*time.Millisecond {
			stalled += took
		}
		changes++
		testbed.Pause(ctx, 500*time.Microsecond)
	}
	wg.Wait()
	queries, st := testbed.Number(t, conn, loads)-before, s.Resource("flat").Stats()
	testbed.Figures(t, "%d changes of a hot key, %d reads, %d queries (%.2f a change; %d stored, "+
		"%d not, because the change was not settled)", changes, reads.Load(), queries,
		float64(queries)/float64(changes), st.Stored-stored.Stored, st.Discarded-stored.Discarded)
	// A change costs the load after it and, while it is not settled, a round trip
	// to the database at most, loads that are not kept: one at a time, so two or
	// three in that time. A commit for which the server takes long, having logged it, is
	// not settled all the while.
	if queries > 3*changes+16+int64(stalled/(100*time.Microsecond)) || wrong.Load() > 0 || changes == 0 {
		t.Errorf("%d queries for %d changes, %d wrong answers", queries, changes, wrong.Load())
	}
}
