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
func (s *sim) announce(touches []Touch) {
	for i := range touches {
		t := &touches[i]
		r := slices.IndexFunc(s.forms[:], func(f *simForm) bool { return f.space == t.Space })
		switch {
		case r < 0: // replaced
		case t.Whole:
			s.tellAll(r)
		default:
			for _, k := range slices.Concat(t.Keys, t.Shown) {
				s.tellOf(r, keyNumber(k))
			}
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

// checkShown: what was shown is found by its documents and by its rows alike.
func (s *sim) checkShown(f *simForm) {
	c := &f.space.children
	n := 0
	for k, rows := range c.shown.docs {
		for r := range rows {
			if _, ok := c.shown.rows[r][k]; !ok {
				s.failf("%v was shown with %x, which does not lead to it", k, r)
			}
			n++
		}
	}
	pairs := 0
	for _, docs := range c.shown.rows {
		pairs += len(docs)
	}
	if n != pairs || n != c.shown.n {
		s.failf("%d rows of documents were shown, %d lead to them, %d are counted", n, pairs, c.shown.n)
	}
	if len(c.due) > 0 {
		s.failf("watchers were not told of %v", c.due)
	}
}
