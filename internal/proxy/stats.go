package proxy

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// counters are what the server counts.
type counters struct {
	requests, refused, retries, ejections atomic.Int64
	accepted, tunnels, errors             atomic.Int64
	upstreams                             atomic.Int64 // open
	bytesIn, bytesOut                     atomic.Int64
	statuses                              [600]atomic.Int64
}

// Stats is what the server has counted.
type Stats struct {
	Requests, Refused, Retries, Ejections int64
	Accepted, Tunnels                     int64
	TooMany                               int64 // connections that were refused
	Clients, UpstreamConns                int64 // open now
	BytesIn, BytesOut                     int64 // of bodies
	Statuses                              map[int]int64
	Targets                               []TargetStats
}

// TargetStats is what is known of an upstream.
type TargetStats struct {
	Name                   string
	Requests, Retries      int64
	Opened, Idle, InFlight int64 // connections
	Addresses, Ejected     int
}

// Stats returns the counts.
func (s *Server) Stats() Stats {
	c := &s.count
	st := Stats{
		Requests: c.requests.Load(), Refused: c.refused.Load(), Retries: c.retries.Load(),
		Ejections: c.ejections.Load(), Accepted: c.accepted.Load(), Tunnels: c.tunnels.Load(),
		UpstreamConns: c.upstreams.Load(), BytesIn: c.bytesIn.Load(), BytesOut: c.bytesOut.Load(),
		Statuses: map[int]int64{},
	}
	for code := range c.statuses {
		if n := c.statuses[code].Load(); n > 0 {
			st.Statuses[code] = n
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Clients = int64(len(s.clients))
	for _, g := range s.gates {
		r := g.Refused()
		st.TooMany += r.Connections + r.OfOne
	}
	for key, t := range s.targets {
		one := TargetStats{Name: key, Requests: t.requests.Load(), Retries: t.retries.Load()}
		for _, b := range t.backends() {
			one.Addresses++
			one.Opened += b.opened.Load()
			one.InFlight += b.inflight.Load()
			if b.ejected(s.now.Load()) {
				one.Ejected++
			}
			b.mu.Lock()
			one.Idle += int64(len(b.idle))
			b.mu.Unlock()
		}
		st.Targets = append(st.Targets, one)
	}
	slices.SortFunc(st.Targets, func(a, b TargetStats) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return st
}

// times keeps a sample of response times.
type times struct {
	factor uint32

	mu   sync.Mutex // guards what follows
	ring []time.Duration
	next int
	full bool
}

// init sets the size of the sample, and that one of factor times is taken.
func (t *times) init(size, factor int) {
	t.ring, t.factor = make([]time.Duration, size), uint32(factor)
}

// add takes a time into the sample, or not.
func (t *times) add(d time.Duration) {
	if t.factor > 1 && rand.Uint32N(t.factor) != 0 {
		return
	}
	t.mu.Lock()
	t.ring[t.next] = d
	if t.next++; t.next == len(t.ring) {
		t.next, t.full = 0, true
	}
	t.mu.Unlock()
}

// sorted returns the sample, the shortest first.
func (t *times) sorted() []time.Duration {
	t.mu.Lock()
	sample := t.ring[:t.next]
	if t.full {
		sample = t.ring
	}
	sample = slices.Clone(sample)
	t.mu.Unlock()
	slices.Sort(sample)
	return sample
}
