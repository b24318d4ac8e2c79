package resource

import (
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

// ListFetches are look-ups of lists that are about to be made: what they read is fetched
// for all of them together; see tier.Reader.MultiGet. They belong to one goroutine.
type ListFetches struct {
	of     [MaxLookups]*revision
	refs   [MaxLookups]tier.Ref
	docs   [MaxLookups]*row.Document
	n      int
	memory *tier.Memory // all revisions have one
	sum    uint64       // makes the compiler keep the loads
}

// Add adds a look-up by what is asked for, as it was sent. MaxLookups fit; what does not is
// left out. raw may alias a buffer, that stays as it is until Fetch.
func (l *ListFetches) Add(r *Resource, raw string, of row.Format) {
	f := r.revision.Load()
	if l.n == MaxLookups || !f.listable() {
		return
	}
	l.memory, l.of[l.n], l.refs[l.n] = f.memory, f, f.spelling(of, raw)
	l.n++
}

// Fetch has the processor fetch what LookupList will read, with s. It is a hint, and changes
// nothing: what the spellings lead to, of all look-ups, and then what is known of these lists.
func (l *ListFetches) Fetch(s *Snapshot) {
	spelled := l.n
	if l.n = 0; spelled < 2 {
		return
	}
	s.read.MultiPeek(l.memory, l.refs[:spelled], l.docs[:spelled])
	n := 0
	for i, d := range l.docs[:spelled] {
		if ref, ok := l.of[i].spelled(d); ok {
			l.refs[n] = ref
			n++
		}
	}
	s.read.MultiPeek(l.memory, l.refs[:n], l.docs[:n])
	for _, d := range l.docs[:n] {
		if d != nil {
			l.sum += ListOf(d).copy.Fetch()
		}
	}
}
