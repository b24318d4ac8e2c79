package resource

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/tier"
)

// warmed waits until a resource has made n rounds.
func (h *house) warmed(name string, n uint64) {
	h.t.Helper()
	h.until(func() bool { return h.resource(name).Stats().Warm.Rounds >= n })
}

// TestWarm_LoadsEveryRow of a table whose size is no multiple of anything.
func TestWarm_LoadsEveryRow(t *testing.T) {
	const more = 2*warmBatch + 7
	h := newHouse(t, func(o *SetOptions) {
		sql := fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n"+
			" WHERE i < 99 + %d) INSERT INTO dept SELECT i, 'D', 'L' FROM n", more)
		if err := o.Sources[0].Source.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		o.Resources[0].Warm = new(Warm)
	})
	h.warmed("dept", 1)
	st := h.resource("dept").Stats()
	if !st.Warm.Asked || st.Warm.Keys != more+2 || st.Warm.Loaded != more+2 {
		t.Errorf("%+v, want %d keys", st.Warm, more+2)
	}
	for _, key := range []string{"10", "20", "100", fmt.Sprint(99 + more)} {
		if _, from := h.get("dept", key, Options{}); from != HitMemory {
			t.Errorf("%s comes from %v", key, from)
		}
	}
	if st := h.resource("emp").Stats(); st.Warm.Asked || st.Stored != 0 {
		t.Errorf("emp is warm, too: %+v", st)
	}
}

func TestWarm_LoadsWhatAQueryNames(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) {
		o.Resources[1].Warm = &Warm{Query: "SELECT empno FROM emp WHERE sal > 1000 ORDER BY sal DESC"}
	})
	h.warmed("emp", 1)
	if n := h.resource("emp").Stats().Stored; n != 2 {
		t.Errorf("%d documents are loaded, want 2", n)
	}
	if _, from := h.get("emp", "7839", Options{}); from != HitMemory {
		t.Errorf("7839 comes from %v", from)
	}
}

// TestWarm_StopsWhereTheCacheIsFull: more would push out what was loaded.
func TestWarm_StopsWhereTheCacheIsFull(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) {
		o.Memory = tier.NewMemory(0)
		o.Resources[0].Warm = new(Warm)
	})
	h.warmed("dept", 1)
	if n := h.resource("dept").Stats().Warm.Keys; n > warmBatch {
		t.Errorf("%d keys were looked at", n)
	}
}

// TestWarm_BeginsAgainAfterAGap, since everything has been forgotten.
func TestWarm_BeginsAgainAfterAGap(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) { o.Resources[0].Warm = new(Warm) })
	h.warmed("dept", 1)
	u := h.resource("dept").revision.Load().src
	u.follower.Attached("elsewhere", 1, 0)
	h.warmed("dept", 2)
	h.ready()
	if _, from := h.get("dept", "10", Options{}); from != HitMemory {
		t.Errorf("after a gap: from %v", from)
	}
}

// TestWarm_WaitsUntilLoadsAreStored: while a change of the whole table is not settled, as after a
// feed's beginning, no load is stored, and to go through the table would be in vain.
func TestWarm_WaitsUntilLoadsAreStored(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) { o.Resources[0].Warm = new(Warm) })
	h.warmed("dept", 1)
	f := h.resource("dept").revision.Load()
	held := []fresh.Invalidation{{Space: f.space, Whole: true}}
	f.src.domain.Hold(held)
	f.src.follower.Attached("elsewhere", 1, 0)
	for looks := 0; looks < 1000 && h.resource("dept").Stats().Warm.Rounds < 2 && t.Context().Err() == nil; looks++ {
		time.Sleep(time.Millisecond) // between polls
	}
	f.src.domain.Release(held, 0)
	h.warmed("dept", 2)
	h.ready()
	if _, from := h.get("dept", "10", Options{}); from != HitMemory {
		t.Errorf("after a round: from %v", from)
	}
}

// A deaf source has a feed that leaves out what it is told to, and does not say
// so.
type deaf struct {
	source.Source
	deaf atomic.Bool
}

func (s *deaf) OpenFeed(ctx context.Context, m source.FeedMode, w []source.Watched) (
	source.Feed, string, error) {
	f, why, err := s.Source.OpenFeed(ctx, m, w)
	return deafFeed{f, s}, why, err
}

type deafFeed struct {
	source.Feed
	s *deaf
}

func (f deafFeed) Unobservable() string { return "what it is told to leave out" }

func (f deafFeed) Run(ctx context.Context, h source.Handler) error {
	return f.Feed.Run(ctx, deafHandler{h, f.s})
}

type deafHandler struct {
	source.Handler
	s *deaf
}

func (h deafHandler) Apply(tx *source.Tx) {
	if h.s.deaf.Load() {
		h.Advance(tx.Pos)
		return
	}
	h.Handler.Apply(tx)
}

func TestAudit_FindsWhatTheFeedLeftOut(t *testing.T) {
	var s deaf
	var logged lockedBuffer
	h := newHouse(t, func(o *SetOptions) {
		s.Source = o.Sources[0].Source
		o.Sources[0].Source, o.Sources[0].Audit = &s, 200
		o.Log = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelError}))
	})
	h.hit("dept", "10")
	audited := func() uint64 { return h.set.Stats().Sources[0].Audited }
	for _, change := range []string{"UPDATE dept SET loc = 'X' WHERE deptno = 10",
		"UPDATE dept SET loc = 'Y' WHERE deptno = 10"} {
		h.exec(change)
		h.hit("dept", "10")
		n := audited()
		h.until(func() bool { h.hit("dept", "10"); return audited() > n+20 })
	}
	if n := h.set.Stats().Sources[0].AuditStale; n != 0 {
		t.Fatalf("%d copies were taken to be wrong, none is", n)
	}
	h.until(func() bool { return strings.Contains(h.hit("dept", "10"), `"Y"`) })
	s.deaf.Store(true)
	h.exec("UPDATE dept SET loc = 'Z' WHERE deptno = 10")
	h.until(func() bool { return h.set.Stats().Sources[0].AuditStale > 0 })
	if got, _ := h.get("dept", "10", Options{}); !strings.Contains(got, `"Z"`) {
		t.Errorf("after the auditor has seen it: %s", got)
	}
	if got := logged.String(); !strings.Contains(got, "cannot tell of what it is told to leave out") {
		t.Errorf("the log does not name the known cause: %s", got)
	}
}

// A lockedBuffer is a log that a test reads while others write it.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestDisk_RestartGoesOn: with the change log a process finds what another has
// left, but for what was changed meanwhile.
func TestDisk_RestartGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cache.db")
	first := newDiskHouse(t, file, nil)
	db := databaseOf(t, first)
	src := first.source
	tables := first.resource("dept").revision.Load().src.wanted(nil)
	found, err := src.Doctor(t.Context(), source.FeedSQLite, tables)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if err := src.Exec(t.Context(), f.Apply...); err != nil {
			t.Fatal(err)
		}
	}
	first.until(func() bool { _, ok := placeOf(first); return ok })
	for _, key := range []string{"10", "20"} {
		first.until(func() bool {
			_, from := first.get("dept", key, Options{})
			return from == HitDisk
		})
	}
	// The place that is on disk must include what has been read.
	disk := first.set.disk
	first.until(func() bool {
		_, ok := disk.Source("main").Committed()
		return ok && disk.Sync() == nil
	})
	if err := first.set.Close(); err != nil {
		t.Fatal(err)
	}
	if err := disk.Close(); err != nil {
		t.Fatal(err)
	}
	first.exec("UPDATE dept SET loc = 'MOVED' WHERE deptno = 20") // nobody follows

	d, err := tier.OpenDisk(tier.DiskOptions{Path: file, MaxBytes: 16 << 20,
		FlushEvery: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	again, err := sqlite.Open(t.Context(), db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	second := &house{t: t, other: first.other, source: again, memory: tier.NewMemory(0)}
	second.set, err = Open(t.Context(), SetOptions{Memory: second.memory, Disk: d,
		Sources: []SourceOptions{{Name: "main", Source: again}}, Resources: houseSpecs()})
	if err != nil {
		t.Fatal(err)
	}
	defer second.set.Close()
	second.ready()
	if _, from := second.get("dept", "10", Options{}); from != HitDisk {
		t.Errorf("what an earlier process left comes from %v", from)
	}
	if got, from := second.get("dept", "20", Options{}); !strings.Contains(got, "MOVED") {
		t.Errorf("what changed meanwhile: %s from %v", got, from)
	}
}

// databaseOf returns the file of the house.
func databaseOf(t *testing.T, h *house) (path string) {
	t.Helper()
	err := h.other.QueryRow("SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// placeOf returns from where the feed of the house would go on.
func placeOf(h *house) (source.Checkpoint, bool) {
	c := h.resource("dept").revision.Load().src.feed.Load()
	return c.feed.(source.Resumer).Checkpoint(1 << 60)
}
