package kv

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// stats counts what no loop counts for itself. It takes no lock.
type stats struct {
	front.Requests[string]
	unknown atomic.Uint64 // keys that name no resource
	batches atomic.Uint64

	foreign   atomic.Uint64 // connections whose peers speak another protocol
	foreignAt atomic.Int64  // when the log said so last, in nanoseconds since 1970
}

// observe counts one read or write that was answered after d.
func (s *Store) observe(resource, code string, d time.Duration) {
	s.stats.Observe(resource, cmp.Or(code, "ok"), d)
}

// register adds the counters of one loop to what Stats adds up.
func (s *Store) register(r *Served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counted = append(s.counted, r)
}

// ResourceStats are the counters of one resource. A code is that of a failure, "ok"
// stands for all else.
type ResourceStats = front.ResourceStats[string]

// Stats are the counters of a Store.
type Stats struct {
	Resources []ResourceStats
	Unknown   uint64 // keys that name no resource
	NoKey     uint64 // keys that no row can have
	Batches   uint64 // reads of the database, each for all that was missing of a resource
	Hits      uint64 // keys answered from memory
	Misses    uint64 // keys that were read
	Rejected  uint64 // connections that were one too many
}

// answered returns how many keys a loop has answered from memory.
func (r *Served) answered() uint64 {
	return r.tally.Hits() + r.tally.Absent() + r.tally.Stale() + r.lists.Load()
}

// forget forgets the counters of resources that a reload has taken away, but for the sums.
func (s *Store) forget() {
	set := s.Live().Resources
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counted = slices.DeleteFunc(s.counted, func(r *Served) bool {
		if now, ok := set.Lookup(r.name); ok && now == r.Resource {
			return false
		}
		s.gone.Hits += r.answered()
		s.gone.NoKey += r.nothing.Load()
		return true
	})
	s.stats.Keep(func(name string) bool {
		_, ok := set.Lookup(name)
		return ok
	}, func(r *ResourceStats) {
		for _, n := range r.Codes {
			s.gone.Misses += n
		}
	})
}

// Stats returns a snapshot of the counters, resources by name.
func (s *Store) Stats() Stats {
	s.forget()
	st := Stats{Unknown: s.stats.unknown.Load(), Batches: s.stats.batches.Load()}
	all := s.stats.Sum()
	for _, r := range all {
		for _, n := range r.Codes {
			st.Misses += n
		}
	}
	s.mu.Lock()
	st.Hits, st.NoKey = s.gone.Hits, s.gone.NoKey
	st.Misses += s.gone.Misses
	for _, r := range s.counted {
		n := r.answered()
		if n > 0 {
			all.Of(r.name).Codes["ok"] += n
			st.Hits += n
		}
		st.NoKey += r.nothing.Load()
		r.hits.AddTo(&all.Of(r.name).Histogram)
	}
	for _, site := range s.sites {
		refused := site.Refused()
		st.Rejected += uint64(refused.Connections + refused.OfOne)
	}
	s.mu.Unlock()
	st.Resources = all.List()
	return st
}
