package main

import (
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/hotrow/hotrow/internal/tier"
)

const (
	// defaultCache is the budget of documents and lists where nothing else is said.
	defaultCache = 512 << 20

	// versionShare is the part of the cache (1/n) that the versions take which lists depend on,
	// between 512 KiB and mostVersions.
	versionShare = 32
	mostVersions = 32 << 20

	// besidesHeap is what the process takes besides documents and Go's heap: the program
	// itself, SQLite's connections (10 MiB of 16, with documents of 192 bytes), files and sockets.
	// Where that is more than half of what there is, the rest has the other half.
	besidesHeap = 96 << 20

	// requests is what Go's heap may take besides the cache: connections, requests, loads, and
	// garbage.
	requests = 128 << 20

	// heapShare is the part of the answers' budget (1/n) that their index, and what is attached
	// to them, take of Go's heap, at most.
	heapShare = 3
)

// A budget is how the process divides the memory that it may take, in bytes.
type budget struct {
	cache int64 // documents and lists, outside Go's heap for the most part
	heap  int64 // all that Go allocates
}

// versions is what of the cache the versions take that lists depend on.
func (b budget) versions() int64 {
	return min(max(b.cache/versionShare, 512<<10), mostVersions, b.cache/2)
}

// answers is what of the cache documents and lists take.
func (b budget) answers() int64 { return b.cache - b.versions() }

// onHeap is what of the cache is on Go's heap.
func (b budget) onHeap() int64 {
	n := b.versions() + b.answers()/heapShare
	if tier.OnHeap {
		n += b.answers()
	}
	return n
}

// needs is what the process needs for the cache and its requests.
func (b budget) needs() int64 { return b.cache + requests }

// divide returns the budget of a process that may take limit bytes (0: as much as there
// is) and whose configuration says that documents and lists may take asked bytes (0: nothing).
func divide(asked, limit int64) budget {
	b := budget{cache: asked}
	if asked == 0 {
		b.cache = defaultCache
	}
	if limit == 0 {
		b.heap = b.onHeap() + requests
		return b
	}
	room := max(limit-besidesHeap, limit/2)
	if asked == 0 {
		b.cache = min(b.cache, room/2)
	}
	b.heap = min(b.onHeap()+requests, max(room-b.answers(), room/4))
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
	if need := b.needs(); asked > 0 && need > max(limit-besidesHeap, limit/2) {
		s.log.Warn("cache.memory needs more than the memory limit of this process leaves: lower "+
			"it, or leave it out", append(args, "needs", need)...)
		return b
	}
	s.log.Info("memory", args...)
	return b
}
