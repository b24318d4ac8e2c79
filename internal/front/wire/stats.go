package wirefront

import (
	"slices"
	"sort"
	"strconv"
	"sync/atomic"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
)

// stats counts what no loop counts for itself. It takes no lock.
type stats struct {
	front.Requests[gofast.Code]
	broken   atomic.Uint64 // connections that ended because of their peer
	slow     atomic.Uint64 // watchers that were cut off
	watchers atomic.Int64  // that there are
	events   atomic.Uint64 // told to watchers: readies, changes and resets
	batches  atomic.Uint64 // reads of several requests' documents at once
}

// ResourceStats are the counters of one resource.
type ResourceStats = front.ResourceStats[gofast.Code]

// Stats are the counters of a Front.
type Stats struct {
	Resources []ResourceStats
	Wire      gofast.Stats // of all connections that are or were
	Open      int          // connections now
	Broken    uint64       // connections that ended because of what their peer sent
	Watchers  int          // watches that are open
	Events    uint64       // told to watchers, one for each of them
	Slow      uint64       // watchers cut off because they did not keep up
	Batches   uint64       // reads of the database for several requests at once
}

// Stats returns a snapshot of the counters, resources by name.
func (f *Front) Stats() Stats {
	st := Stats{Wire: f.total(), Broken: f.stats.broken.Load(), Slow: f.stats.slow.Load(),
		Batches: f.stats.batches.Load(), Watchers: int(f.stats.watchers.Load()),
		Events: f.stats.events.Load()}
	live := f.live.Load()
	f.stats.Keep(func(name string) bool {
		_, ok := live.Resources.Lookup(name)
		return ok
	}, func(*ResourceStats) {})
	all := f.stats.Sum()
	f.mu.Lock()
	f.counted = slices.DeleteFunc(f.counted, func(r *served) bool {
		return !live.serves(r.Resource)
	})
	st.Open = len(f.conns)
	for _, r := range f.counted {
		r.addTo(all.Of(r.name))
	}
	f.mu.Unlock()
	st.Resources = all.List()
	return st
}

// serves reports whether r is what is served under its name.
func (o *Options) serves(r *resource.Resource) bool {
	now, ok := o.Resources.Lookup(r.Name())
	return ok && now == r
}

// addTo adds what a loop has answered. That there is no row is an answer, too.
func (r *served) addTo(s *ResourceStats) {
	if n := r.tally.Hits() + r.tally.Absent(); n > 0 {
		s.Codes[gofast.OK] += n
	}
	r.hits.AddTo(&s.Histogram)
}

// register adds the counters of one loop to what Stats adds up.
func (f *Front) register(r *served) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counted = append(f.counted, r)
}

// add notes a new connection, and gives it its name.
func (f *Front) add(c *conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.numbers++
	c.number, c.name = f.numbers, "wire-"+strconv.FormatUint(f.numbers, 10)
	f.conns[c] = struct{}{}
}

// remove forgets a connection, whose counters have been these.
func (f *Front) remove(c *conn, s *gofast.Stats) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
	f.ended.Add(s)
}

// Transports returns the names of the connections of now.
func (f *Front) Transports() []string {
	names := []string{}
	for _, c := range f.list() {
		names = append(names, c.name)
	}
	sort.Strings(names)
	return names
}

// Transport returns the counters of one connection under gofast's names, or, of
// "", of all that are or were.
func (f *Front) Transport(name string) (map[string]uint64, bool) {
	if name == "" {
		total := f.total()
		return total.Map(), true
	}
	for _, c := range f.list() {
		if c.name == name {
			c.mu.Lock()
			defer c.mu.Unlock()
			s := c.session.Stats()
			return s.Map(), true
		}
	}
	return nil, false
}

// total returns the counters of all connections that are or were.
func (f *Front) total() gofast.Stats {
	conns := f.list()
	f.mu.Lock()
	sum := f.ended
	f.mu.Unlock()
	for _, c := range conns {
		c.mu.Lock()
		if s := c.session.Stats(); !c.ended {
			sum.Add(&s)
		}
		c.mu.Unlock()
	}
	return sum
}
