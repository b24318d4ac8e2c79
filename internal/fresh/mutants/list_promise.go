package main

// promiseMutants break the rules of promise.go: when what a write has read back may be
// kept, and whose changes do not count.
var promiseMutants = []mutant{
	{"promise: beside another write", []edit{{"promise.go",
		`int(sh.dirty[k]) == marks && `, `sh.dirty[k] > 0 && `}}},
	{"promise: beside a change of everything", []edit{{"promise.go",
		`s.wholes.Load() == 0 && `, ``}}},
	{"promise: before there is a feed", []edit{{"promise.go",
		` && l.Stamp.Epoch != 0 &&
		!s`, ` &&
		!s`}}},
	{"promise: old parents need not be known", []edit{{"promise.go",
		` &&
		!s.children.on`, ``}}},
	{"promise: nothing overtakes it", []edit{{"promise.go",
		`at: at, sent: true}`, `at: at}`}}},
	{"promise: out of reach", []edit{{"promise.go",
		`	sh.launch(l)
`, ``}}},
	{"promise: readers join it", []edit{{"space.go",
		`return l.at == 0 && !l.doomed`, `return !l.doomed`}}},
	{"promise: nothing dooms it", []edit{{"space.go",
		`l.doomed || by == 0 || l.at != by`, `l.doomed || l.at == 0`}}},
	{"promise: only loads of no position doom it", []edit{{"space.go",
		`by == 0 || l.at != by`, `by == 0 || l.at == 0`}}},
	{"promise: its own change dooms it", []edit{{"space.go",
		`l.doomed = l.doomed || by == 0 || l.at != by`, `l.doomed = true`}}},
	{"promise: a settling spares it", []edit{{"apply.go",
		`		sh.doom(k, pos)
		unmark(sh, k)
`, `		if pos == 0 {
			sh.doom(k, pos)
		}
		unmark(sh, k)
`}}},
	{"keep: what was not storable", []edit{{"promise.go",
		`!l.storable || `, ``}}},
	{"keep: what is doomed", []edit{{"promise.go", ` || l.doomed`, ``}}},
	{"keep: another state than was answered", []edit{{"promise.go",
		` || !l.agrees(doc)`, ``}}},
	{"keep: of an old stamp", []edit{{"promise.go",
		` || !s.Valid(l.Stamp)`, ``}}},
	{"keep: the lease stays in flight", []edit{{"promise.go",
		`	sh.land(l)
`, ``}}},
	{"keep: does not say so", []edit{{"promise.go",
		`	l.stored = true
`, ``}}},
	{"keep: others may be stored that have read another state", []edit{{"promise.go",
		`	sh.overtake(l.Key, doc)
`, ``}}},
	{"keep: copies of another state stay", []edit{{"promise.go",
		`	s.agree(l, doc, true)
`, ``}}},
	{"keep: the disk is not told", []edit{{"promise.go",
		`	s.tell(sh, l, doc)
`, ``}}},
}
