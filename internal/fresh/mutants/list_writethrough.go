package main

// writeThroughMutants break the rules of writethrough.go: when what a write has read back may be
// kept, and whose changes do not count.
var writeThroughMutants = []mutant{
	{"write-through: beside another write", []edit{{"writethrough.go",
		`int(sh.dirty[k]) == marks && `, `sh.dirty[k] > 0 && `}}},
	{"write-through: beside a change of everything", []edit{{"writethrough.go",
		`s.wholes.Load() == 0 && `, ``}}},
	{"write-through: before there is a feed", []edit{{"writethrough.go",
		` && l.Stamp.Epoch != 0
`, `
`}}},
	{"write-through: nothing supersedes it", []edit{{"writethrough.go",
		`at: at, sent: true}`, `at: at}`}}},
	{"write-through: out of reach", []edit{{"writethrough.go",
		`	sh.launch(l)
`, ``}}},
	{"write-through: readers join it", []edit{{"space.go",
		`return l.at == 0 && !l.invalidated`, `return !l.invalidated`}}},
	{"write-through: nothing invalidates it", []edit{{"space.go",
		`l.invalidated || by == 0 || l.at != by`, `l.invalidated || l.at == 0`}}},
	{"write-through: only loads of no position invalidate it", []edit{{"space.go",
		`by == 0 || l.at != by`, `by == 0 || l.at == 0`}}},
	{"write-through: its own change invalidates it", []edit{{"space.go",
		`l.invalidated = l.invalidated || by == 0 || l.at != by`, `l.invalidated = true`}}},
	{"write-through: a settling spares it", []edit{{"apply.go",
		`		sh.invalidate(k, pos)
		unmark(sh, k)
`, `		if pos == 0 {
			sh.invalidate(k, pos)
		}
		unmark(sh, k)
`}}},
	{"end write-through: what was not storable", []edit{{"writethrough.go",
		`!l.storable || `, ``}}},
	{"end write-through: what is invalidated", []edit{{"writethrough.go",
		` || l.invalidated`, ``}}},
	{"end write-through: another state than was answered", []edit{{"writethrough.go",
		` || !l.sameVersion(doc)`, ``}}},
	{"end write-through: of an old stamp", []edit{{"writethrough.go",
		` || !s.Valid(l.Stamp)`, ``}}},
	{"end write-through: the lease stays in flight", []edit{{"writethrough.go",
		`	sh.land(l)
`, ``}}},
	{"end write-through: does not say so", []edit{{"writethrough.go",
		`	l.stored = true
`, ``}}},
	{"end write-through: others that have read another state are stored", []edit{{"writethrough.go",
		`	sh.supersede(l.Key, doc)
`, ``}}},
	{"end write-through: copies of another state stay", []edit{{"writethrough.go",
		`	s.evictOthers(l, doc, true)
`, ``}}},
	{"end write-through: the disk is not told", []edit{{"writethrough.go",
		`	s.noteAnswer(sh, l, doc)
`, ``}}},
}
