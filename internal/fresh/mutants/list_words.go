package main

// wordMutants break the rules of lists: versions.go, invalidationset.go, tagcolumns.go,
// readset.go and lists.go.
var wordMutants = []mutant{
	{"versions: only the new tag", []edit{{"invalidationset.go",
		`			case ok:
				m.slots = append(m.slots, tm.slot(key))
`, `			case ok:
				_ = key
`}}},
	{"versions: only the old tag", []edit{{"invalidationset.go",
		`				return
			}
			m.slots = append(m.slots, tm.slot(key))
`, `				return
			}
			_ = key
`}}},
	{"versions: a list does not name the rows it has read", []edit{{"readset.go",
		`	named := c.TagColumns != nil && c.TagColumns.counts(c0)
`, `	named := c.TagColumns != nil && c.TagColumns.counts(c0)
	if named && c.TagColumns.Identity {
		return
	}
`}}},
	{"versions: who is blind is not told of rows that were not known", []edit{{"invalidationset.go",
		`				m.slots = append(m.slots, tm.slot(Unseen))
`, `				_ = key
`}}},
	{"versions: who is blind is told of rows only that have gone", []edit{{"invalidationset.go",
		`				m.slots = append(m.slots, tm.slot(Unseen))
`, `				if new == nil {
					m.slots = append(m.slots, tm.slot(Unseen))
				}
`}}},
	{"versions: bulk moves only the table", []edit{{"invalidationset.go",
		`		m.wholes = append(m.wholes, t)
`, `		_ = t
`}}},
	{"versions: bulk is not looked at", []edit{{"readset.go",
		`		c = max(c, since(w.load(&t.table.whole.v), c0))
`, ``}}},
	{"versions: dirty is no miss", []edit{{"readset.go",
		`	case v&dirtyMask > 0:`, `	case false:`}}},
	{"versions: moved is no miss", []edit{{"readset.go",
		`	case v>>dirtyBits > c0:`, `	case false:`}}},
	{"versions: a version of the load's clock is a miss", []edit{{"readset.go",
		`v>>dirtyBits > c0`, `v>>dirtyBits >= c0 && v > 0`}}},
	{"versions: settling does not stamp", []edit{{"versions.go",
		`	w.move(m, delta)
	w.leave(m.grace)
`, `	for _, s := range m.slots {
		w.slots[s].Add(^uint64(0))
	}
	for _, t := range m.wholes {
		t.whole.v.Add(^uint64(0))
	}
	for _, t := range m.tables {
		t.version.v.Add(^uint64(0))
	}
	if m.all || m.shared && delta < 0 {
		w.all.v.Add(^uint64(0))
	}
	w.leave(m.grace)
`}}},
	{"versions: the position is published before", []edit{{"apply.go",
		`	for i := range invalidations {
		invalidations[i].apply(pos, ref != nil)
	}
	d.versions.step()
`, `	d.mu.Lock()
	d.publish(pos)
	d.mu.Unlock()
	d.versions.step()
	for i := range invalidations {
		invalidations[i].apply(pos, ref != nil)
	}
`}}},
	{"versions: the clock is read after the source", []edit{{"lists.go",
		`c0: l.list.c0,`, `c0: s.domain.versions.load(&s.domain.versions.clock.v),`}}},
	{"versions: the table's version comes first", []edit{{"versions.go",
		`		for _, s := range m.slots {
			w.stamp(&w.slots[s], k, delta)
		}
`, `		for _, t := range m.tables {
			w.stamp(&t.version.v, k, delta)
		}
		for _, s := range m.slots {
			w.stamp(&w.slots[s], k, delta)
		}
`}, {"versions.go", `		for _, t := range m.tables {
			w.stamp(&t.version.v, k, delta)
		}
		if m.all`, `		if m.all`}}},
	{"versions: the sum is taken after the walk", []edit{{"readset.go",
		`	c.space.domain.versions.store(&c.seen, sum)
`, `	w := c.space.domain.versions
	sum = w.load(&w.all.v)
	for i := range c.deps.tables {
		sum += w.load(&c.deps.tables[i].table.version.v)
	}
	w.store(&c.seen, sum)
`}}},
	{"versions: the sum is set by the load", []edit{{"lists.go",
		`		l.stored = keep && c.Valid()
`, `		if l.stored = keep; keep {
			w := s.domain.versions
			sum := w.load(&w.all.v)
			for i := range c.deps.tables {
				sum += w.load(&c.deps.tables[i].table.version.v)
			}
			c.seen.Store(sum)
		}
`}}},
	{"versions: xor for the sum", []edit{{"readset.go",
		`		sum += w.load(`, `		sum ^= w.load(`}}},
	{"versions: all is not in the sum", []edit{{"readset.go",
		`	sum := w.load(&w.all.v)
`, `	sum := uint64(0)
`}}},
	{"versions: one table is not in the sum", []edit{{"readset.go",
		`	sum := w.load(&w.all.v)
	for i := range c.deps.tables {
`, `	sum := w.load(&w.all.v)
	for i := range c.deps.tables[:1] {
`}}},
	{"versions: one version twice", []edit{{"invalidationset.go",
		`		m.slots = slices.Compact(m.slots)
`, ``}}},
	{"versions: the dirty count reaches the stamp", []edit{{"versions.go",
		`	dirty := (x.Load() + uint64(delta)) & dirtyMask
	w.store(x, k<<dirtyBits|dirty)
`, `	w.store(x, k<<dirtyBits+x.Load()&dirtyMask+uint64(delta))
`}, {"versions.go", `	maxMarks = 1 << 15`, `	maxMarks = 1 << 17`}}},
	{"versions: the clock moves before the versions", []edit{{"versions.go",
		`	if m.shared {
		w.store(&w.shared, k<<dirtyBits)
		w.stamp(&w.all.v, k, delta)
	} else {`, `	w.store(&w.clock.v, k)
	if m.shared {
		w.store(&w.shared, k<<dirtyBits)
		w.stamp(&w.all.v, k, delta)
	} else {`}, {"lists.go", `l.settled && c == still`, `l.settled && c != moved`}}},
	{"versions: what is too much keeps nothing", []edit{{"versions.go",
		`	if w.rest++; w.rest > 1 {
		return 0
	}
	return 1
`, `	w.rest++
	return 0
`}}},
	{"versions: the first that settles frees all", []edit{{"versions.go",
		`		if w.rest--; w.rest > 0 {
			delta = 0
		}
`, `		w.rest--
`}}},
	{"versions: a mark stays", []edit{{"versions.go", `		w.marks--
	}
	w.move`, `	}
	w.move`}}},
	{"template: used at once", []edit{{"tagcolumns.go",
		`	return c0 >= since
`, `	return since > 0 || c0 > 0
`}}},
	{"template: its state is read when the load ends", []edit{{"tagcolumns.go",
		`	return c0 >= since
`, `	return since != never
`}}},
	{"template: what is pending is not waited for", []edit{{"versions.go",
		`	m.grace = w.enter()
`, `	m.grace = w.enter()
	w.gracePeriods[m.grace-w.first].marks--
`}, {"tagcolumns.go", `	w.gracePeriods[grace-w.first].marks--
	w.retire()
`, `	w.retire()
`}}},
	{"template: removed without a touch", []edit{{"tagcolumns.go",
		`	w.move(&InvalidationSet{versions: w, wholes: []*Table{t}, tables: []*Table{t}}, 0)
`, ``}}},
	{"template: counts until it is removed", []edit{{"tagcolumns.go",
		`	tm.since.Store(never)
	w.move(&InvalidationSet{versions: w, wholes: []*Table{t}, tables: []*Table{t}}, 0)
`, `	w.move(&InvalidationSet{versions: w, wholes: []*Table{t}, tables: []*Table{t}}, 0)
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
	{"lists: an answer's own tags are forgotten", []edit{{"lists.go",
		`	for i := range found {
		c.deps.add(&found[i], c.c0)
	}
`, ``}}},
	{"hold: lists are not held", []edit{{"apply.go",
		`		invalidations[i].apply(0, true)
`, `		if invalidations[i].InvalidationSet == nil {
			invalidations[i].apply(0, true)
		}
`}, {"apply.go", `		invalidations[i].apply(pos, false)
		invalidations[i].settle(pos)
`, `		if invalidations[i].InvalidationSet != nil {
			continue
		}
		invalidations[i].apply(pos, false)
		invalidations[i].settle(pos)
`}}},
	{"reset: the epoch before the barrier", []edit{{"domain.go",
		`	d.versions.touch(all, ref != nil) // before the epoch
	before := d.begin(Progress{Origin: origin, Pos: pos}, all, ref, now)
`, `	before := d.begin(Progress{Origin: origin, Pos: pos}, all, ref, now)
	d.versions.touch(all, ref != nil)
`}}},
}

// harmless change nothing that anybody can notice; they must survive.
var harmless = []mutant{
	// The marks that a new epoch leaves on every space keep leases of its versions from being
	// stored, joined and believed as well.
	{"reset: no barrier for lists", []edit{{"domain.go",
		`	d.versions.touch(all, ref != nil) // before the epoch
`, `	d.versions.touch(all, false)
`}, {"domain.go",
		`		p.invalidations = append(p.invalidations, Invalidation{InvalidationSet: all})
`, `		_ = all
`}}},
	{"template: the clock stands still", []edit{{"tagcolumns.go",
		`			k := w.clock.v.Load() + 1
			tm.since.Store(k)
			w.store(&w.clock.v, k)
`, `			tm.since.Store(w.clock.v.Load())
`}}},
	{"versions: the clock moves before the versions, and tokens ask for what is settled",
		[]edit{{"versions.go", `	if m.shared {
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
	{"lists: no epoch in a copy", []edit{{"readset.go",
		`	if c.epoch != d.versions.load(&d.epoch) || c.generation`, `	if c.generation`}}},
}
