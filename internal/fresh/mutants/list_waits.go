package main

// waitsMutants break the rules of waits.go: who waits for a list is told of what may have
// changed it, and is not told before reads see that.
var waitsMutants = []mutant{
	{"waits: nobody is told of a tag", []edit{{"waits.go",
		`		w.tellAll(w.by[dep{slot: slot}])
`, `		_ = slot
`}}},
	{"waits: nobody is told of any row", []edit{{"waits.go",
		`		w.tellAll(w.by[dep{table: t}])
`, `		_ = t
`}}},
	{"waits: nobody is told of a table's whole", []edit{{"waits.go",
		`		w.tellAll(w.by[wholeOf(t)])
`, `		_ = t
`}}},
	{"waits: nobody is told of a change of everything", []edit{{"waits.go",
		`		for _, s := range w.spaces {
			w.tellAll(s.waits)
		}
		return
`, `		return
`}}},
	{"waits: whoever comes after the change is not told", []edit{{"waits.go",
		`	if c.Outdated() { // after`, `	if false { // after`}}},
	{"waits: an epoch is not noticed", []edit{{"waits.go",
		`			if x.copy.epoch != epoch ||`, `			if`}}},
	{"waits: a generation is not noticed", []edit{{"waits.go",
		`x.copy.epoch != epoch || x.copy.generation != generation`, `x.copy.epoch != epoch`}}},
	{"waits: who was looked at last is not kept", []edit{{"waits.go",
		`		if epoch == of.epoch && generation == of.generation {
			continue
		}
`, `		if true {
			continue
		}
`}}},
	{"waits: a wait that ends is remembered", []edit{{"waits.go",
		`	if w.remove(x) {
		close`, `	if true {
		close`}}},
	{"waits: what a write keeps is outdated", []edit{{"waits.go",
		`> c.c0 && v&dirtyMask == 0 })`, `> c.c0 })`}}},
	{"waits: what has moved is not outdated", []edit{{"waits.go",
		`gone = gone || v>>dirtyBits > c.c0 && v&dirtyMask == 0 })`,
		`gone = gone || v>>dirtyBits > c.c0+1<<40 && v&dirtyMask == 0 })`}}},
	{"waits: nothing is held", []edit{{"waits.go",
		`held = held || v&dirtyMask > 0 })`, `held = held || v&dirtyMask > dirtyMask })`}}},
}
