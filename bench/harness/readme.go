package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/bench/load"
)

// What the README shows, and between which lines.
const (
	ShownScenario    = "001-hits"
	shownPlacement   = Pinned
	shownConnections = 256
	showBegin        = "<!-- bench: go run ./bench writes what follows -->\n"
	showEnd          = "<!-- bench: end -->\n"
)

// Show writes the figures of the report into a page, between its marks. A page
// without marks stays as it is.
func (r *report) Show(page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), showBegin)
	_, after, closed := strings.Cut(rest, showEnd)
	if !ok || !closed {
		fmt.Printf("%s shows no figures: it has no lines %q and %q\n", page,
			strings.TrimSpace(showBegin), strings.TrimSpace(showEnd))
		return nil
	}
	return os.WriteFile(page, []byte(before+showBegin+r.shown()+showEnd+after), 0o644)
}

// shown returns the few figures that say most.
func (r *report) shown() string {
	t := load.Table{Columns: []string{"server", "answers/s", "lowest", "highest", "of the floor",
		"lowest", "highest", "p99 µs", "CPU µs"}}
	for _, row := range r.scenario.Rows {
		g := r.group(shownPlacement, shownConnections, row.Name)
		if len(g.runs) == 0 || len(g.base) == 0 {
			continue
		}
		rates, ratios := g.values(rateOf), ratios(g, g.base, rateOf)
		t.Rows = append(t.Rows, []string{
			g.name, load.Count(median(rates)), load.Count(slices.Min(rates)),
			load.Count(slices.Max(rates)), shownRatio(median(ratios)),
			shownRatio(slices.Min(ratios)), shownRatio(slices.Max(ratios)),
			load.Count(median(g.values(P99))), fmt.Sprintf("%.2f", median(g.values(cpu))),
		})
	}
	var facts []string
	for _, name := range []string{"commit", "date", "CPU", "kernel"} {
		i := slices.IndexFunc(r.Environment, func(f fact) bool { return f.Name == name })
		if i >= 0 {
			facts = append(facts, r.Environment[i].Value)
		}
	}
	dir := filepath.ToSlash(r.options.Results)
	return fmt.Sprintf("\n%s\n![throughput, latency and CPU time](%s/%s)\n\n"+
		"%s; %d connections, %s. [All tables](%s/%s.md), by "+
		"`go run ./bench -run %s`.\n\n",
		t.Markdown(), dir, r.plot(shownPlacement), strings.Join(facts, ", "), shownConnections,
		placements[shownPlacement], dir, r.scenario.Name, r.scenario.Name)
}
