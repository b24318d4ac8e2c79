package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/tier"
)

// tuneCollector tells Go's collector of garbage what memory there is, as long as ctx
// lasts. GOMEMLIMIT and GOGC in the environment override it.
//
// It works harder rather than let the heap grow far beyond what the cache may hold:
// without a limit, garbage may double what a changing cache takes. And it does not
// run for a few megabytes: while it runs, all wait for it, and a heap that is almost
// empty is full of garbage again within milliseconds of writes.
func (p *program) tuneCollector(ctx context.Context, cache int64) {
	limit := tier.MemoryLimit(cache)
	if !p.inEnvironment("GOMEMLIMIT") {
		debug.SetMemoryLimit(limit)
	}
	if !p.inEnvironment("GOGC") {
		go easeCollector(ctx, (limit-cache)/2)
	}
}

// inEnvironment reports whether a variable is set.
func (p *program) inEnvironment(name string) bool {
	return slices.ContainsFunc(p.env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
}

// collectorPercent is Go's own setting of GOGC.
const collectorPercent = 100

// easeCollector lets so many bytes of garbage gather before they are collected, or as
// many as are in use, as Go does by itself, if that is more.
func easeCollector(ctx context.Context, garbage int64) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	defer debug.SetGCPercent(collectorPercent)
	set := collectorPercent
	for {
		// Each change stops the world for a moment.
		if next := gcPercent(heapInUse(), garbage); 10*abs(next-set) > set {
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

// gcPercent returns the setting of GOGC for a heap of which live bytes are in use. Go
// takes a smaller one for one of 4 MiB.
func gcPercent(live, garbage int64) int {
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
