package main

// showsMutants break the rules of shows.go: how far an answer may reach.
var showsMutants = []mutant{
	{"saw: the lease does not know", []edit{{"shows.go", `	l.shows = pos
`, ``}}},
	{"saw: the domain does not know", []edit{{"shows.go", `	s.domain.Saw(l.AsOf, pos)
`, ``}}},
	{"saw: the last is taken for the highest", []edit{{"shows.go",
		`max(d.seen.Load(), uint64(pos))`, `uint64(pos)`}}},
	{"saw: of another origin", []edit{{"shows.go",
		`	if p.Origin == d.applied.Load().Origin {
`, `	{
`}}},
	{"shows: what is applied", []edit{{"shows.go",
		`	return max(applied, Position(d.seen.Load()))
`, `	return applied
`}}},
	{"shows: what was seen", []edit{{"shows.go",
		`	return max(applied, Position(d.seen.Load()))
`, `	return Position(d.seen.Load())
`}}},
	{"shows: any fence will do", []edit{{"shows.go", `	if at < fenced {
`, `	if fenced > 0 {
`}}},
	{"shows: no fence will do", []edit{{"shows.go", `	if at < fenced {
`, `	if false {
`}}},
	{"begin: what was seen stays", []edit{{"domain.go",
		`		d.seen.Store(0)
`, `		_ = at
`}}},
}
