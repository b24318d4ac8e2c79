package lists

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/testbed"
)

// rows returns how many rows the large tables have.
func rows() int {
	if *testbed.Duration > 0 {
		return 1_000_000
	}
	return 100_000
}

// A large table costs neither time at the start nor memory beyond what is
// configured.
func TestStressPostgres_MillionRows(t *testing.T) {
	url := dbtest.Postgres(t)
	conn := testbed.Dial(t, url)
	testbed.MustExec(t, conn, "CREATE TABLE flat (id int PRIMARY KEY, value text)",
		fmt.Sprintf("INSERT INTO flat SELECT i, lpad(i::text, 600, 'x') FROM generate_series(1, %d) i",
			rows()), "ANALYZE flat")
	large(t, testbed.OpenPostgres(t, url), source.FeedLogical)
}

// The same with SQLite.
func TestStressSQLite_MillionRows(t *testing.T) {
	path := dbtest.SQLite(t)
	dbtest.SQLiteShell(t, path, fmt.Sprintf(`PRAGMA journal_mode = wal; PRAGMA synchronous = off;
		CREATE TABLE flat (id INTEGER PRIMARY KEY, value TEXT);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO flat SELECT i, printf('%%0600d', i) FROM n;`, rows()))
	large(t, testbed.OpenSQLite(t, path, sqlite.Options{}), source.FeedSQLite)
}

// large serves the table flat of src and reads much more of it than fits.
func large(t *testing.T, src source.Source, mode source.FeedMode) {
	t.Helper()
	const bound, reads, batch = 32 << 20, 100_000, 100
	debug.FreeOSMemory()
	before := resident(t)
	begin := time.Now()
	s := testbed.Over(t, src, testbed.Plan{Specs: []resource.Spec{testbed.Spec("flat")}, Mode: mode, Memory: bound})
	ready, early := time.Since(begin), s.Memory.Stats().Entries

	r, n := s.Resource("flat"), rows()
	peak := int64(0)
	begin = time.Now()
	for range reads / batch {
		keys := make([]row.Key, batch)
		for i := range keys {
			keys[i] = row.Key(strconv.Itoa(1 + rand.IntN(n)))
		}
		for i, a := range r.Load(context.Background(), keys, resource.Options{}) {
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			if a.Key != keys[i] || !strings.HasPrefix(string(a.Doc.Body()), `{"id":`+string(a.Key)+`,`) {
				t.Fatalf("key %s got %.40s", keys[i], a.Doc.Body())
			}
		}
		peak = max(peak, resident(t))
	}
	took, st := time.Since(begin), s.Memory.Stats()
	testbed.Figures(t, "%d rows: ready after %v; %d random keys in %v; %d documents in %.1f of %d MiB, "+
		"%d evicted; resident %+.1f MiB at most", n, ready.Round(time.Millisecond), reads,
		took.Round(time.Millisecond), st.Entries, mib(int64(st.Bytes)), bound>>20, st.Evictions,
		mib(peak-before))
	// It takes milliseconds, or what a busy machine makes of them.
	if ready > 20*time.Second || early > 0 {
		t.Errorf("ready after %v with %d documents, want none before they are asked for", ready, early)
	}
	if st.Bytes > st.MaxBytes || st.Evictions == 0 {
		t.Errorf("%d bytes of %d, %d evicted: the bound was not tried", st.Bytes, st.MaxBytes,
			st.Evictions)
	}
	// The collector lets the heap grow to twice of what is live; the rest are
	// batches under way and SQLite's page caches.
	if limit := int64(2*bound + 48<<20); peak-before > limit {
		t.Errorf("resident memory grew by %.1f MiB, want %.1f at most", mib(peak-before), mib(limit))
	}
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// resident returns the bytes of the process that are in memory.
func resident(t testing.TB) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("the test reads /proc: %v", err)
	}
	fields := strings.Fields(string(text))
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
