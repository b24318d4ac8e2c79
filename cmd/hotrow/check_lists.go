package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
)

// A namedList is a list to look at.
type namedList struct {
	resource, raw string
	from          string // where it was named; "": on the command line
}

// title is how the list is printed.
func (l *namedList) title() string {
	text := "/" + l.path()
	if l.from != "" {
		text += "  (" + l.from + ")"
	}
	return text
}

// path is what a request for the list has behind the base path.
func (l *namedList) path() string { return url.PathEscape(l.resource) + "?" + l.raw }

// listsOf returns the lists that a configuration names: those of keys.
func listsOf(cfg *config.Config) (all []namedList) {
	for _, name := range slices.Sorted(maps.Keys(cfg.KV.Queries)) {
		res, before, after, err := cfg.KV.Queries[name].Parts()
		if err != nil { // it was checked
			continue
		}
		all = append(all, namedList{resource: res, raw: before + "{}" + after,
			from: "kv.queries." + name})
	}
	return all
}

// namedLists are lists as on a command line.
func namedLists(paths []string) []namedList {
	all := make([]namedList, len(paths))
	for i, path := range paths {
		name, raw, _ := strings.Cut(strings.TrimPrefix(path, "/"), "?")
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		all[i] = namedList{resource: name, raw: raw}
	}
	return all
}

// unserved are the errors of lists of resources that are not served.
func unserved(lists []namedList, specs []config.ResourceSpec) (errs []error) {
	for i := range lists {
		if !slices.ContainsFunc(specs, func(s config.ResourceSpec) bool {
			return s.Name == lists[i].resource
		}) {
			errs = append(errs, fmt.Errorf("%s: there is no resource %q", lists[i].title(),
				lists[i].resource))
		}
	}
	return errs
}

// compiled compiles the resources of a source. It returns those that can be, and by name why
// others cannot.
func compiled(
	ctx context.Context, src source.Source, name string, specs []config.ResourceSpec,
) (all []resource.Planned, failed map[string]error) {
	failed = make(map[string]error)
	var own []*config.ResourceSpec
	var list []*source.Spec
	for i := range specs {
		if s := &specs[i]; s.Source == name {
			own, list = append(own, s), append(list, s.Spec)
		}
	}
	plans, errs := source.CompileAll(ctx, src, list)
	for i, s := range own {
		err := errs[i]
		if err == nil {
			err = resource.CheckWarm(ctx, src, s.Name, s.WarmQuery)
		}
		if err != nil {
			failed[s.Name] = err
		} else {
			all = append(all, resource.Planned{Name: s.Name, Plan: plans[i]})
		}
	}
	return all, failed
}

// called returns the resource of all with this name.
func called(all []resource.Planned, name string) *resource.Planned {
	return &all[slices.IndexFunc(all, func(r resource.Planned) bool { return r.Name == name })]
}

// look says what can be known of the list. It may embed rows of all these resources, unless it
// is one of keys.
func (l *namedList) look(
	of *resource.Planned, all []resource.Planned,
) (*resource.ListCheck, error) {
	if l.from != "" {
		all = nil
	}
	c, err := resource.CheckList(of, all, l.raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.title(), err)
	}
	return c, nil
}

// checkLists prints what can be known of lists of a resource, which is one of all, before
// anybody asks for them.
func checkLists(
	ctx context.Context, p *program, of *resource.Planned, all []resource.Planned,
	lists []namedList,
) error {
	for i := range lists {
		l := &lists[i]
		if l.resource != of.Name {
			continue
		}
		c, err := l.look(of, all)
		if err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "%s\n", l.title())
		if len(c.By) > 0 {
			fmt.Fprintf(p.stdout, "    read again when a row changes that it finds, by %s\n",
				columnSets(c.By))
		} else {
			fmt.Fprintf(p.stdout, "    read again when any row of %s changes: %s\n", c.Table,
				c.Coarse)
		}
		fmt.Fprintf(p.stdout, "    the feed tells what a row was: %s\n",
			map[bool]string{true: "yes", false: "only what names it"}[c.KnowsOld])
		if c.NeedsOld {
			printFinding(p, source.Finding{Level: source.LevelInfo,
				Text: "REPLICA IDENTITY FULL of " + c.Table + " would have it stay in memory",
				Why:  "hotrow doctor -c FILE --list '" + l.path() + "' --sql prints it"})
		}
		for _, w := range c.Within {
			fmt.Fprintf(p.stdout, "    %s\n", withinText(&w))
		}
		g, err := c.Guard(ctx, of.Plan)
		if err != nil {
			return err
		}
		if g == nil {
			continue
		}
		printGuard(p, g)
		for i := range g.Embeds {
			printFinding(p, guardFinding(&g.Embeds[i]))
		}
	}
	return nil
}

// columnSets is sets of columns, for people.
func columnSets(sets [][]string) string {
	texts := make([]string, len(sets))
	for i, set := range sets {
		texts[i] = "(" + strings.Join(set, ", ") + ")"
	}
	return strings.Join(texts, " or ")
}

// printGuard prints by which index the database finds the rows of a list.
func printGuard(p *program, g *source.Guard) {
	switch {
	case g.Free:
		fmt.Fprintln(p.stdout, "    needs no index: lists.filters has its columns")
		return
	case len(g.Indexes) > 0:
		fmt.Fprintf(p.stdout, "    found by the index on %s\n", columnSets(g.Indexes))
		return
	}
	f := source.Finding{Level: source.LevelWarning,
		Text: "no index answers these filters and this order: it is refused (400)"}
	switch {
	case g.Tried:
		f.Text = "no index answers these filters and this order: it is run, and given up after" +
			" a time (lists.guard)"
	case g.Small:
		f.Level = source.LevelInfo
		f.Text = "no index answers these filters and this order: it is refused once the table" +
			" is large"
	}
	f.Why = g.Passed
	if strings.HasPrefix(g.Hint, "CREATE") {
		f.Apply = []string{g.Hint}
	} else {
		f.Why = cmp.Or(f.Why, g.Hint)
	}
	printFinding(p, f)
}

// guardFinding says whether an index finds what a list embeds.
func guardFinding(g *source.EmbedGuard) source.Finding {
	by := "the rows of " + g.Table + " by " + columnSets([][]string{g.Columns}) + ", for each row"
	f := source.Finding{Level: source.LevelOK, Text: "an index finds " + by}
	if g.Hint == "" {
		return f
	}
	f.Level = source.LevelWarning
	f.Text = "no index finds " + by + ": it is refused (400)"
	if g.Columns == nil {
		f.Text = "no index tells which rows of " + g.Table + " !inner leaves out: it is refused" +
			" (400)"
	}
	if g.Small {
		f.Level = source.LevelInfo
		f.Text += " once the table is large"
	}
	if f.Why = g.Hint; g.Columns != nil {
		f.Why, f.Apply = "", []string{g.Hint}
	}
	return f
}

// needsOf notes in old the tables of whose rows lists need the old values, and returns what
// cannot be read, and which indexes the embedded rows need.
func needsOf(
	ctx context.Context, of *resource.Planned, all []resource.Planned, lists []namedList,
	old map[string]bool,
) (findings []source.Finding) {
	for i := range lists {
		l := &lists[i]
		if l.resource != of.Name {
			continue
		}
		c, err := l.look(of, all)
		if err != nil {
			findings = append(findings, source.Finding{Level: source.LevelWarning,
				Text: err.Error(), Why: "who asks for it gets an error"})
			continue
		}
		old[c.Table] = old[c.Table] || c.NeedsOld
		findings = append(findings, l.embeds(ctx, c, of.Plan)...)
		if len(c.By) == 0 && !c.NeedsOld && len(c.Blurred) > 0 {
			findings = append(findings, source.Finding{Level: source.LevelInfo,
				Text: l.title() + " is read again after every write to " + c.Table,
				Why: "equal values of " + strings.Join(c.Blurred, ", ") + " may be spelled" +
					" differently, or changes do not tell them: an exact collation would have it" +
					" stay in memory"})
		}
	}
	return findings
}

// embeds says which tables a list embeds, and which indexes these need. An index is for a
// person to make: it is the whole table that waits for it.
func (l *namedList) embeds(
	ctx context.Context, c *resource.ListCheck, plan source.Plan,
) (findings []source.Finding) {
	if len(c.Within) == 0 {
		return nil
	}
	for _, w := range c.Within {
		findings = append(findings, source.Finding{Level: source.LevelInfo,
			Text: l.title() + " is " + withinText(&w)})
	}
	g, err := c.Guard(ctx, plan)
	if err != nil || g == nil {
		return findings
	}
	for i := range g.Embeds {
		f := guardFinding(&g.Embeds[i])
		f.Text = l.title() + ": " + f.Text
		if len(f.Apply) > 0 {
			f.Why, f.Apply = f.Apply[0], nil
		}
		findings = append(findings, f)
	}
	return findings
}

// withinText says which changes of an embedded table have a list read again.
func withinText(w *resource.ListTable) string {
	if len(w.Columns) > 0 {
		return "read again when a row of " + w.Table + " changes that it embeds, by " +
			columnSets([][]string{w.Columns})
	}
	return "read again when any row of " + w.Table + " changes: it embeds some"
}

// observed says of which tables lists are asked for, and notes those whose old rows would
// make them more precise.
func (s *server) observed(name string, tables []source.Watched) (findings []source.Finding) {
	for _, t := range s.set.TagColumns() {
		if t.Source != name {
			continue
		}
		for i := range tables {
			if tables[i].Table == t.Table {
				tables[i].Old = tables[i].Old || t.NeedsOld
			}
		}
		if len(t.Columns) == 0 {
			continue
		}
		f := source.Finding{Level: source.LevelInfo, Text: fmt.Sprintf(
			"lists of %s are told apart by %s", t.Table, columnSets(t.Columns))}
		if t.Full {
			f.Level = source.LevelWarning
			f.Why = "there is no room for other sets of columns: lists by those are read again" +
				" after more writes than need be, or after every one"
		}
		findings = append(findings, f)
	}
	return findings
}
