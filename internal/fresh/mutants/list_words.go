package main

// wordMutants break the rules of lists: words.go, moved.go, template.go, copy.go and
// lists.go.
var wordMutants = []mutant{
	{"words: only the new class", []edit{{"moved.go",
		`			case ok:
				m.slots = append(m.slots, tm.slot(key))
`, `			case ok:
				_ = key
`}}},
	{"words: only the old class", []edit{{"moved.go",
		`				return
			}
			m.slots = append(m.slots, tm.slot(key))
`, `				return
			}
			_ = key
`}}},
	{"words: a list does not name the rows it has read", []edit{{"copy.go",
		`	named := c.Template != nil && c.Template.counts(c0)
`, `	named := c.Template != nil && c.Template.counts(c0)
	if named && c.Template.Identity {
		return
	}
`}}},
	{"words: who is blind is not told of rows that were not known", []edit{{"moved.go",
		`				m.slots = append(m.slots, tm.slot(Unseen))
`, `				_ = key
`}}},
	{"words: who is blind is told of rows only that have gone", []edit{{"moved.go",
		`				m.slots = append(m.slots, tm.slot(Unseen))
`, `				if new == nil {
					m.slots = append(m.slots, tm.slot(Unseen))
				}
`}}},
	{"words: bulk moves only the table", []edit{{"moved.go",
		`		m.wholes = append(m.wholes, t)
`, `		_ = t
`}}},
	{"words: bulk is not looked at", []edit{{"copy.go",
		`		c = max(c, since(w.load(&t.table.whole.v), c0))
`, ``}}},
	{"words: dirty is no miss", []edit{{"copy.go",
		`	case v&dirtyMask > 0:`, `	case false:`}}},
	{"words: moved is no miss", []edit{{"copy.go",
		`	case v>>dirtyBits > c0:`, `	case false:`}}},
	{"words: a word of the load's clock is a miss", []edit{{"copy.go",
		`v>>dirtyBits > c0`, `v>>dirtyBits >= c0 && v > 0`}}},
	{"words: settling does not stamp", []edit{{"words.go",
		`	w.move(m, delta)
	w.leave(m.cohort)
`, `	for _, s := range m.slots {
		w.slots[s].Add(^uint64(0))
	}
	for _, t := range m.wholes {
		t.whole.v.Add(^uint64(0))
	}
	for _, t := range m.tables {
		t.word.v.Add(^uint64(0))
	}
	if m.all || m.shared && delta < 0 {
		w.all.v.Add(^uint64(0))
	}
	w.leave(m.cohort)
`}}},
	{"words: the position is published before", []edit{{"apply.go",
		`	for i := range touches {
		touches[i].apply(pos, ref != nil)
	}
	d.words.step()
`, `	d.mu.Lock()
	d.publish(pos)
	d.mu.Unlock()
	d.words.step()
	for i := range touches {
		touches[i].apply(pos, ref != nil)
	}
`}}},
	{"words: the clock is read after the source", []edit{{"lists.go",
		`c0: l.list.c0,`, `c0: s.domain.words.load(&s.domain.words.clock.v),`}}},
	{"words: the table's word comes first", []edit{{"words.go",
		`		for _, s := range m.slots {
			w.stamp(&w.slots[s], k, delta)
		}
`, `		for _, t := range m.tables {
			w.stamp(&t.word.v, k, delta)
		}
		for _, s := range m.slots {
			w.stamp(&w.slots[s], k, delta)
		}
`}, {"words.go", `		for _, t := range m.tables {
			w.stamp(&t.word.v, k, delta)
		}
		if m.all`, `		if m.all`}}},
	{"words: the sum is taken after the walk", []edit{{"copy.go",
		`	c.space.domain.words.store(&c.seen, sum)
`, `	w := c.space.domain.words
	sum = w.load(&w.all.v)
	for i := range c.deps.tables {
		sum += w.load(&c.deps.tables[i].table.word.v)
	}
	w.store(&c.seen, sum)
`}}},
	{"words: the sum is set by the load", []edit{{"lists.go",
		`		l.stored = keep && c.Valid()
`, `		if l.stored = keep; keep {
			w := s.domain.words
			sum := w.load(&w.all.v)
			for i := range c.deps.tables {
				sum += w.load(&c.deps.tables[i].table.word.v)
			}
			c.seen.Store(sum)
		}
`}}},
	{"words: xor for the sum", []edit{{"copy.go",
		`		sum += w.load(`, `		sum ^= w.load(`}}},
	{"words: all is not in the sum", []edit{{"copy.go",
		`	sum := w.load(&w.all.v)
`, `	sum := uint64(0)
`}}},
	{"words: one table is not in the sum", []edit{{"copy.go",
		`	sum := w.load(&w.all.v)
	for i := range c.deps.tables {
`, `	sum := w.load(&w.all.v)
	for i := range c.deps.tables[:1] {
`}}},
	{"words: one word twice", []edit{{"moved.go",
		`		m.slots = slices.Compact(m.slots)
`, ``}}},
	{"words: the dirty count reaches the stamp", []edit{{"words.go",
		`	dirty := (x.Load() + uint64(delta)) & dirtyMask
	w.store(x, k<<dirtyBits|dirty)
`, `	w.store(x, k<<dirtyBits+x.Load()&dirtyMask+uint64(delta))
`}, {"words.go", `	maxMarks = 1 << 15`, `	maxMarks = 1 << 17`}}},
	{"words: the clock moves before the words", []edit{{"words.go",
		`	if m.shared {
		w.store(&w.shared, k<<dirtyBits)
		w.stamp(&w.all.v, k, delta)
	} else {`, `	w.store(&w.clock.v, k)
	if m.shared {
		w.store(&w.shared, k<<dirtyBits)
		w.stamp(&w.all.v, k, delta)
	} else {`}, {"lists.go", `l.settled && c == still`, `l.settled && c != moved`}}},
	{"words: what is too much keeps nothing", []edit{{"words.go",
		`	if w.rest++; w.rest > 1 {
		return 0
	}
	return 1
`, `	w.rest++
	return 0
`}}},
	{"words: the first that settles frees all", []edit{{"words.go",
		`		if w.rest--; w.rest > 0 {
			delta = 0
		}
`, `		w.rest--
`}}},
	{"words: a mark stays", []edit{{"words.go", `		w.marks--
	}
	w.move`, `	}
	w.move`}}},
	{"template: used at once", []edit{{"template.go",
		`	return c0 >= since
`, `	return since > 0 || c0 > 0
`}}},
	{"template: its state is read when the load ends", []edit{{"template.go",
		`	return c0 >= since
`, `	return since != never
`}}},
	{"template: what is pending is not waited for", []edit{{"words.go",
		`	m.cohort = w.enter()
`, `	m.cohort = w.enter()
	w.cohorts[m.cohort-w.first].marks--
`}, {"template.go", `	w.cohorts[cohort-w.first].marks--
	w.retire()
`, `	w.retire()
`}}},
	{"template: removed without a touch", []edit{{"template.go",
		`	w.move(&Moved{words: w, wholes: []*Table{t}, tables: []*Table{t}}, 0)
`, ``}}},
	{"template: counts until it is removed", []edit{{"template.go",
		`	tm.since.Store(never)
	w.move(&Moved{words: w, wholes: []*Table{t}, tables: []*Table{t}}, 0)
`, `	w.move(&Moved{words: w, wholes: []*Table{t}, tables: []*Table{t}}, 0)
`}}},
	{"lists: marks of the key are not looked at", []edit{{"lists.go",
		`	l.storable = sh.dirty[k] == 0 && s.wholes.Load() == 0`,
		`	l.storable = s.wholes.Load() == 0`}}},
	{"lists: a moved load is joined", []edit{{"lists.go",
		`	return c != moved && s.recent(l)
}
`, `	return s.recent(l)
}
`}}},
	{"lists: an unsettled load is joined after a fence", []edit{{"lists.go",
		`c != moved && s.recent(l)`, `c != moved`}}},
	{"lists: only what the question names is looked at for joining", []edit{{"lists.go",
		`		ll.read.addTable(t, true)
`, `		ll.read.addTable(t, false)
`}}},
	{"lists: a token joins what was not settled", []edit{{"lists.go",
		`		return l.settled && c == still
`, `		return c != moved
`}}},
	{"lists: a token is told of what was not settled", []edit{{"lists.go",
		`		l.AsOf = s.domain.settledTo(l.AsOf)
`, ``}}},
	{"lists: a read of the source joins what was sent", []edit{{"lists.go",
		`		return !l.sent && c != moved
`, `		return c != moved
`}}},
	{"lists: no supersede", []edit{{"lists.go", `		sh.supersede(l.Key, doc)
`, ``}}},
	{"lists: other versions stay", []edit{{"lists.go", `		s.evictOthers(l, doc, l.stored)
`, ``}}},
	{"lists: another state than was answered is kept", []edit{{"lists.go",
		` && l.sameVersion(doc) &&`, ` &&`}}},
	{"lists: a load that others have superseded is joined", []edit{{"lists.go",
		` || l.after != nil ||`, ` ||`}}},
	{"lists: an answer's own classes are forgotten", []edit{{"lists.go",
		`	for i := range found {
		c.deps.add(&found[i], c.c0)
	}
`, ``}}},
	{"hold: lists are not held", []edit{{"apply.go",
		`		touches[i].apply(0, true)
`, `		if touches[i].Moved == nil {
			touches[i].apply(0, true)
		}
`}, {"apply.go", `		touches[i].apply(pos, false)
		touches[i].settle(pos)
`, `		if touches[i].Moved != nil {
			continue
		}
		touches[i].apply(pos, false)
		touches[i].settle(pos)
`}}},
	{"reset: the epoch before the barrier", []edit{{"domain.go",
		`	d.words.touch(all, ref != nil) // before the epoch
	before := d.begin(Progress{Origin: origin, Pos: pos}, all, ref, now)
`, `	before := d.begin(Progress{Origin: origin, Pos: pos}, all, ref, now)
	d.words.touch(all, ref != nil)
`}}},
}

// harmless change nothing that anybody can notice; they must survive.
var harmless = []mutant{
	// The marks that a new epoch leaves on every space keep leases of its words from being
	// stored, joined and believed as well.
	{"reset: no barrier for lists", []edit{{"domain.go",
		`	d.words.touch(all, ref != nil) // before the epoch
`, `	d.words.touch(all, false)
`}, {"domain.go", `		p.touches = append(p.touches, Touch{Moved: all})
`, `		_ = all
`}}},
	{"template: the clock stands still", []edit{{"template.go",
		`			k := w.clock.v.Load() + 1
			tm.since.Store(k)
			w.store(&w.clock.v, k)
`, `			tm.since.Store(w.clock.v.Load())
`}}},
	{"words: the clock moves before the words, and tokens ask for what is settled",
		[]edit{{"words.go", `	if m.shared {
		w.store(&w.shared, k<<dirtyBits)
		w.stamp(&w.all.v, k, delta)
	} else {`, `	w.store(&w.clock.v, k)
	if m.shared {
		w.store(&w.shared, k<<dirtyBits)
		w.stamp(&w.all.v, k, delta)
	} else {`}}},
	{"lists: a read of the source invalidates nothing", []edit{{"lists.go",
		`		sh.invalidate(k, 0)
`, `		_ = sh
`}}},
	{"lists: no epoch in a copy", []edit{{"copy.go",
		`	if c.epoch != d.words.load(&d.epoch) || c.generation`, `	if c.generation`}}},
}
