package resource

import (
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

// ListFetches are look-ups of lists that are about to be made: what they read is fetched
// for all of them together; see tier.Reader.PrefetchAliases. They belong to one goroutine.
type ListFetches struct {
	refs     [MaxLookups]tier.Ref
	attached [MaxLookups]row.Attachment
	n        int
	memory   *tier.Memory // all revisions have one
	sum      uint64       // makes the compiler keep the loads
}

// Add adds a look-up by what is asked for, as it was sent. MaxLookups fit; what does not is
// left out. raw may alias a buffer, that stays as it is until Fetch.
func (l *ListFetches) Add(r *Resource, raw string, of row.Format) {
	f := r.revision.Load()
	if l.n == MaxLookups || !f.listable() {
		return
	}
	l.memory, l.refs[l.n] = f.memory, f.spelling(of, raw)
	l.n++
}

// Fetch has the processor fetch what LookupList will read, with s. It is a hint, and changes
// nothing: what the spellings lead to, of all look-ups, and then what is known of these lists.
func (l *ListFetches) Fetch(s *Snapshot) {
	spelled := l.n
	if l.n = 0; spelled < 2 {
		return
	}
	s.read.PrefetchAliases(l.memory, l.refs[:spelled], &l.attached)
	for _, a := range l.attached[:spelled] {
		if list, ok := a.(*List); ok {
			l.sum += list.copy.Fetch()
		}
	}
}
