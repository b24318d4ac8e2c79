package hotkeys

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"time"
)

// counted is how many keys a sketch follows.
const counted = 512

// A sketch counts the heaviest keys of a stream in fixed memory: the Space-Saving algorithm
// (Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k Elements in Data
// Streams, 2005). A key that is not followed takes the place of the lightest that is, and
// weighs as much from then on, so that every key of more than 1/counted of all is followed.
// What is reported of a key is only what was counted of itself.
type sketch struct {
	byID  map[id]*entry
	order order
}

type id struct{ resource, key string }

type entry struct {
	id
	reads, changes float64
	inherited      float64 // of the key whose place it took
	at             int     // in order
}

func (e *entry) weight() float64 { return e.reads + e.changes + e.inherited }

func newSketch() sketch { return sketch{byID: make(map[id]*entry, counted)} }

func (s *sketch) add(of id, what kind, n float64) {
	e := s.byID[of]
	switch {
	case e != nil:
	case len(s.order) < counted:
		e = &entry{id: of, at: len(s.order)}
		s.byID[of] = e
		heap.Push(&s.order, e)
	default:
		e = s.order[0]
		delete(s.byID, e.id)
		*e = entry{id: of, inherited: e.weight()}
		s.byID[of] = e
	}
	if what == change {
		e.changes += n
	} else {
		e.reads += n
	}
	heap.Fix(&s.order, e.at)
}

// decay lets what was counted weigh less the longer ago it was, and returns span decayed as
// well. The order stays.
func (s *sketch) decay(passed, halfLife time.Duration, span float64) float64 {
	by := math.Exp2(-passed.Seconds() / halfLife.Seconds())
	for _, e := range s.order {
		e.reads *= by
		e.changes *= by
		e.inherited *= by
	}
	return span * by
}

// report returns the first n keys of each kind; span is the seconds that the counts are of.
func (s *sketch) report(n int, span float64) (r Report) {
	if span <= 0 {
		return r
	}
	for _, e := range s.order {
		k := Key{e.resource, e.key, e.reads / span, e.changes / span}
		if e.reads > 0 {
			r.Read = append(r.Read, k)
		}
		if e.changes > e.reads {
			r.Changed = append(r.Changed, k)
		}
	}
	first := func(list []Key, by func(*Key) float64) []Key {
		slices.SortFunc(list, func(a, b Key) int {
			return cmp.Or(cmp.Compare(by(&b), by(&a)), cmp.Compare(a.Resource, b.Resource),
				cmp.Compare(a.Key, b.Key))
		})
		return list[:min(n, len(list))]
	}
	r.Read = first(r.Read, func(k *Key) float64 { return k.Reads })
	r.Changed = first(r.Changed, func(k *Key) float64 { return k.Changes })
	return r
}

// order is a heap of the entries, the lightest first.
type order []*entry

func (o order) Len() int           { return len(o) }
func (o order) Less(i, j int) bool { return o[i].weight() < o[j].weight() }
func (o order) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].at, o[j].at = i, j
}

func (o *order) Push(e any) { *o = append(*o, e.(*entry)) }

func (o *order) Pop() any {
	last := (*o)[len(*o)-1]
	*o = (*o)[:len(*o)-1]
	return last
}
