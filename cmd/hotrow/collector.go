package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"time"
)

// tuneCollector tells Go's collector of garbage what memory there is, as long as ctx
// lasts. GOMEMLIMIT and GOGC in the environment override it.
//
// It works harder rather than let the heap grow far beyond what the cache may hold:
// without a limit, garbage may double what a changing cache takes. And it does not
// run for a few megabytes: while it runs, all wait for it, and a heap that is almost
// empty is full of garbage again within milliseconds of writes. Nor does it run twice
// as often as it must while most of what the cache may take is free.
func (p *program) tuneCollector(ctx context.Context, b budget) {
	if !p.inEnvironment("GOMEMLIMIT") {
		debug.SetMemoryLimit(b.heap)
	}
	if !p.inEnvironment("GOGC") {
		go easeCollector(ctx, b.heap, (b.heap-b.cache)/2)
	}
}

// inEnvironment reports whether a variable is set.
func (p *program) inEnvironment(name string) bool {
	return slices.ContainsFunc(p.env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
}

// collectorPercent is Go's own setting of GOGC.
const collectorPercent = 100

// easeCollector says every second how much garbage may gather, see gcPercent.
func easeCollector(ctx context.Context, limit, garbage int64) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	defer debug.SetGCPercent(collectorPercent)
	set := collectorPercent
	for {
		// Each change stops the world for a moment.
		if next := gcPercent(heapInUse(), limit, garbage); 10*abs(next-set) > set {
			debug.SetGCPercent(next)
			set = next
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// gcPercent returns the setting of GOGC for a heap of which live bytes are in use, and
// which has a limit: garbage gathers up to so many bytes, or twice what is in use if half
// of what is free is left then, or as much as is in use, as Go does by itself. Go takes a
// smaller setting for a heap of 4 MiB.
func gcPercent(live, limit, garbage int64) int {
	garbage = max(garbage, min(2*live, (limit-live)/2))
	return int(max(collectorPercent, garbage*100/max(live, 4<<20)))
}

func abs(n int) int { return max(n, -n) }

// heapInUse returns the bytes that the last collection has left.
func heapInUse() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}
