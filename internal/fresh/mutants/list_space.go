package main

import "slices"

// mutants are the wrong protocols that the tests must tell from the right one.
var mutants = slices.Concat(spaceMutants, writeThroughMutants, fromDiskMutants, applyMutants,
	waitsMutants, shownMutants, showsMutants, wordMutants)

// spaceMutants break the rules of space.go: who joins, and what is stored.
var spaceMutants = []mutant{
	{"lease: dirty keys are storable", []edit{{"space.go",
		`sh.dirty[k] == 0 && s.wholes`, `s.wholes`}}},
	{"lease: a key is storable while everything is unsettled", []edit{{"space.go",
		` && s.wholes.Load() == 0`, ``}}},
	{"lease: storable before there is a feed", []edit{{"space.go",
		` && l.Stamp.Epoch != 0`, ``}}},
	{"lease: generation read after wholes", []edit{{"space.go",
		`	l.Stamp.Generation = s.generation.Load()
	s.domain.versions.step()
	l.storable = sh.dirty[k] == 0 && s.wholes.Load() == 0 && l.Stamp.Epoch != 0
`, `	l.storable = sh.dirty[k] == 0 && s.wholes.Load() == 0 && l.Stamp.Epoch != 0
	s.domain.versions.step()
	l.Stamp.Generation = s.generation.Load()
`}}},
	{"lease: position read after the marks", []edit{{"space.go",
		`	if !l.settled {
`, `	l.AsOf = s.domain.applied.Load()
	if !l.settled {
`}}},
	{"lease: position covers what is pending", []edit{{"space.go",
		`if !l.settled {`, `if false {`}}},
	{"begin: joins a invalidated load", []edit{{"space.go",
		`return l.at == 0 && !l.invalidated && l.after`, `return l.at == 0 && l.after`}}},
	{"begin: joins a load that others have superseded", []edit{{"space.go",
		`!l.invalidated && l.after == nil && `, `!l.invalidated && `}}},
	{"begin: joins a load while the gate is closed", []edit{{"domain.go",
		`		return Now
`, `		return n
`}}},
	{"begin: joins a load of an old stamp", []edit{{"space.go",
		`l.after == nil && s.Valid(l.Stamp)
`, `l.after == nil
`}}},
	{"begin: never joins", []edit{{"space.go",
		`case need == Any && s.recent(last), need`, `case need`}}},
	{"begin: with a token never joins", []edit{{"space.go",
		` need == Settled && last.settled,`, ``}}},
	{"begin: with a token joins an unsettled load", []edit{{"space.go",
		`need == Settled && last.settled`, `need == Settled`}}},
	{"begin: now joins a load that was sent", []edit{{"space.go",
		`need == Now && !last.sent:`, `need == Now:`}}},
	{"begin: now never joins", []edit{{"space.go", `,
			need == Now && !last.sent:`, `:`}}},
	{"begin: joins an unsettled load after a fence", []edit{{"space.go",
		`need == Any && s.recent(last)`, `need == Any`}}},
	{"begin: joins no load after a fence", []edit{{"space.go",
		`return l.settled || l.Fenced ==`, `return l.Fenced ==`}}},
	{"begin: joins no load that is not settled", []edit{{"space.go",
		`l.settled || l.Fenced == s.domain.fenced.Load()`, `l.settled`}}},
	{"begin: a load that now has joined does not know", []edit{{"space.go",
		`			last.now = last.now || need == Now
`, ``}}},
	{"begin: a load for now does not know", []edit{{"space.go",
		`	l.now = need == Now
`, ``}}},
	{"begin: a superseded load is out of reach", []edit{{"space.go",
		`	l.older, sh.inflight[fl] = sh.inflight[fl], l
`, `	sh.inflight[fl] = l
`}}},
	{"begin: a superseded load is not stored", []edit{{"space.go",
		`	l.older, sh.inflight[fl] = sh.inflight[fl], l
`, `	if l.older = sh.inflight[fl]; l.older != nil {
		l.older.invalidated = true
	}
	sh.inflight[fl] = l
`}}},
	{"send: not noted", []edit{{"space.go", `	l.sent = true
`, ``}}},
	{"send: tells the opposite", []edit{{"space.go",
		`	return !l.invalidated
`, `	return l.invalidated
`}}},
	{"finish: stores what was not storable", []edit{{"space.go",
		`store != nil && l.storable && `, `store != nil && `}}},
	{"finish: stores what is invalidated", []edit{{"space.go",
		` && !l.invalidated && l.sameVersion`, ` && l.sameVersion`}}},
	{"finish: stores what has an old stamp", []edit{{"space.go",
		` && l.sameVersion(doc) &&
			s.Valid(l.Stamp)
`, ` && l.sameVersion(doc)
`}}},
	{"finish: stores a load that has failed", []edit{{"space.go",
		`	if err == nil {
		sh.supersede`, `	if true {
		sh.supersede`}}},
	{"finish: stores, and does not say so", []edit{{"space.go",
		`		if l.stored {
`, `		if l.stored {
			l.stored = false
`}}},
	{"finish: an answer leaves older loads alone", []edit{{"space.go",
		`		sh.supersede(l.Key, doc)
		l.stored`, `		l.stored`}}},
	{"finish: an answer leaves copies of other states alone", []edit{{"space.go",
		`		s.evictOthers(l, doc, l.stored)
`, ``}}},
	{"found: the load stays in flight", []edit{{"space.go",
		`	sh.land(l)
	l.doc = doc`, `	l.doc = doc`}}},
	{"found: a reader of the source gets the copy", []edit{{"space.go",
		`	if l.now || l.answered {`, `	if l.answered {`}}},
	{"found: who has got a newer answer gets the copy", []edit{{"space.go",
		`	if l.now || l.answered {`, `	if l.now {`}}},
	{"found: nothing is answered", []edit{{"space.go", `	l.doc = doc
	close`, `	close`}}},
	{"finish: a load that has failed drops the copy", []edit{{"space.go",
		`	if err == nil {
		sh.supersede`, `	if err != nil {
		s.drop(l.Key)
	}
	if err == nil {
		sh.supersede`}}},
	{"land: the load stays in flight", []edit{{"space.go",
		`	sh.land(l)
	if err == nil {`, `	if err == nil {`}}},
	{"land: the first takes all with it", []edit{{"space.go",
		`if sh.inflight[fl] = l.older; l.older == nil {`, `if true {`}}},
	{"land: an older one stays in flight", []edit{{"space.go",
		`			o.older = l.older
`, `			_ = l.older
`}}},
	{"land: takes the older ones with it", []edit{{"space.go",
		`			o.older = l.older
`, `			o.older = nil
`}}},
	{"supersede: loads that have read another state are stored", []edit{{"space.go",
		` && l.sameVersion(doc) &&`, ` &&`}}},
	{"supersede: a load beside two states is stored", []edit{{"answer.go",
		`		l.invalidated = true // one of the two states is the older one
`, `		_ = l
`}}},
	{"supersede: one format only", []edit{{"space.go",
		`	for f := range row.Format(row.NumFormats) {
		for l := sh.inflight[flight{k, f}]; l != nil; l = l.older {
			l.supersede`, `	for f := range row.Format(1) {
		for l := sh.inflight[flight{k, f}]; l != nil; l = l.older {
			l.supersede`}}},
	{"supersede: loads that will read later are not stored", []edit{{"answer.go",
		`	if !l.sent {
		l.answered`, `	if false {
		l.answered`}}},
	{"supersede: a load that has failed supersedes the others", []edit{{"space.go",
		`	if err == nil {
		sh.supersede(l.Key, doc)
`, `	sh.supersede(l.Key, doc)
	if err == nil {
`}}},
	{"drop: loads in flight are stored", []edit{{"space.go",
		`	defer sh.mu.Unlock()
	sh.invalidate(k, 0)
	s.drop(k)
}`, `	defer sh.mu.Unlock()
	s.drop(k)
}`}}},
	{"drop: the copy stays", []edit{{"space.go",
		`	defer sh.mu.Unlock()
	sh.invalidate(k, 0)
	s.drop(k)
}`, `	defer sh.mu.Unlock()
	sh.invalidate(k, 0)
}`}}},
	{"drop all: the generation stays", []edit{{"space.go",
		`	s.flushed()
	s.generation.Add(1)
`, `	s.flushed()
`}}},
	{"mark: loads in flight are stored", []edit{{"space.go",
		`	sh.dirty[k]++
	sh.invalidate(k, by)
`, `	sh.dirty[k]++
`}}},
	{"mark: the copy stays", []edit{{"space.go",
		`	sh.dirty[k]++
	sh.invalidate(k, by)
	s.drop(k)
`, `	sh.dirty[k]++
	sh.invalidate(k, by)
`}}},
	{"mark: does not count", []edit{{"space.go", `	sh.dirty[k]++
`, `	sh.dirty[k] = 1
`}}},
	{"unmark: takes all marks away", []edit{{"space.go",
		`if sh.dirty[k]--; sh.dirty[k] <= 0 {`, `if true {`}}},
	{"unmark: leaves the mark", []edit{{"space.go",
		`if sh.dirty[k]--; sh.dirty[k] <= 0 {`, `if sh.dirty[k]--; sh.dirty[k] < 0 {`}}},
	{"invalidate: one format only", []edit{{"space.go",
		`	for f := range row.Format(row.NumFormats) {
		for l := sh.inflight[flight{k, f}]; l != nil; l = l.older {
			l.invalidated`, `	for f := range row.Format(1) {
		for l := sh.inflight[flight{k, f}]; l != nil; l = l.older {
			l.invalidated`}}},
	{"invalidate: the last load only", []edit{{"space.go", `l != nil; l = l.older {
			l.invalidated`, `l != nil; l = nil {
			l.invalidated`}}},
	{"valid: any epoch", []edit{{"space.go", `st.Epoch == s.domain.epoch.Load() && `, ``}}},
	{"valid: any generation", []edit{{"space.go",
		` && st.Generation == s.generation.Load()`, ``}}},
	{"new space: what is pending does not touch it", []edit{{"space.go",
		`range d.pending {`, `range d.pending[:0] {`}}},
	{"new space: what is pending is never settled for it", []edit{{"space.go",
		`		p.invalidations = append(p.invalidations, Invalidation{Space: s, Whole: true})
`, `		_ = p
`}}},
	{"remove: loads are still stored", []edit{{"space.go",
		`	s.wholes.Add(1) // never settled: no lease is storable
	s.generation.Add(1)
`, ``}}},
	{"remove: later loads are stored", []edit{{"space.go",
		`	s.wholes.Add(1) // never settled: no lease is storable
`, ``}}},
	{"remove: loads in flight are stored", []edit{{"space.go",
		`no lease is storable
	s.generation.Add(1)
`, `no lease is storable
`}}},
	{"remove: the domain keeps the space", []edit{{"space.go",
		`if o == s {`, `if o == s && false {`}}},
}
