package fresh

import "sync"

// Waits are those who wait for a list to be good no more. They are found by the versions that
// it depends on: a change costs as much as it has of those who wait for it, and nothing for
// all others.
//
// Who is told reads, so it is told when reads see the change: see Moved. What no version tells,
// a new epoch and what makes everything of a space invalid, is looked for: see Look.
type Waits struct {
	mu     sync.Mutex // guards what follows; innermost, but for Versions.mu
	by     map[dep]map[*Wait]struct{}
	spaces map[*Space]*spaceWaits
}

// A spaceWaits is those who wait for lists of one space, and what was so when it was looked
// at last.
type spaceWaits struct {
	epoch, generation uint64
	waits             map[*Wait]struct{}
}

// A Wait is somebody who waits for a list to be good no more.
type Wait struct {
	// C is closed when it is not. It is closed, too, when nobody can say.
	C <-chan struct{}

	c    chan struct{}
	copy *ReadSet
}

// dep of a table's whole, which is another version than that of all its rows.
func wholeOf(t *Table) dep { return dep{table: t, slot: 1} }

// eachDep calls f with every version that c depends on, apart from all.
func (c *ReadSet) eachDep(f func(dep)) {
	for _, slot := range c.deps.slots {
		f(dep{slot: slot})
	}
	for _, t := range c.deps.tables {
		if f(wholeOf(t.table)); t.any {
			f(dep{table: t.table})
		}
	}
}

// Add adds somebody who waits for c.
func (w *Waits) Add(c *ReadSet) *Wait {
	x := &Wait{c: make(chan struct{}), copy: c}
	x.C = x.c
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by, w.spaces = make(map[dep]map[*Wait]struct{}), make(map[*Space]*spaceWaits)
	}
	c.eachDep(func(d dep) {
		if w.by[d] == nil {
			w.by[d] = make(map[*Wait]struct{}, 1)
		}
		w.by[d][x] = struct{}{}
	})
	s := w.spaces[c.space]
	if s == nil {
		s = &spaceWaits{c.epoch, c.generation, make(map[*Wait]struct{}, 1)}
		w.spaces[c.space] = s
	}
	s.waits[x] = struct{}{}
	if c.Outdated() { // after it can be found: see Moved
		w.tell(x)
	}
	return x
}

// Remove takes back an Add.
func (w *Waits) Remove(x *Wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remove(x)
}

// remove is Remove with w.mu held. It reports whether x was there.
func (w *Waits) remove(x *Wait) bool {
	s := w.spaces[x.copy.space]
	if s == nil {
		return false
	}
	if _, ok := s.waits[x]; !ok {
		return false
	}
	if delete(s.waits, x); len(s.waits) == 0 {
		delete(w.spaces, x.copy.space)
	}
	x.copy.eachDep(func(d dep) {
		if delete(w.by[d], x); len(w.by[d]) == 0 {
			delete(w.by, d)
		}
	})
	return true
}

// tell ends a wait. w.mu is held.
func (w *Waits) tell(x *Wait) {
	if w.remove(x) {
		close(x.c)
	}
}

// Moved tells those who wait for what m has touched, which reads see by now: m was settled
// before. Whoever is added later finds that its versions have moved.
func (w *Waits) Moved(m *InvalidationSet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.all || m.shared {
		for _, s := range w.spaces {
			w.tellAll(s.waits)
		}
		return
	}
	for _, slot := range m.slots {
		w.tellAll(w.by[dep{slot: slot}])
	}
	for _, t := range m.wholes {
		w.tellAll(w.by[wholeOf(t)])
	}
	for _, t := range m.tables {
		w.tellAll(w.by[dep{table: t}])
	}
}

// tellAll ends waits. w.mu is held.
func (w *Waits) tellAll(list map[*Wait]struct{}) {
	for x := range list {
		w.tell(x)
	}
}

// Look tells those whose epoch has ended, and those of spaces of which everything has become
// invalid. It looks at spaces, not at waits.
func (w *Waits) Look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for s, of := range w.spaces {
		epoch, generation := s.domain.epoch.Load(), s.generation.Load()
		if epoch == of.epoch && generation == of.generation {
			continue
		}
		of.epoch, of.generation = epoch, generation
		for x := range of.waits {
			if x.copy.epoch != epoch || x.copy.generation != generation {
				w.tell(x)
			}
		}
	}
}

// Len returns how many wait.
func (w *Waits) Len() int { return len(w.All()) }

// All returns those who wait.
func (w *Waits) All() map[*Wait]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[*Wait]bool)
	for _, s := range w.spaces {
		for x := range s.waits {
			all[x] = true
		}
	}
	return all
}

// Outdated reports whether a read that is made now may find another list than c, and is kept
// as far as c's versions tell: one of them has moved, and no change keeps it.
func (c *ReadSet) Outdated() bool {
	d := c.space.domain
	if c.epoch != d.versions.load(&d.epoch) || c.generation != c.space.generation.Load() {
		return true
	}
	gone := false
	c.eachVersion(func(v uint64) { gone = gone || v>>dirtyBits > c.c0 && v&dirtyMask == 0 })
	return gone
}

// Held reports whether a change that is not settled, or a write under way, keeps one of c's
// versions: what is read now would not be kept.
func (c *ReadSet) Held() (held bool) {
	c.eachVersion(func(v uint64) { held = held || v&dirtyMask > 0 })
	return held
}

// eachVersion calls f with every version that c depends on.
func (c *ReadSet) eachVersion(f func(v uint64)) {
	w := c.space.domain.versions
	f(w.load(&w.all.v))
	c.eachDep(func(x dep) {
		switch {
		case x.table == nil:
			f(w.load(&w.slots[x.slot]))
		case x == wholeOf(x.table):
			f(w.load(&x.table.whole.v))
		default:
			f(w.load(&x.table.version.v))
		}
	})
}
