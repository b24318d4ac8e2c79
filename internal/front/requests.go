package front

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Requests counts requests that no loop has answered from memory, by resource and by the
// code of the answer, which the protocol has. It takes no lock: a request adds to counters
// that are made at the first one like it. The zero value is ready.
type Requests[C comparable] struct {
	byResource sync.Map // of *requests, by name; "" is what reached none
}

// requests are those for one resource.
type requests struct {
	byCode sync.Map // of *atomic.Uint64
	took   Durations
}

// Observe counts one request that was answered with code after d.
func (r *Requests[C]) Observe(resource string, code C, d time.Duration) {
	of := at[requests](&r.byResource, resource)
	at[atomic.Uint64](&of.byCode, code).Add(1)
	of.took.Add(d, 1)
}

// Keep forgets what was counted for resources, but for those of which served reports true: a
// reload has taken them away. gone is called with each.
func (r *Requests[C]) Keep(served func(name string) bool, gone func(*ResourceStats[C])) {
	r.byResource.Range(func(name, of any) bool {
		if n := name.(string); n != "" && !served(n) {
			r.byResource.Delete(n)
			s := &ResourceStats[C]{Resource: n, Codes: make(map[C]uint64)}
			s.add(of.(*requests))
			gone(s)
		}
		return true
	})
}

// at returns what m has under a key, which is made when there is none. A key is no any, which
// each look-up would allocate.
func at[T any, K comparable](m *sync.Map, key K) *T {
	v, ok := m.Load(key)
	if !ok {
		v, _ = m.LoadOrStore(key, new(T))
	}
	return v.(*T)
}

// Sum returns what was counted, for loops to add to.
func (r *Requests[C]) Sum() ByResource[C] {
	all := make(ByResource[C])
	r.byResource.Range(func(name, of any) bool {
		all.Of(name.(string)).add(of.(*requests))
		return true
	})
	return all
}

// ResourceStats are the counters of one resource, whose requests have codes of type C.
type ResourceStats[C comparable] struct {
	Resource string // "" for requests that reached none
	Codes    map[C]uint64
	Histogram
}

func (s *ResourceStats[C]) add(of *requests) {
	of.byCode.Range(func(code, n any) bool {
		s.Codes[code.(C)] += n.(*atomic.Uint64).Load()
		return true
	})
	of.took.AddTo(&s.Histogram)
}

// ByResource adds up what loops and others have counted, by the name of the resource.
type ByResource[C comparable] map[string]*ResourceStats[C]

// Of returns the counters of a resource, which are made at the first call for it.
func (b ByResource[C]) Of(name string) *ResourceStats[C] {
	if b[name] == nil {
		b[name] = &ResourceStats[C]{Resource: name, Codes: make(map[C]uint64)}
	}
	return b[name]
}

// List returns the counters by name.
func (b ByResource[C]) List() (list []ResourceStats[C]) {
	for _, name := range slices.Sorted(maps.Keys(b)) {
		list = append(list, *b[name])
	}
	return list
}
