package fresh

import (
	"fmt"

	"github.com/hotrow/hotrow/internal/row"
)

// Check compares the marks of d with the changes that are not settled and the writes under
// way, and its spaces with those that somebody uses. closed says that nothing goes on any
// more: then no load is in flight. The caller applies no change meanwhile; what others do
// beside it may look wrong, and is not so the next time.
func (d *Domain) Check(used []*Space, closed bool) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	known := make(map[*Space]*marks)
	for _, s := range used {
		known[s] = &marks{keys: make(map[row.Key]int32)}
	}
	spaces, moves := d.underWay(known)
	if spaces != len(known) {
		say("%d spaces get changes, %d are used", spaces, len(known))
	}
	held := d.held.Load()
	for s, m := range known {
		s.check(m, held > 0, closed, say)
	}
	if n := d.versions.marked(); n != moves {
		say("%d changes and writes keep version counters, %d are under way", n, moves)
	}
	return wrong
}

// underWay adds what is not settled to the marks of each space, and returns how many spaces
// there are, and how many changes and writes keep versions.
func (d *Domain) underWay(known map[*Space]*marks) (spaces int, moves int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	moves = d.heldMoves.Load()
	for _, p := range d.pending {
		for i := range p.invalidations {
			t := &p.invalidations[i]
			if t.InvalidationSet != nil {
				moves++
			} else if m := known[t.Space]; m != nil {
				m.add(t)
			}
		}
	}
	return len(d.spaces), moves
}

// marks are those that the changes which are not settled have made in one space.
type marks struct {
	keys   map[row.Key]int32
	wholes int64
}

func (m *marks) add(t *Invalidation) {
	for _, k := range t.Keys {
		m.keys[k]++
	}
	if t.Whole {
		m.wholes++
	}
}

// check is Check of one space. With held there are marks of writes besides.
func (s *Space) check(m *marks, held, closed bool, say func(string, ...any)) {
	if n := s.wholes.Load(); n < m.wholes || n > m.wholes && !held {
		say("%d changes keep everything of a space, %d are under way", n, m.wholes)
	}
	found := 0
	all := s.shards.Load()
	if all == nil {
		all = new([shards]shard) // no key was asked for
	}
	for i := range all {
		sh := &all[i]
		sh.mu.Lock()
		for k, n := range sh.dirty {
			if want := m.keys[k]; n < want || n > want && !held {
				say("%d changes keep key %q, %d are under way", n, k, want)
			}
			if m.keys[k] > 0 {
				found++
			}
		}
		for fl, l := range sh.inflight {
			if closed {
				say("a load of key %q is in flight at the end", fl.key)
			}
			for ; l != nil; l = l.older {
				if l.Key != fl.key || l.Format != fl.format {
					say("a load of key %q is in flight under key %q", l.Key, fl.key)
				}
				if l.ended() {
					say("a load of key %q has ended and is in flight", l.Key)
				}
			}
		}
		sh.mu.Unlock()
	}
	if found < len(m.keys) {
		say("%d keys have changes that are not settled and are not kept", len(m.keys)-found)
	}
}

// ended reports whether l is a load that has ended.
func (l *Lease) ended() bool {
	select {
	case <-l.done: // nil, and so never, of a write-through
		return true
	default:
		return false
	}
}

// marked returns how many changes and writes keep versions.
func (w *Versions) marked() int64 {
	w.lock()
	defer w.unlock()
	return int64(w.marks + w.rest)
}

// holding counts what Hold has marked and Release has not, by n of each.
func (d *Domain) holding(invalidations []Invalidation, n int64) {
	for i := range invalidations {
		d.held.Add(n)
		if invalidations[i].InvalidationSet != nil {
			d.heldMoves.Add(n)
		}
	}
}
