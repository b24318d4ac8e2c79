package main

import (
	"runtime"
	"testing"

	"github.com/hotrow/hotrow/internal/tier"
)

func TestGCPercent(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name          string
		live, garbage int64
		want          int
	}{
		{"nothing collected yet", 0, 64 * mib, 1600},
		{"a small heap", 16 * mib, 64 * mib, 400},
		{"as much in use as may gather", 64 * mib, 64 * mib, 100},
		{"a full cache", 4096 * mib, 64 * mib, 100},
	} {
		if got := gcPercent(c.live, c.garbage); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// A full cache leaves little room for garbage, an empty one more; all together never
// takes more than the limit.
func TestGarbageOf(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name              string
		live, cache, want int64
	}{
		{"empty", 0, 512, 160},
		{"half full", 256, 512, 96},
		{"full", 512, 512, 64},
		{"more than full", 600, 512, 64},
		{"a large cache, a tenth of it full", 200, 2048, 559},
		{"a large cache that is full", 2048, 2048, 194},
	} {
		limit := tier.MemoryLimit(c.cache * mib)
		got := garbageOf(c.live*mib, limit, c.cache*mib)
		if got/mib != c.want {
			t.Errorf("%s: %d MiB, want %d", c.name, got/mib, c.want)
		}
		if c.live <= c.cache && c.live*mib+got > limit {
			t.Errorf("%s: %d MiB in use and %d of garbage are more than %d", c.name, c.live, got/mib,
				limit/mib)
		}
	}
}

// The collector's own figure is there: without it, garbage would gather as if the
// heap were empty.
func TestHeapInUse_IsKnown(t *testing.T) {
	kept := make([]byte, 8<<20)
	runtime.GC()
	if got := heapInUse(); got < int64(len(kept)) {
		t.Errorf("%d bytes are in use, at least %d are kept", got, len(kept))
	}
	kept[0] = 1
}
