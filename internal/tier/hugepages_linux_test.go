package tier

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

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

func TestKeepHuge_MovesTheHeapIntoHugePages(t *testing.T) {
	const size = 32 << 20
	heap := make([]byte, size)
	for i := 0; i < size; i += smallPage {
		heap[i] = 1
	}
	before := hugeBytes(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- KeepHuge(ctx, func() uint64 { return hugeFrom }) }()
	deadline := waittest.Deadline(20 * time.Second)
	for hugeBytes(t)-before < size/2 {
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
	for i := 0; i < size; i += smallPage {
		if heap[i] != 1 {
			t.Fatalf("byte %d of the heap is %d", i, heap[i])
		}
	}
}

func TestKeepHuge_LeavesASmallCacheAlone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := hugeBytes(t)
	if err := KeepHuge(ctx, func() uint64 { return hugeFrom - 1 }); err != nil {
		t.Logf("not on this system: %v", err)
	}
	if after := hugeBytes(t); after > before+hugePage {
		t.Errorf("%d bytes in huge pages before, %d after", before, after)
	}
}

func TestAnonymous_FindsTheHeap(t *testing.T) {
	list, err := anonymous()
	if err != nil {
		t.Fatal(err)
	}
	total := uintptr(0)
	for _, s := range list {
		if s.from >= s.to {
			t.Errorf("a range from %x to %x", s.from, s.to)
		}
		total += s.to - s.from
	}
	if total < 1<<20 {
		t.Errorf("%d bytes in %d ranges: the heap is missing", total, len(list))
	}
}
