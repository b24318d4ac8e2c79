package kv

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// stats counts what no loop counts for itself. It takes no lock.
type stats struct {
	byResource sync.Map      // of *counters, by name
	unknown    atomic.Uint64 // keys that name no resource
	batches    atomic.Uint64

	foreign   atomic.Uint64 // connections whose peers speak another protocol
	foreignAt atomic.Int64  // when the log said so last, in nanoseconds since 1970
}

// counters are what is counted for one resource.
type counters struct {
	byCode sync.Map // of *atomic.Uint64
	took   front.Durations
}

// observe counts one read or write that was answered after d.
func (s *Store) observe(resource, code string, d time.Duration) {
	v, ok := s.stats.byResource.Load(resource)
	if !ok {
		v, _ = s.stats.byResource.LoadOrStore(resource, new(counters))
	}
	c := v.(*counters)
	n, ok := c.byCode.Load(code)
	if !ok {
		n, _ = c.byCode.LoadOrStore(code, new(atomic.Uint64))
	}
	n.(*atomic.Uint64).Add(1)
	c.took.Add(d, 1)
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
}

// Stats returns a snapshot of the counters, resources by name.
func (s *Store) Stats() Stats {
	st := Stats{Unknown: s.stats.unknown.Load(), Batches: s.stats.batches.Load()}
	all := make(front.ByResource[string])
	s.stats.byResource.Range(func(name, v any) bool {
		c, r := v.(*counters), all.Of(name.(string))
		c.byCode.Range(func(code, n any) bool {
			text := code.(string)
			if text == "" {
				text = "ok"
			}
			r.Codes[text] += n.(*atomic.Uint64).Load()
			st.Misses += n.(*atomic.Uint64).Load()
			return true
		})
		c.took.AddTo(&r.Histogram)
		return true
	})
	s.mu.Lock()
	for _, r := range s.counted {
		n := r.tally.Hits() + r.tally.Absent() + r.tally.Stale() + r.lists.Load()
		if n > 0 {
			all.Of(r.name).Codes["ok"] += n
			st.Hits += n
		}
		st.NoKey += r.nothing.Load()
		r.hits.AddTo(&all.Of(r.name).Histogram)
	}
	s.mu.Unlock()
	st.Resources = all.List()
	return st
}
