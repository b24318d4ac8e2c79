package main

// shownMutants break the rules of watchedreads.go: what watchers may have, of documents that depend
// on versions, and when they are told of it.
var shownMutants = []mutant{
	{"watchers: what is watchedReads is looked at before it is noted", []edit{{"watchedreads.go",
		`	w.add(row.Key([]byte(k)), c)
`, `	_ = k
`}}},
	{"watchers: what nobody is given any more is noted", []edit{{"watchedreads.go",
		`	if !c.Suspect() {
		return // nobody is given it any more
	}
`, ``}}},
	{"watchers: answers of loads are not noted", []edit{{"lists.go",
		`			s.answered(l.Key, c) // before c is known to be good
`, ``}}},
	{"watchers: answers of loads are looked at before they are noted", []edit{{"lists.go",
		`			s.answered(l.Key, c) // before c is known to be good
		}
		l.stored = keep && c.Valid()
`, `		}
		l.stored = keep && c.Valid()
		if c != nil {
			s.answered(l.Key, c)
		}
`}}},
	{"watchers: answers of loads are noted only if they are kept", []edit{{"lists.go",
		`keep || s.watchedReads.watches()`, `keep`}}},
	{"watchers: are not told of an answer whose versions have moved", []edit{{"watchedreads.go",
		`		w.due = append(w.due, k)
`, `		_ = k
`}}},
	{"watchers: every answer is told of", []edit{{"watchedreads.go",
		`if c.Check() == Changed {`, `if true {`}}},
	{"watchers: are told before reads see it", []edit{{"watchedreads.go",
		`if c.Check() == Changed {`, `if c.Check() != Unmoved {`}}},
	{"watchers: tags tell of nothing", []edit{{"watchedreads.go",
		`		keys = w.take(keys, dep{slot: slot})
`, `		_ = slot
`}}},
	{"watchers: tables tell of nothing", []edit{{"watchedreads.go",
		`		keys = w.take(keys, dep{table: t})
`, `		_ = t
`}}},
	{"watchers: anything is nothing", []edit{{"watchedreads.go",
		`	all = m.all || slices`, `	all = slices`}}},
	{"watchers: a whole table is nothing", []edit{{"watchedreads.go",
		`		return slices.Contains(w.tables, t)
`, `		return slices.Contains(w.tables, t) && false
`}}},
	{"watchers: a whole table of others is everything", []edit{{"watchedreads.go",
		`		return slices.Contains(w.tables, t)
`, `		return true
`}}},
	{"watchers: what they had stays when they have gone", []edit{{"watchedreads.go",
		`if all || !w.watches() {`, `if all {`}}},
	{"watchers: all is remembered though nobody watches", []edit{
		{"watchedreads.go", `	if !w.watches() || c.shown.Load()`, `	if c.shown.Load()`},
		{"watchedreads.go", `w.watched != nil && w.watched() }`, `w.watched != nil }`}}},
	{"watchers: what was noted for others before counts", []edit{{"watchedreads.go",
		`		w.period.Add(1)
`, ``}}},
	{"watchers: what they are told of stays", []edit{{"watchedreads.go",
		`		keys = append(keys, l.of.key)
		w.forget(l.of)
`, `		keys = append(keys, l.of.key)
		w.unlink(l)
`}}},
	{"watchers: the copy does not know that it was told of", []edit{{"watchedreads.go",
		`		c.shown.Store(0)
`, `		_ = c
`}}},
	{"watchers: what is noted once is noted again", []edit{{"watchedreads.go",
		`	if c.shown.Load() == period {
		return
	}
`, ``}, {"watchedreads.go", ` || c.shown.Load() == w.period.Load() {`, ` {`}}},
	{"watchers: a key is kept in the caller's buffer", []edit{{"watchedreads.go",
		`	w.add(row.Key([]byte(k)), c)
`, `	w.add(k, c)
`}}},
	{"watchers: versions of a second copy are left out", []edit{{"watchedreads.go",
		`return o.deps.equal(&c.deps)`, `return true`}}},
	{"watchers: tags of what they have are left out", []edit{{"watchedreads.go",
		`		links = append(links, watchedLink{of: doc, dep: dep{slot: slot}})
`, `		_ = slot
`}}},
	{"watchers: tables of what they have are left out", []edit{{"watchedreads.go",
		`		if t.any {
			links`, `		if false {
			links`}}},
	{"watchers: what is remembered has no bound", []edit{{"watchedreads.go",
		`w.n <= maxWatchedReads`, `true`}}},
	{"watchers: what goes for others is not told of", []edit{{"watchedreads.go",
		`		w.due = append(w.due, other.key)
`, ``}}},
	{"watchers: nobody is told of what is due", []edit{{"watchedreads.go",
		`		w.notify(k)
`, `		_ = k
`}}},
	{"watchers: the first document of a version stays", []edit{{"watchedreads.go",
		`		delete(w.by, l.dep)
`, `		_ = l
`}}},
	{"watchers: others of a version go with the first", []edit{{"watchedreads.go",
		`	case l.next != nil:
		w.by[l.dep] = l.next
`, ``}}},
	{"watchers: others of a version go with one in between", []edit{{"watchedreads.go",
		`		l.prev.next = l.next
`, `		l.prev.next = nil
`}}},
	{"watchers: one in between stays", []edit{{"watchedreads.go",
		`		l.prev.next = l.next
`, ``}}},
	{"watchers: the way back leads to what is gone", []edit{{"watchedreads.go",
		`		l.next.prev = l.prev
`, ``}}},
	{"watchers: versions are counted for ever", []edit{{"watchedreads.go",
		`		w.n -= len(links)
`, ``}}},
	{"suspect: a copy whose versions have moved is given", []edit{{"readset.go",
		`return w.named(&c.deps, c.c0) == still && `, `return `}}},
	{"suspect: changes that share all are left out", []edit{{"readset.go",
		` && since(w.load(&w.shared), c.c0) == still`, ``}}},
	{"suspect: a new epoch has moved all versions", []edit{{"readset.go",
		`	return w.named(&c.deps, c.c0)`, `	return w.look(&c.deps, c.c0)`}}},
}
