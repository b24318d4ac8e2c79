package main

// applyMutants break the rules of apply.go and domain.go: what a change does,
// when it is settled, what an epoch and the gate are.
var applyMutants = []mutant{
	{"apply: the position is published before", []edit{{"apply.go",
		`	for i := range invalidations {
		invalidations[i].apply(pos, ref != nil)
	}
	d.versions.step()
	d.mu.Lock()
`, `	d.mu.Lock()
	d.publish(pos)
	d.mu.Unlock()
	for i := range invalidations {
		invalidations[i].apply(pos, ref != nil)
	}
	d.versions.step()
	d.mu.Lock()
`}}},
	{"apply: the position is not published", []edit{{"apply.go", `	d.publish(pos)
	return p
`, `	return p
`}}},
	{"apply: pending before it is marked", []edit{{"apply.go",
		`	for i := range invalidations {
		invalidations[i].apply(pos, ref != nil)
	}
	d.versions.step()
	d.mu.Lock()
	defer d.mu.Unlock()
	if ref`, `	d.mu.Lock()
	if ref != nil {
		d.pend(p)
	}
	d.mu.Unlock()
	for i := range invalidations {
		invalidations[i].apply(pos, ref != nil)
	}
	d.versions.step()
	d.mu.Lock()
	defer d.mu.Unlock()
	if ref = nil; ref`}}},
	{"apply: nothing is ever pending", []edit{{"apply.go",
		`		d.pend(p)
		if len`, `		if len`}}},
	{"apply: nothing is marked", []edit{{"apply.go",
		`invalidations[i].apply(pos, ref != nil)`, `invalidations[i].apply(pos, false)`}}},
	{"apply: nothing is touched", []edit{{"apply.go", `		invalidations[i].apply(pos, ref != nil)
`, `		_ = i
`}}},
	{"apply: a settled change is not marked as such", []edit{{"apply.go",
		`invalidations[i].apply(pos, ref != nil)`, `invalidations[i].apply(pos, true)`}}},
	{"include: a load claims what it may miss", []edit{{"apply.go",
		`invalidations: invalidations, begins: true})`, `invalidations: invalidations})`}}},
	{"apply: a settled change leaves loads in flight", []edit{{"apply.go",
		`			sh.invalidate(k, pos)
			s.drop(k)
`, `			s.drop(k)
`}}},
	{"apply: a settled change leaves the copy", []edit{{"apply.go",
		`			sh.invalidate(k, pos)
			s.drop(k)
`, `			sh.invalidate(k, pos)
`}}},
	{"whole: unsettled after the new generation", []edit{{"apply.go",
		`			s.wholes.Add(1) // before generation: see Space.lease
		}
		s.domain.versions.step()
		s.generation.Add(1)
`, `			defer s.wholes.Add(1)
		}
		s.domain.versions.step()
		s.generation.Add(1)
`}}},
	{"whole: the generation stays", []edit{{"apply.go", `		s.domain.versions.step()
		s.generation.Add(1)
`, `		s.domain.versions.step()
`}}},
	{"whole: not held until it is settled", []edit{
		{"apply.go", `s.wholes.Add(1) //`, `s.wholes.Add(0) //`},
		{"apply.go", `s.wholes.Add(-1)`, `s.wholes.Add(0)`}}},
	{"whole: never settled", []edit{{"apply.go", `s.wholes.Add(-1)`, `s.wholes.Add(0)`}}},
	{"whole: loads begun under the mark are joined after", []edit{{"apply.go",
		`		s.generation.Add(1)
		s.wholes.Add(-1)
`, `		s.wholes.Add(-1)
`}}},
	{"hold: marks nothing", []edit{{"apply.go",
		`invalidations[i].apply(0, true)`, `invalidations[i].apply(0, false)`}}},
	{"release: the marks stay", []edit{{"apply.go", `		invalidations[i].apply(pos, false)
		invalidations[i].settle(pos)
`, `		invalidations[i].apply(pos, false)
`}}},
	{"settle: loads begun under the mark are joined after", []edit{{"apply.go",
		`		sh.invalidate(k, pos)
		unmark(sh, k)
`, `		unmark(sh, k)
`}}},
	{"settle: the mark stays", []edit{{"apply.go", `		unmark(sh, k)
`, ``}}},
	{"settle: twice counts twice", []edit{{"apply.go", `		if p.pends {
			p.pends = false
`, `		{
			p.pends = false
`}}},
	{"settle: stays pending", []edit{{"apply.go", `		if p.pends {
			rest = append`, `		{
			rest = append`}}},
	{"settle: what is settled counts still", []edit{{"apply.go", `	d.least = noLimit
	rest`, `	rest`}}},
	{"settle: what is left does not count", []edit{{"apply.go",
		`			rest = append(rest, p)
			d.least = min(d.least, p.least())
`, `			rest = append(rest, p)
`}}},
	{"settled to: what is pending does not count", []edit{{"apply.go",
		`	d.pending = append(d.pending, p)
	d.least = min(d.least, p.least())
`, `	d.pending = append(d.pending, p)
`}}},
	{"settled to: the last counts alone", []edit{{"apply.go",
		`	d.pending = append(d.pending, p)
	d.least = min(d.least, p.least())
`, `	d.pending = append(d.pending, p)
	d.least = p.least()
`}}},
	{"settled to: more than was applied", []edit{{"apply.go",
		`min(q.Pos, d.least)`, `d.least`}}},
	{"settled to: one too many", []edit{{"apply.go", `return p.Pos - 1`, `return p.Pos`}}},

	{"gate: open before the first fence", []edit{{"domain.go", `fenced != 0 && lag`, `lag`}}},
	{"gate: closed too early", []edit{{"domain.go", `lag <= d.staleAfter`, `lag < d.staleAfter`}}},
	{"gate: the wrong way round", []edit{{"domain.go",
		`lag <= d.staleAfter`, `lag >= d.staleAfter`}}},
	{"gate: never closes", []edit{{"domain.go", ` && lag <= d.staleAfter`, ``}}},
	{"gate: twice as long", []edit{{"domain.go",
		`lag <= d.staleAfter`, `lag <= 2*d.staleAfter`}}},
	{"fenced: goes back", []edit{{"domain.go",
		`begin <= old || d.fenced`, `d.fenced`}}},
	{"reset: the epoch stays", []edit{{"domain.go",
		`d.epoch.Store(at.Epoch)`, `d.epoch.Store(1)`}}},
	{"reset: what was pending stays", []edit{{"domain.go",
		`	before, d.pending, d.least = d.pending, nil, noLimit
`, ``}}},
	{"reset: what was pending is forgotten with its marks", []edit{{"domain.go",
		`		p.unmark()
`, `		_ = p
`}}},
	{"reset: what was pending is settled before the epoch", []edit{{"domain.go",
		`	before := d.begin(Progress{`, `	for _, p := range d.Unsettled() {
		d.Settle(p)
	}
	before := d.begin(Progress{`}}},
	{"reset: begins without a mark", []edit{{"domain.go",
		`			s.wholes.Add(1) // before the epoch: see Space.lease
			p.invalidations`, `			_ = s
			p.invalidations`}, {"domain.go",
		`Invalidation{Space: s, Whole: true}`, `Invalidation{Space: s}`}}},
	{"reset: is told of what is not visible afterwards", []edit{{"domain.go",
		`	before := d.begin(Progress{Origin: origin, Pos: pos}, all, ref, now)
	for _, p := range before {
		p.unmark()
	}
`, `	before := d.begin(Progress{Origin: origin, Pos: pos}, all, nil, now)
	for _, p := range before {
		p.unmark()
	}
	var invalidations []Invalidation
	for _, s := range d.spaces {
		invalidations = append(invalidations, Invalidation{Space: s, Whole: true})
	}
	if ref != nil {
		d.Apply(pos, invalidations, ref, now)
	}
`}}},
	{"reset: marked after the epoch", []edit{{"domain.go",
		`			s.wholes.Add(1) // before the epoch: see Space.lease
`, `			defer s.wholes.Add(1)
`}}},
	{"reset: its beginning is not pending", []edit{{"domain.go",
		`		d.pend(p)
`, `		_ = p
`}}},
	{"settled to: a beginning claims its position", []edit{{"apply.go",
		`	case p.begins: //`, `	case false: //`}}},
	{"reset: what watchers may have stays", []edit{{"domain.go", `		s.watchedReads.reset()
`, ``}}},
	{"reset: the position stays", []edit{{"domain.go",
		`	d.applied.Store(&at)
`, `	at.Pos = max(at.Pos, d.applied.Load().Pos)
	d.applied.Store(&at)
`}}},
	{"reset: nobody is woken", []edit{{"domain.go", `	d.wake()
	return before
`, `	return before
`}}},
	{"reset: the fence of before is forgotten", []edit{{"domain.go",
		`past{at.Epoch - 1, d.fenced.Load()}`, `past{at.Epoch - 1, 0}`}}},
	{"advance: goes back", []edit{
		{"domain.go", `	if pos <= d.applied.Load().Pos {
		return
	}
	d.mu`, `	d.mu`},
		{"domain.go", `	if pos > p.Pos {
		p.Pos`, `	if true {
		p.Pos`}}},
	{"advance: wakes for nothing", []edit{{"domain.go", `	if pos <= d.applied.Load().Pos {
		return
	}
	d.mu`, `	d.mu`}}},
	{"publish: goes back", []edit{{"domain.go", `	if pos > p.Pos {
		p.Pos`, `	if true {
		p.Pos`}}},
	{"publish: nobody is woken", []edit{{"domain.go", `		d.applied.Store(&p)
	}
	d.wake()
`, `		d.applied.Store(&p)
	}
`}}},
	{"wake: one time only", []edit{{"domain.go", `		d.waiting = 0
`, `		d.waiting = -1 << 30
`}}},
	{"suspect: any generation", []edit{{"domain.go",
		`	if s.Generation != sp.generation.Load() {
		return 0, false
	}
`, ``}}},
	{"suspect: an epoch without a fence", []edit{{"domain.go", ` || p.fenced == 0 {`, ` {`}}},
	{"suspect: any epoch", []edit{{"domain.go", `p.epoch != s.Epoch || p`, `p`}}},
}
