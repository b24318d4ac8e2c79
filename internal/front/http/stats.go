package httpfront

import (
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
		code = statusGone
	}
	c.codes[code].Add(1)
	c.took.Add(d, 1)
}

// ResourceStats are the counters of one resource, by status.
type ResourceStats = front.ResourceStats[int]

// Stats returns a snapshot of the counters, by the name of the resource. What
// event loops have answered is among them, with the durations of its wake-ups (see
// front.WakeUp).
func (h *Handler) Stats() []ResourceStats {
	all := make(front.ByResource[int])
	h.stats.byResource.Range(func(name, v any) bool {
		v.(*counters).addTo(all.Of(name.(string)))
		return true
	})
	if l := h.loops.Load(); l != nil {
		l.addStats(all)
	}
	return all.List()
}

// addTo adds what the Handler itself has answered.
func (c *counters) addTo(s *ResourceStats) {
	for code := range c.codes {
		if n := c.codes[code].Load(); n > 0 {
			s.Codes[code] += n
		}
	}
	c.took.AddTo(&s.Histogram)
}

// addStats adds what the loops have answered.
func (l *protocol) addStats(all front.ByResource[int]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.counted {
		s := all.Of(r.Name())
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
