package main

// fromDiskMutants break the rules of fromdisk.go, and what answer.go notes for them: when
// a copy that a slower tier has kept may be the answer.
var fromDiskMutants = []mutant{
	{"from disk: a reader of the source gets the copy", []edit{{"fromdisk.go",
		`l.now || l.answered`, `l.answered`}}},
	{"from disk: others have got a newer answer", []edit{{"fromdisk.go",
		`l.answered || l.invalidated`, `l.invalidated`}}},
	{"from disk: an invalidated lease is answered", []edit{{"fromdisk.go",
		`l.invalidated || !l.storable`, `!l.storable`}}},
	{"from disk: a lease is answered while its key is unsettled", []edit{{"fromdisk.go",
		`!l.storable || !s.Valid`, `!s.Valid`}}},
	{"from disk: a lease of an old stamp is answered", []edit{{"fromdisk.go",
		` || !s.Valid(l.Stamp)`, ``}}},
	{"from disk: another format may be newer", []edit{{"fromdisk.go",
		` ||
		s.mayBeOlder(sh, l)`, ``}}},
	{"from disk: others may be stored that have read another state", []edit{{"fromdisk.go",
		`	sh.supersede(l.Key, doc)
`, ``}}},
	{"from disk: the lease stays in flight", []edit{{"fromdisk.go",
		`	sh.land(l)
`, ``}}},
	{"from disk: the copy is not stored", []edit{{"fromdisk.go",
		`	store()
`, ``}}},
	{"from disk: stores, and does not say so", []edit{{"fromdisk.go",
		`l.stored, l.fromDisk = doc, true, true`, `l.stored, l.fromDisk = doc, false, true`}}},
	{"resume: after what was applied", []edit{{"fromdisk.go",
		` && pos <= p.Pos`, ``}}},
	{"resume: of any origin", []edit{{"fromdisk.go",
		` && p.Origin == origin`, ``}}},
	{"settled: what is pending is settled", []edit{{"fromdisk.go",
		`return d.settledTo(d.applied.Load())`, `return d.applied.Load()`}}},
	{"note answer: nothing is noted", []edit{{"answer.go",
		`	*at = max(*at, doc.Stamp().At+1)
`, `	_ = at
`}}},
	{"note answer: a fence at the same time is enough", []edit{{"answer.go",
		`doc.Stamp().At+1`, `doc.Stamp().At`}}},
	{"drop all: what outlives the process is flushed after only", []edit{{"space.go",
		`	s.flushed()
	s.generation.Add(1)
`, `	s.generation.Add(1)
`}}},
	{"drop all: what outlives the process is flushed before only", []edit{{"space.go",
		`	s.generation.Add(1)
	s.flushed()
`, `	s.generation.Add(1)
`}}},
}
