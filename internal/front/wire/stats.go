package wirefront

import (
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/wire/gofast"
)

// Buckets are the upper bounds of the duration histograms, in seconds.
var Buckets = [...]float64{0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025,
	0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// stats counts what no loop counts for itself. It takes no lock.
type stats struct {
	byResource sync.Map      // of *counters, by name; "" is what reached none
	broken     atomic.Uint64 // connections that ended because of their peer
	slow       atomic.Uint64 // watchers that were cut off
	batches    atomic.Uint64 // reads of several requests' documents at once
}

// counters are what is counted for one resource.
type counters struct {
	codes   [17]atomic.Uint64 // by gofast.Code
	buckets [len(Buckets) + 1]atomic.Uint64
	nanos   atomic.Uint64
}

// observe counts one request that was answered with code after d.
func (s *stats) observe(resource string, code gofast.Code, d time.Duration) {
	v, ok := s.byResource.Load(resource)
	if !ok {
		v, _ = s.byResource.LoadOrStore(resource, new(counters))
	}
	c := v.(*counters)
	if int(code) >= len(c.codes) {
		code = gofast.Unknown
	}
	c.codes[code].Add(1)
	d = max(d, 0)
	c.buckets[bucketOf(d)].Add(1)
	c.nanos.Add(uint64(d))
}

// bucketOf returns the bucket of a duration. Most are short.
func bucketOf(d time.Duration) int {
	seconds, i := d.Seconds(), 0
	for i < len(Buckets) && seconds > Buckets[i] {
		i++
	}
	return i
}

// ResourceStats are the counters of one resource.
type ResourceStats struct {
	Resource string // "" for requests that reached none
	Codes    map[gofast.Code]uint64
	Buckets  []uint64 // requests, not cumulated, by Buckets; the last: slower than all
	Seconds  float64  // sum of the durations
}

// Stats are the counters of a Front.
type Stats struct {
	Resources []ResourceStats
	Wire      gofast.Stats // of all connections that are or were
	Open      int          // connections now
	Broken    uint64       // connections that ended because of what their peer sent
	Slow      uint64       // watchers cut off because they did not keep up
	Batches   uint64       // reads of the database for several requests at once
}

// Stats returns a snapshot of the counters, resources by name.
func (f *Front) Stats() Stats {
	st := Stats{Wire: f.total(), Broken: f.stats.broken.Load(), Slow: f.stats.slow.Load(),
		Batches: f.stats.batches.Load()}
	all := make(map[string]*ResourceStats)
	of := func(name string) *ResourceStats {
		s := all[name]
		if s == nil {
			s = &ResourceStats{Resource: name, Codes: make(map[gofast.Code]uint64),
				Buckets: make([]uint64, len(Buckets)+1)}
			all[name] = s
		}
		return s
	}
	f.stats.byResource.Range(func(name, v any) bool {
		v.(*counters).addTo(of(name.(string)))
		return true
	})
	f.mu.Lock()
	st.Open = len(f.conns)
	for _, r := range f.counted {
		r.addTo(of(r.name))
	}
	f.mu.Unlock()
	for _, s := range all {
		st.Resources = append(st.Resources, *s)
	}
	sort.Slice(st.Resources, func(i, j int) bool {
		return st.Resources[i].Resource < st.Resources[j].Resource
	})
	return st
}

func (c *counters) addTo(s *ResourceStats) {
	for code := range c.codes {
		if n := c.codes[code].Load(); n > 0 {
			s.Codes[gofast.Code(code)] += n
		}
	}
	for i := range c.buckets {
		s.Buckets[i] += c.buckets[i].Load()
	}
	s.Seconds += float64(c.nanos.Load()) / 1e9
}

// addTo adds what a loop has answered. That there is no row is an answer, too.
func (r *served) addTo(s *ResourceStats) {
	if n := r.tally.Count() + r.tally.Absent(); n > 0 {
		s.Codes[gofast.OK] += n
	}
	for i := range r.buckets {
		s.Buckets[i] += r.buckets[i].Load()
	}
	s.Seconds += float64(r.nanos.Load()) / 1e9
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
	c.name = "wire-" + strconv.FormatUint(f.numbers, 10)
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

// A limiter lets ten events of each second pass.
type limiter struct {
	state atomic.Int64 // the second * 16 + the events in it
}

// allow reports whether an event at now passes.
func (l *limiter) allow(now time.Time) bool {
	second := now.Unix()
	for {
		old := l.state.Load()
		next := second << 4
		if old>>4 == second {
			if old&15 >= 10 {
				return false
			}
			next = old
		}
		if l.state.CompareAndSwap(old, next+1) {
			return true
		}
	}
}
