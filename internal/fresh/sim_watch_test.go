package fresh

import (
	"slices"

	"github.com/hotrow/hotrow/internal/row"
)

// simWatchers are clients that keep what they read until they are told that it may have
// changed, as clients of Redis with client-side caching do.
type simWatchers struct {
	here bool
	told [simForms][childs]int        // how often they were told of a document
	have [simForms][childs][]simState // what they have of it
}

// come lets watchers come or go.
func (s *sim) come() {
	w := &s.watchers
	w.here = !w.here
	for r := range simForms {
		s.tellAll(r)
	}
}

// holds has the watchers keep an answer, unless they were told of the document before it
// came.
func (w *simWatchers) holds(r *simRead, state simState) {
	d := r.doc
	if w.here && w.told[d.resource][d.key] == r.told {
		w.have[d.resource][d.key] = append(w.have[d.resource][d.key], state)
	}
}

// tellOf tells the watchers that a document may have changed.
func (s *sim) tellOf(r, k int) {
	s.watchers.told[r][k]++
	s.watchers.have[r][k] = nil
}

// tellAll tells them that all documents of a resource may have.
func (s *sim) tellAll(r int) {
	for k := range childs {
		s.tellOf(r, k)
	}
}

// announce tells the watchers of what a transaction touches.
func (s *sim) announce(invalidations []Invalidation) {
	m := s.d.NewSet()
	for i := range invalidations {
		if invalidations[i].InvalidationSet != nil {
			m = invalidations[i].InvalidationSet
		}
	}
	for i := range invalidations {
		t := &invalidations[i]
		r := slices.IndexFunc(s.forms[:], func(f *simForm) bool { return f.space == t.Space })
		if r < 0 { // replaced
			continue
		}
		shown, all := t.Space.WatchedIn(m)
		if t.Whole || all {
			s.tellAll(r)
			continue
		}
		for _, k := range slices.Concat(t.Keys, shown) {
			s.tellOf(r, keyNumber(k))
		}
	}
}

func keyNumber(k row.Key) int { return int(k[0] - '0') }

// checkWatchers: at rest, what a watcher has is what the database has.
func (s *sim) checkWatchers() {
	for r := range s.watchers.have {
		for k, list := range s.watchers.have[r] {
			for _, state := range list {
				if want := s.primary.state[r][k]; state != want {
					s.failf("a watcher has %b of %v for ever, the database has %b", state,
						simDoc{r, k}, want)
				}
			}
		}
	}
}

// checkShown: what was shown is found by its documents and by its versions alike.
func (s *sim) checkShown(f *simForm) {
	w := &f.space.watchedReads
	n := 0
	for k, doc := range w.docs {
		for _, c := range doc.copies {
			if c.shown.Load() != w.period.Load() {
				s.failf("%v was shown, and its copy does not know", k)
			}
		}
		for _, links := range doc.links {
			n += len(links)
		}
	}
	led := 0
	for d, first := range w.by {
		prev := (*watchedLink)(nil)
		for l := first; l != nil; prev, l = l, l.next {
			if led++; l.dep != d || l.prev != prev || w.docs[l.of.key] != l.of {
				s.failf("a word leads to %v, which was not shown with it", l.of.key)
			}
		}
	}
	if n != led || n != w.n {
		s.failf("%d words of documents were shown, %d lead to them, %d are counted", n, led, w.n)
	}
	if len(w.due) > 0 {
		s.failf("watchers were not told of %v", w.due)
	}
	if f.space.WatchedIn(s.d.NewSet()); w.n+len(w.docs) > 0 && !s.watchers.here {
		s.failf("nobody watches, and %d words are remembered", w.n)
	}
}
