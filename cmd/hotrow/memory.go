package main

import (
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/hotrow/hotrow/internal/tier"
)

const (
	// defaultCache is the budget of documents where nothing else is said.
	defaultCache = 512 << 20

	// listShare is the part of the cache (1/n) that is for lists: whoever asks for many
	// pushes no document out.
	listShare = 8

	// besidesHeap is what the process takes besides Go's heap: the program itself,
	// SQLite's connections (54 MiB of 16, with documents of 17 KB), files and sockets.
	// Where that is more than half of what there is, the heap has the other half.
	besidesHeap = 96 << 20
)

// A budget is how the process divides the memory that it may take, in bytes.
type budget struct {
	cache int64 // documents
	heap  int64 // all that Go allocates, the cache within it
}

// divide returns the budget of a process that may take limit bytes (0: as much as there
// is) and whose configuration says that documents may take asked bytes (0: nothing).
func divide(asked, limit int64) budget {
	b := budget{cache: asked}
	if asked == 0 {
		b.cache = defaultCache
	}
	if limit == 0 {
		b.heap = tier.MemoryLimit(b.cache)
		return b
	}
	heap := max(limit-besidesHeap, limit/2)
	if asked == 0 {
		b.cache = min(b.cache, heap/2)
	}
	b.heap = min(tier.MemoryLimit(b.cache), heap)
	return b
}

// environmentLimit is GOMEMLIMIT in bytes, or the largest number without. It is read
// before any server sets a limit of its own: a second server of the process would divide
// what the first has left, and the tests start hundreds.
var environmentLimit = debug.SetMemoryLimit(-1)

// memoryLimit returns what the process may take, in bytes: the limit of its cgroup
// (MemoryMax= of systemd, a container's) or GOMEMLIMIT, whichever is less; 0 without.
func memoryLimit() int64 {
	limit := environmentLimit
	// An error says that there is no cgroup, or that it has no limit.
	if group, err := memlimit.FromCgroup(); err == nil && group < uint64(limit) {
		limit = int64(group)
	}
	if limit == math.MaxInt64 {
		return 0
	}
	return limit
}

// budget decides how the memory is divided, and says so where something limits it.
func (s *server) budget() budget {
	asked, limit := int64(s.cfg().Cache.Memory), memoryLimit()
	b := divide(asked, limit)
	if limit == 0 {
		return b
	}
	args := []any{"limit", limit, "cache", b.cache, "heap", b.heap}
	if need := tier.MemoryLimit(asked); asked > 0 && need > b.heap {
		s.log.Warn("cache.memory needs more than the memory limit of this process leaves: lower "+
			"it, or leave it out", append(args, "needs", need)...)
		return b
	}
	s.log.Info("memory", args...)
	return b
}
