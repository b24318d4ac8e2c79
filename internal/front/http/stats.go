package httpfront

import (
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// stats counts requests. It takes no lock: a request adds to counters of its
// resource, which are made at the first request for it and never removed.
type stats struct {
	byResource sync.Map // of *counters, by name; "" is what reached none
}

// counters are what is counted for one resource.
type counters struct {
	codes [600]atomic.Uint64 // by status
	took  front.Durations
}

// observe counts one request that was answered with code after d.
func (s *stats) observe(resource string, code int, d time.Duration) {
	v, ok := s.byResource.Load(resource)
	if !ok {
		v, _ = s.byResource.LoadOrStore(resource, new(counters))
	}
	c := v.(*counters)
	if code <= 0 || code >= len(c.codes) {
		code = 0 // the client went away before there was an answer
	}
	c.codes[code].Add(1)
	c.took.Add(d, 1)
}

// ResourceStats are the counters of one resource.
type ResourceStats struct {
	Resource string         // "" for requests that reached none
	Codes    map[int]uint64 // requests by status; 0: gone before an answer
	front.Histogram
}

// Stats returns a snapshot of the counters, by the name of the resource. What
// event loops have answered is among them, with the durations of its wake-ups (see
// front.WakeUp).
func (h *Handler) Stats() []ResourceStats {
	all := h.handled()
	if l := h.loops.Load(); l != nil {
		l.addStats(func(resource string) *ResourceStats {
			i := slices.IndexFunc(all, func(s ResourceStats) bool { return s.Resource == resource })
			if i < 0 {
				i = len(all)
				all = append(all, ResourceStats{Resource: resource, Codes: map[int]uint64{}})
			}
			return &all[i]
		})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Resource < all[j].Resource })
	return all
}

// addStats adds what the loops have answered. of returns where to.
func (l *protocol) addStats(of func(resource string) *ResourceStats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.counted {
		s := of(r.Name())
		r.hits.AddTo(&s.Histogram)
		same := r.notModified.Load()
		lists, listed, unlisted := r.lists.Load(), r.listed.Load(), r.unlisted.Load()
		found := max(r.tally.Hits()+r.tally.Stale(), same+listed)
		absent := max(r.tally.Absent(), unlisted)
		for code, n := range map[int]uint64{304: same + r.keptSame.Load(),
			200: found - same - listed + lists + r.kept.Load(), 206: r.keptPart.Load(),
			404: absent - unlisted} {
			if n > 0 {
				s.Codes[code] += n
			}
		}
	}
}

// Hits returns the durations of what event loops have answered from memory.
func (h *Handler) Hits() front.Histogram {
	var all front.Histogram
	l := h.loops.Load()
	if l == nil {
		return all
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.counted {
		r.hits.AddTo(&all)
	}
	return all
}

// handled returns what the Handler itself has answered.
func (h *Handler) handled() []ResourceStats {
	var all []ResourceStats
	h.stats.byResource.Range(func(name, v any) bool {
		c := v.(*counters)
		s := ResourceStats{Resource: name.(string), Codes: map[int]uint64{}}
		for code := range c.codes {
			if n := c.codes[code].Load(); n > 0 {
				s.Codes[code] = n
			}
		}
		c.took.AddTo(&s.Histogram)
		all = append(all, s)
		return true
	})
	return all
}
