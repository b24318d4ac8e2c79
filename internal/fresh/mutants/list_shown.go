package main

// shownMutants break the rules of shown.go: what watchers may have, of documents that the
// feed names by a row of theirs.
var shownMutants = []mutant{
	{"watchers: what is evicted, replaced or of another state is forgotten", []edit{{"children.go",
		`		c.show(fl.key, rows)
`, `		_ = rows
`}}},
	{"watchers: what a write has dropped is forgotten", []edit{{"children.go",
		`c.remove(flight{k, f}, !notify)`, `c.remove(flight{k, f}, false)`}}},
	{"watchers: what is evicted is forgotten", []edit{{"children.go",
		`h != nil && h.doc == doc {
		c.remove(fl, true)`, `h != nil && h.doc == doc {
		c.remove(fl, false)`}}},
	{"watchers: what is replaced is forgotten", []edit{{"children.go",
		`	fl := flight{l.Key, l.Format}
	c.remove(fl, true)`, `	fl := flight{l.Key, l.Format}
	c.remove(fl, false)`}}},
	{"watchers: what is of another state is forgotten", []edit{{"children.go",
		`			c.remove(flight{k, f}, true)`, `			c.remove(flight{k, f}, false)`}}},
	{"watchers: an operator's order is taken for a change", []edit{{"space.go",
		`s.children.clear(false)`, `s.children.clear(true)`}}},
	{"watchers: dropping one is taken for a change", []edit{{"space.go",
		`	s.forget(k, false)`, `	s.forget(k, true)`}}},
	{"watchers: a write is taken for what the feed tells", []edit{{"apply.go",
		`touches[i].apply(0, true, false)`, `touches[i].apply(0, true, true)`}}},
	{"watchers: are not told of what memory has not", []edit{{"children.go",
		`		shown = c.shown.take(r)
`, ``}}},
	{"watchers: a row told of leads on to documents", []edit{{"shown.go",
		`	for _, k := range keys {
		s.forget(k)
	}
`, ``}}},
	{"watchers: answers that are not kept are forgotten", []edit{{"shown.go",
		`	c.show(l.Key, rows)
`, ``}}},
	{"watchers: an answer that was superseded is not told of", []edit{{"shown.go",
		`passed || m.at > l.clock`, `passed`}}},
	{"watchers: every answer that is not kept is told of", []edit{{"shown.go",
		`passed || m.at > l.clock`, `true`}}},
	{"watchers: an answer that may miss a change is not told of", []edit{{"shown.go",
		`			m.late = append(m.late, l.Key)
`, `			_ = m
`}}},
	{"watchers: are told before reads see it", []edit{{"shown.go",
		`			m.late = append(m.late, l.Key)
`, `			passed = true
`}}},
	{"watchers: what is remembered has no bound", []edit{{"shown.go",
		`c.shown.n <= maxShown`, `true`}}},
	{"watchers: what goes for others is not told of", []edit{{"shown.go",
		`		c.due = append(c.due, other)
`, ``}}},
	{"watchers: all is remembered though nobody watches", []edit{{"children.go",
		`shown && c.watchers.any()`, `shown`}}},
	{"watchers: what they had stays when they have gone", []edit{{"children.go",
		`	if !c.watchers.any() {
		c.shown = shown{}
	}
`, ``}}},
	{"watchers: nobody is told of what is due", []edit{{"shown.go",
		`		c.watchers.notify(k)
`, `		_ = k
`}}},
	{"watchers: rows are counted twice", []edit{{"shown.go",
		`	s.n -= len(s.docs[k])
	for _, r := range rows {`, `	for _, r := range rows {`}}},
}
