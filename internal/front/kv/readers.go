package kv

import (
	"iter"
	"slices"
)

// fewReaders is how many readers of a key are a list. With more, a look for one of them
// would take a time that grows with their number, for each that reads the key again.
const fewReaders = 16

// readers are the clients that have read one key.
type readers struct {
	few  []*Tracked
	many map[*Tracked]struct{} // nil: they are in few

	purge int // when there are so many, those that have left go
}

func (r *readers) len() int { return len(r.few) + len(r.many) }

func (r *readers) has(c *Tracked) bool {
	if r.many != nil {
		_, ok := r.many[c]
		return ok
	}
	return slices.Contains(r.few, c)
}

// add adds one that is not among them.
func (r *readers) add(c *Tracked) {
	switch {
	case r.many == nil && len(r.few) < fewReaders:
		r.few = append(r.few, c)
		return
	case r.many == nil:
		r.few = slices.DeleteFunc(r.few, func(o *Tracked) bool { return o.left.Load() })
		if len(r.few) < fewReaders {
			r.few = append(r.few, c)
			return
		}
		r.many, r.purge = make(map[*Tracked]struct{}, 2*fewReaders), 2*fewReaders
		for _, o := range r.few {
			r.many[o] = struct{}{}
		}
		r.few = nil
	case len(r.many) >= r.purge:
		for o := range r.many {
			if o.left.Load() {
				delete(r.many, o)
			}
		}
		r.purge = max(2*len(r.many), 2*fewReaders)
	}
	r.many[c] = struct{}{}
}

// remove takes one out, and reports whether it was among them.
func (r *readers) remove(c *Tracked) bool {
	if r.many != nil {
		_, ok := r.many[c]
		delete(r.many, c)
		return ok
	}
	i := slices.Index(r.few, c)
	if i >= 0 {
		r.few = slices.Delete(r.few, i, i+1)
	}
	return i >= 0
}

// all returns each of them.
func (r *readers) all() iter.Seq[*Tracked] {
	return func(yield func(*Tracked) bool) {
		for _, c := range r.few {
			if !yield(c) {
				return
			}
		}
		for c := range r.many {
			if !yield(c) {
				return
			}
		}
	}
}
