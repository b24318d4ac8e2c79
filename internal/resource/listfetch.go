package resource

import (
	"github.com/hotrow/hotrow/internal/row"
)

// ListFetches are look-ups of lists that are about to be made: what they read is fetched
// for all of them together; see tier.Memory.MultiGet. They belong to one goroutine.
type ListFetches struct {
	of    [MaxLookups]listFetch
	n     int
	store *listStore
	sum   uint64 // makes the compiler keep the loads
}

// A listFetch is one look-up, as far as it is known.
type listFetch struct {
	hash   uint64
	bucket *bucket
	alias  *rawAlias
	list   *List
}

// Add adds a look-up by what is asked for, as it was sent. MaxLookups fit; what does not is
// left out. raw may alias a buffer.
func (l *ListFetches) Add(r *Resource, raw string, of row.Format) {
	f := r.revision.Load()
	if l.n == MaxLookups || !f.listable() {
		return
	}
	l.store = f.kept
	l.of[l.n] = listFetch{hash: f.kept.hash(f.number, of, raw)}
	l.n++
}

// Fetch has the processor fetch what LookupList will read. It is a hint, and changes
// nothing. Each loop reads what the one before it has found, of all look-ups: the
// processor waits for them together.
func (l *ListFetches) Fetch() {
	all := l.of[:l.n]
	if l.n = 0; len(all) < 2 {
		return
	}
	sum := uint64(0)
	for i := range all {
		x := &all[i]
		x.bucket = l.store.bucket(x.hash)
		if x.bucket[0].Load() != nil {
			sum++
		}
	}
	for i := range all {
		x := &all[i]
		for j := range x.bucket {
			if p := x.bucket[j].Load(); p != nil && p.hash == x.hash {
				x.alias = p
			}
		}
	}
	for i := range all {
		if p := all[i].alias; p != nil && p.raw != "" {
			all[i].list = p.slot.list.Load()
			sum += uint64(p.raw[0])
		}
	}
	for i := range all {
		if x := all[i].list; x != nil {
			sum += x.copy.Fetch() + uint64(x.Doc.Owner())
		}
	}
	for i := range all {
		if x := all[i].list; x != nil {
			sum += uint64(x.Doc.Fetch())
		}
	}
	l.sum = sum
}
