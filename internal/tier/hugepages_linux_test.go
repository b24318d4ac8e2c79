package tier

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/waittest"
)

// hugeBytes returns how much of the process's memory is in huge pages.
func hugeBytes(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`AnonHugePages: *(\d+) kB`).FindSubmatch(b)
	if m == nil {
		t.Fatalf("no AnonHugePages in %s", b)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// filled returns a Memory that holds so many bytes of documents of 1 KiB.
func filled(t *testing.T, bytes int) *Memory {
	m := NewMemory(int64(2 * bytes))
	t.Cleanup(func() { _ = m.Close() })
	body := make([]byte, 1<<10)
	for i := range bytes / len(body) {
		ref := Ref{Resource: 1, Key: row.Key(strconv.Itoa(i))}
		m.Put(ref, row.NewDocument(ref.Key, row.FormatJSON, body, uint64(i), row.Stamp{Owner: 1}))
	}
	return m
}

func TestKeepHuge_MovesTheCacheIntoHugePages(t *testing.T) {
	m := filled(t, hugeFrom)
	before := hugeBytes(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.KeepHuge(ctx) }()
	deadline := waittest.Deadline(20 * time.Second)
	for hugeBytes(t)-before < hugeFrom/4 {
		select {
		case err := <-ended:
			if err == nil {
				t.Fatal("KeepHuge ended before its context")
			}
			t.Logf("not on this system: %v", err) // a kernel before 6.1, or without huge pages
			cancel()
			return
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d MiB in huge pages before, %d after", before>>20, hugeBytes(t)>>20)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("KeepHuge = %v", err)
	}
	if wrong := m.Check(); wrong != nil {
		t.Error(wrong)
	}
}

func TestKeepHuge_LeavesASmallCacheAlone(t *testing.T) {
	m := filled(t, 1<<20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := hugeBytes(t)
	if err := m.KeepHuge(ctx); err != nil {
		t.Logf("not on this system: %v", err)
	}
	if after := hugeBytes(t); after > before+hugePage {
		t.Errorf("%d bytes in huge pages before, %d after", before, after)
	}
}

// residentOf returns how many bytes of the arena the system has given it.
func residentOf(t *testing.T, m *Memory) (bytes int) {
	t.Helper()
	pages, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pages.Close() }()
	from, to := m.arena.Addresses()
	entries := make([]byte, (to-from)/smallPage*8)
	if _, err := pages.ReadAt(entries, int64(from/smallPage*8)); err != nil {
		t.Fatal(err)
	}
	for i := 7; i < len(entries); i += 8 {
		bytes += int(entries[i]>>7) * smallPage
	}
	return bytes
}

// TestMemory_CountsBytesAsTheyAre compares what is counted with what the system has given.
func TestMemory_CountsBytesAsTheyAre(t *testing.T) {
	if OnHeap || os.Getpagesize() != smallPage {
		t.Skip("the arena is not memory of its own") // with the race detector
	}
	for _, tt := range []struct {
		name    string
		entries int
		body    func(i int) int
	}{
		{"100 B", 100_000, func(int) int { return 100 }},
		{"1.6 KB", 20_000, func(int) int { return 1600 }},
		{"all sizes up to 4 KiB", 20_000, func(i int) int { return i * 7919 % 4096 }},
		{"pages", 1000, func(i int) int { return 30_000 + i*7919%70_000 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := NewMemory(128 << 20)
			t.Cleanup(func() { _ = m.Close() })
			useful := 0
			for i := range tt.entries {
				ref := Ref{Resource: 1, Key: row.Key(strconv.Itoa(i))}
				body := make([]byte, tt.body(i))
				useful += len(body) + len(ref.Key)
				m.Put(ref, row.NewDocument(ref.Key, row.FormatJSON, body, uint64(i), row.Stamp{Owner: 1}))
			}
			held, resident := int(m.arena.Stats().HeldBytes), residentOf(t, m)
			t.Logf("%d bytes of keys and bodies: %d counted, %d resident, %.3f with index and sketch",
				useful, held, resident, float64(int(m.Stats().HeldBytes)-held+resident)/float64(useful))
			if m.entries.Load() != int64(tt.entries) || held < resident*9/10 || held > resident*3/2 {
				t.Errorf("%d entries: %d bytes counted, %d resident", m.entries.Load(), held, resident)
			}
		})
	}
}
