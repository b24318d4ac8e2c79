package httpfront

import (
	"slices"

	"github.com/hotrow/hotrow/internal/front"
)

// ResourceStats are the counters of one resource, by status.
type ResourceStats = front.ResourceStats[int]

// WatchStats are the numbers of what is followed.
type WatchStats struct {
	Open    int
	Events  uint64 // sent
	Refused uint64 // watches that were one too many
}

// Watches returns the numbers of what is followed.
func (h *Handler) Watches() WatchStats {
	ws := &h.watches
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return WatchStats{Open: ws.open, Events: ws.events.Load(), Refused: ws.refused.Load()}
}

// Stats returns a snapshot of the counters, by the name of the resource. What
// event loops have answered is among them, with the durations of its wake-ups (see
// front.Turn).
func (h *Handler) Stats() []ResourceStats {
	h.requests.Keep(h.live.Load().named, func(*ResourceStats) {})
	all := h.requests.Sum()
	if l := h.loops.Load(); l != nil {
		l.addStats(all)
	}
	return all.List()
}

// addStats adds what the loops have answered.
func (l *protocol) addStats(all front.ByResource[int]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget()
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

// named reports whether a resource of a name is served.
func (o *settings) named(name string) bool {
	_, ok := o.Resources.Lookup(name)
	return ok
}

// serves reports whether r is what is served under its name.
func (o *settings) serves(r *loopResource) bool {
	now, ok := o.Resources.Lookup(r.name)
	return ok && now == r.Resource
}

// forget forgets the counters of resources that a reload has taken away. l.mu is held.
func (l *protocol) forget() {
	live := l.h.live.Load()
	l.counted = slices.DeleteFunc(l.counted, func(r *loopResource) bool { return !live.serves(r) })
}
