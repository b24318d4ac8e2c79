package main

import (
	"runtime/debug"
	"testing"
)

func TestDivide(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		name         string
		asked, limit int64
		cache        int64
	}{
		{"nothing said, no limit", 0, 0, 512 * mib},
		{"no limit", 64 * mib, 0, 64 * mib},
		{"a small limit", 0, 100 * mib, 25 * mib},
		{"a limit", 0, 1000 * mib, 452 * mib},
		{"a large limit", 0, 64 << 30, 512 * mib},
		{"what was asked for stands", 900 * mib, 1000 * mib, 900 * mib},
	} {
		b := divide(tt.asked, tt.limit)
		if b.cache != tt.cache {
			t.Errorf("%s: the cache takes %d, want %d", tt.name, b.cache, tt.cache)
		}
		room := max(tt.limit/2, tt.limit-96*mib)
		if tt.limit > 0 && tt.asked == 0 && b.answers()+b.heap > room || b.heap > b.cache/2+128*mib {
			t.Errorf("%s: the heap takes %d", tt.name, b.heap)
		}
	}
}

func TestMemoryLimit_IsNotThatOfAnEarlierServer(t *testing.T) {
	before, own := memoryLimit(), debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(own)
	debug.SetMemoryLimit(divide(0, 256<<20).heap)
	if after := memoryLimit(); after != before {
		t.Errorf("the process may take %d, after a server has set its limit %d", before, after)
	}
}
