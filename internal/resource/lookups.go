package resource

import (
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

// MaxLookups is how many look-ups are made together.
const MaxLookups = tier.MaxMultiGet

// Lookups are several look-ups that are made together: they wait for main memory together,
// and not each for its own. They belong to one goroutine.
type Lookups struct {
	of        [MaxLookups]*Resource
	revisions [MaxLookups]*revision
	refs      [MaxLookups]tier.Ref
	docs      [MaxLookups]*row.Document
	n         int
}

// Add adds a look-up, the next by number. MaxLookups fit; what does not is left out. key
// may alias a buffer that stays as it is until the last Result, or Prefetch.
func (l *Lookups) Add(r *Resource, key row.Key, of row.Format) {
	if l.n == MaxLookups {
		return
	}
	f := r.revision.Load()
	l.of[l.n], l.revisions[l.n] = r, f
	l.refs[l.n] = tier.Ref{Resource: f.number, Format: of, Key: key}
	l.n++
}

// Get makes the look-ups that were added since the last Get or Prefetch.
func (l *Lookups) Get(s *Snapshot) {
	for _, f := range l.revisions[:l.n] {
		s.of(f.src) // before: an answer includes what is applied
	}
	memory := l.memory()
	together := memory != nil && l.n > 1
	if together {
		s.read.MultiGet(memory, l.refs[:l.n], l.docs[:l.n])
	}
	for i, f := range l.revisions[:l.n] {
		if together {
			continue
		}
		if l.docs[i] = nil; f.memory != nil {
			l.docs[i] = s.read.Get(memory, &l.refs[i])
		}
	}
	l.n = 0
}

// Result returns what Lookup does of the ith look-up that the last Get made, with s.
func (l *Lookups) Result(i int, s *Snapshot) (*row.Document, State, *AsOf) {
	f := l.revisions[i]
	at := s.of(f.src)
	doc, state, age := f.classify(l.refs[i].Key, l.docs[i], at, false)
	if state == Miss || !f.isOwn(doc) {
		return nil, Miss, nil
	}
	if r := l.of[i]; s.picks.Due() {
		s.picks.Sample(r.hot, r.name, string(l.refs[i].Key), s.now)
	}
	if state == Stale {
		return doc, state, s.staleAt(at, doc, age)
	}
	return doc, state, s.shows(at, doc.At())
}

// Prefetch has memory at hand what was added since the last Get or Prefetch: Lookup will
// be called for it, with s. It is a hint.
func (l *Lookups) Prefetch(s *Snapshot) {
	if memory := l.memory(); l.n > 1 && memory != nil {
		s.read.Prefetch(memory, l.refs[:l.n])
	}
	l.n = 0
}

// memory returns the memory of what was added. All resources of a Set have one, or none.
func (l *Lookups) memory() *tier.Memory {
	for _, f := range l.revisions[:l.n] {
		if f.memory != nil {
			return f.memory
		}
	}
	return nil
}
