package main

// childMutants break the rules of children.go: rows whose old parent nobody
// knows.
var childMutants = []mutant{
	{"rows: an unsettled one is stored", []edit{{"children.go",
		`(m.unsettled > 0 || m.at > l.clock)`, `m.at > l.clock`}}},
	{"rows: one that has moved since is stored", []edit{{"children.go",
		`(m.unsettled > 0 || m.at > l.clock)`, `m.unsettled > 0`}}},
	{"rows: one that moved before is not stored", []edit{{"children.go",
		`m.at > l.clock)`, `m.at >= l.clock)`}}},
	{"rows: the index keeps the rows of before", []edit{{"children.go",
		`	c.remove(fl, true)
	if len(rows)`, `	if len(rows)`}}},
	{"rows: a document without rows keeps those of before", []edit{{"children.go",
		`	c.remove(fl, true)
	if len(rows) == 0 {
		return true
	}
`, `	if len(rows) == 0 {
		return true
	}
	c.remove(fl, true)
`}}},
	{"rows: the index is not filled", []edit{{"children.go",
		`		c.index[r] = &h.rows[i]
`, ``}}},
	{"rows: one format takes the place of the other", []edit{
		{"children.go", `	fl := flight{l.Key, l.Format}
	c.remove(fl, true)
`, `	fl := flight{l.Key, 0}
	c.remove(fl, true)
`}}},
	{"rows: a change is not marked as unsettled", []edit{
		{"children.go", `		m.unsettled++
		c.unsettled++
`, `		_, c.unsettled = m, c.unsettled+1
`},
		{"children.go", `m.unsettled--; m.unsettled == 0`, `m.unsettled == 0`}}},
	{"rows: unsettled ones are not counted", []edit{
		{"children.go", `		c.unsettled++
`, ``},
		{"children.go", `	c.unsettled--
`, ``}}},
	{"rows: unsettled ones are counted for ever", []edit{{"children.go", `	c.unsettled--
`, ``}}},
	{"rows: one settled change settles all", []edit{{"children.go",
		`if m.unsettled--; m.unsettled == 0 {`, `if m.unsettled = 0; true {`}}},
	{"rows: settling is no touch", []edit{{"children.go", `	m := c.mark(r)
	c.unsettled--
`, `	m := c.marks[r]
	c.unsettled--
`}}},
	{"rows: the clock stands still", []edit{{"children.go", `	c.clock++
	m.at = c.clock
`, `	m.at = c.clock
`}}},
	{"rows: the mark is not moved on", []edit{{"children.go", `	m.at = c.clock
`, ``}}},
	{"rows: nothing supersedes a load", []edit{{"children.go",
		`	return c.clock != l.clock
`, `	return false
`}}},
	{"rows: settled marks stay", []edit{{"children.go", `			delete(c.marks, r)
`, ``}}},
	{"rows: settled marks stay until the next load", []edit{{"children.go",
		`		c.old = append(c.old, r)
		c.sweep()
	}
	for l :=`, `		c.old = append(c.old, r)
	}
	for l :=`}}},
	{"rows: marks go while a load is in flight", []edit{{"children.go",
		`m != nil && m.at > oldest`, `m != nil && m.at > oldest+1<<60`}}},
	{"rows: the youngest load decides which marks go", []edit{{"children.go",
		`c.open.Front()`, `c.open.Back()`}}},
	{"rows: unsettled marks go", []edit{{"children.go",
		`m != nil && m.unsettled == 0 {`, `m != nil {`}}},
	{"rows: the end of a load sweeps nothing", []edit{{"children.go",
		`	c.open.Remove(l.open)
	c.sweep()
`, `	c.open.Remove(l.open)
`}}},
	{"rows: a load stays open", []edit{{"children.go", `	c.open.Remove(l.open)
`, ``}}},
	{"rows: one format is forgotten", []edit{{"children.go",
		`range row.Format(row.NumFormats) {
		c.remove`, `range row.Format(1) {
		c.remove`}}},
	{"rows: an old eviction takes the new document out", []edit{{"children.go",
		`h != nil && h.doc == doc {`, `h != nil {`}}},
	{"rows: evictions are not noted", []edit{{"children.go",
		`h != nil && h.doc == doc {`, `h != nil && false {`}}},
	{"rows: the index is never emptied", []edit{{"children.go",
		`		c.index, c.held, c.shown = nil, nil, shown{}
`, ``}}},
	{"rows: the first link of a row stays in the index", []edit{{"children.go",
		`		delete(c.index, l.row)
`, `		_ = l
`}}},
	{"rows: other documents of a row go with the first", []edit{{"children.go",
		`	case l.next != nil:
		c.index[l.row] = l.next
`, ``}}},
	{"rows: other documents of a row go with one in between", []edit{{"children.go",
		`		first.next = l.next
`, `		first.next = nil
`}}},
	{"rows: a document in between stays", []edit{{"children.go",
		`		first.next = l.next
`, ``}}},
	{"rows: the index keeps what is gone", []edit{{"children.go",
		`		c.unlink(&h.rows[i])
`, `		_ = i
`}}},
	{"rows: only the first document of a row is dropped", []edit{{"children.go",
		`l != nil; l = l.next {`, `l != nil; l = nil {`}}},
}
