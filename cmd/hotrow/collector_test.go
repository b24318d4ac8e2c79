package main

import (
	"runtime"
	"testing"
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
		{"as much in use as may gather", 64 * mib, 64 * mib, 200},
		{"a fifth of the limit", 192 * mib, 64 * mib, 200},
		{"a quarter", 240 * mib, 64 * mib, 150},
		{"a third", 320 * mib, 64 * mib, 100},
		{"half", 480 * mib, 64 * mib, 100},
		{"a full cache", 960 * mib, 64 * mib, 100},
		{"more than there is", 4096 * mib, 64 * mib, 100},
	} {
		if got := gcPercent(c.live, 960*mib, c.garbage); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
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
