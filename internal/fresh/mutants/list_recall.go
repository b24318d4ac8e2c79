package main

// recallMutants break the rules of recall.go, and what answer.go notes for them: when
// a copy that a slower tier has kept may be the answer.
var recallMutants = []mutant{
	{"recall: a reader of the source gets the copy", []edit{{"recall.go",
		`l.now || l.doomed`, `l.doomed`}}},
	{"recall: a doomed lease is answered", []edit{{"recall.go",
		`l.doomed || !l.storable`, `!l.storable`}}},
	{"recall: a lease is answered while its key is unsettled", []edit{{"recall.go",
		`!l.storable || !s.Valid`, `!s.Valid`}}},
	{"recall: a lease of an old stamp is answered", []edit{{"recall.go",
		` || !s.Valid(l.Stamp)`, ``}}},
	{"recall: old parents need not be known", []edit{{"recall.go",
		` || s.children.on`, ``}}},
	{"recall: another format may be newer", []edit{{"recall.go",
		` ||
		s.mayBeOlder(sh, l)`, ``}}},
	{"recall: others may be stored that have read another state", []edit{{"recall.go",
		`	sh.overtake(l.Key, doc)
`, ``}}},
	{"recall: the lease stays in flight", []edit{{"recall.go",
		`	sh.land(l)
`, ``}}},
	{"recall: the copy is not stored", []edit{{"recall.go",
		`	store()
`, ``}}},
	{"recall: stores, and does not say so", []edit{{"recall.go",
		`l.stored, l.recalled = doc, true, true`, `l.stored, l.recalled = doc, false, true`}}},
	{"resume: after what was applied", []edit{{"recall.go",
		` && pos <= p.Pos`, ``}}},
	{"resume: of any origin", []edit{{"recall.go",
		` && p.Origin == origin`, ``}}},
	{"settled: what is pending is settled", []edit{{"recall.go",
		`return d.settledTo(d.applied.Load())`, `return d.applied.Load()`}}},
	{"tell: nothing is noted", []edit{{"answer.go",
		`	*at = max(*at, doc.Stamp().At+1)
`, `	_ = at
`}}},
	{"tell: a fence at the same time is enough", []edit{{"answer.go",
		`doc.Stamp().At+1`, `doc.Stamp().At`}}},
	{"drop all: what outlives the process is flushed after only", []edit{{"space.go",
		`	s.flushed()
	s.children.clear(false)
`, `	s.children.clear(false)
`}}},
	{"drop all: what outlives the process is flushed before only", []edit{{"space.go",
		`	s.generation.Add(1)
	s.flushed()
`, `	s.generation.Add(1)
`}}},
}
