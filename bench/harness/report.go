package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/bench/load"
	"github.com/hotrow/hotrow/bench/plot"
)

// A report is what a scenario has given.
type report struct {
	scenario    *Scenario
	options     *Options
	Setup       setup    `json:"setup,omitzero"`
	Environment []fact   `json:"environment"`
	LeftOut     []string `json:"left_out,omitempty"`
	Runs        []run    `json:"runs,omitempty"`
	Samples     []sample `json:"samples,omitempty"`
}

// add adds a run.
func (r *report) add(one run) { r.Runs = append(r.Runs, one) }

// leaveOut notes what is missing, and why.
func (r *report) leaveOut(what string, err error) {
	note := what + ": " + err.Error()
	if !slices.Contains(r.LeftOut, note) {
		r.LeftOut = append(r.LeftOut, note)
	}
}

// ReadReport reads what a scenario has given before.
func ReadReport(s *Scenario, o *Options) (*report, error) {
	text, err := os.ReadFile(filepath.Join(o.Results, s.Name+".json"))
	if err != nil {
		return nil, err
	}
	r := &report{scenario: s, options: o}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s.json: %w", s.Name, err)
	}
	return r, nil
}

// Files returns what the report is written as: NAME.json with every run, NAME.md with the
// tables, and NAME-PLACEMENT.svg with the plots.
func (r *report) Files() (map[string][]byte, error) {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{r.scenario.Name + ".json": append(text, '\n')}
	beside := map[Placement][]*load.Result{}
	for _, p := range r.scenario.Placements {
		if beside[p], err = r.published(p); err != nil {
			return nil, err
		}
		panels := append(r.samplePanels(p, beside[p]), r.groupPanels(p)...)
		if len(panels) == 0 {
			panels = plot.Panels(r.medians(p), beside[p])
		}
		emphasise(panels)
		files[r.plot(p)] = plot.SVG(r.scenario.Title, placements[p], panels)
	}
	files[r.scenario.Name+".md"] = []byte(r.markdown(beside))
	return files, nil
}

// Write writes the report's files.
func (r *report) Write(dir string) error {
	files, err := r.Files()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	if t := r.targets(); len(t.Rows) > 0 {
		fmt.Printf("\n%s\n", t.Text())
	}
	fmt.Printf("written: %s\n", filepath.Join(dir, r.scenario.Name+".md"))
	return nil
}

// groupPanels returns, for each group that rows name and each number of
// connections, the throughput of the group's rows as bars. Bars are named by the
// row without what the group says.
func (r *report) groupPanels(p Placement) []plot.Panel {
	var groups []string
	for _, row := range r.scenario.Rows {
		for _, g := range row.Groups {
			if !slices.Contains(groups, g) {
				groups = append(groups, g)
			}
		}
	}
	var panels []plot.Panel
	for _, g := range groups {
		for _, connections := range r.scenario.Connections {
			panel := plot.Panel{X: []string{""},
				Title: fmt.Sprintf("%s, %d at once: answers/s", g, connections)}
			for _, row := range r.scenario.Rows {
				all := r.group(p, connections, row.Name)
				if slices.Contains(row.Groups, g) && len(all.runs) > 0 {
					name := strings.TrimSuffix(row.Name, ", "+g)
					rate := median(all.values(rateOf))
					panel.Lines = append(panel.Lines, plot.Line{Name: name, Y: []float64{rate}})
				}
			}
			panels = append(panels, panel)
		}
	}
	return panels
}

// emphasise gives the lines that name hotrow its colour; where none does, all are of
// hotrow.
func emphasise(panels []plot.Panel) {
	names := func(l plot.Line) bool { return strings.Contains(l.Name, "hotrow") }
	alone := !slices.ContainsFunc(panels, func(p plot.Panel) bool {
		return slices.ContainsFunc(p.Lines, names)
	})
	for _, p := range panels {
		for i, l := range p.Lines {
			if l.Of == plot.Other && (alone || names(l)) {
				p.Lines[i].Of = plot.Hotrow
			}
		}
	}
}

// plot returns the name of a placement's plot.
func (r *report) plot(p Placement) string { return r.scenario.Name + "-" + string(p) + ".svg" }

// placements say what a placement means.
var placements = map[Placement]string{
	Pinned: "server on one core, generator on the other",
	Free:   "server and generator share all cores",
}

// markdown returns the page of the scenario.
func (r *report) markdown(beside map[Placement][]*load.Result) string {
	var b strings.Builder
	s := r.scenario
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", s.Title, s.About)
	o := r.Setup
	fmt.Fprintf(&b, "Medians of %d interleaved rounds of %v each, after %v of warm-up. A ratio is "+
		"the median of the ratios\nwithin one round. CPU is that of the server's processes, for "+
		"each answer, client CPU that of the generator.\n\n", o.Rounds, o.Duration, o.Warmup)
	fmt.Fprintf(&b, "    go run ./bench -run %s -rounds %d -duration %v -warmup %v "+
		"-keys %d\n\n", s.Name, o.Rounds, o.Duration, o.Warmup, o.Keys)
	for _, f := range r.Environment {
		fmt.Fprintf(&b, "- %s: %s\n", f.Name, f.Value)
	}
	for _, note := range r.LeftOut {
		fmt.Fprintf(&b, "- left out: %s\n", note)
	}
	if t := r.targets(); len(t.Rows) > 0 {
		fmt.Fprintf(&b, "\n## Targets\n\n%s", t.Markdown())
	}
	for _, p := range s.Placements {
		fmt.Fprintf(&b, "\n## %s: %s\n", p, placements[p])
		if t := r.sampleTable(p); len(t.Rows) > 0 {
			fmt.Fprintf(&b, "\n%s", t.Markdown())
		}
		for _, connections := range s.Connections {
			if t := r.table(p, connections); len(t.Rows) > 0 {
				fmt.Fprintf(&b, "\n### %s connections\n\n%s", load.Count(float64(connections)),
					t.Markdown())
			}
		}
		b.WriteString(r.publishedText(p, beside[p]))
		fmt.Fprintf(&b, "\n![plot](%s)\n", r.plot(p))
	}
	return b.String()
}

// table returns the rows of one placement and number of connections.
func (r *report) table(p Placement, connections int) load.Table {
	t := load.Table{Columns: []string{"server", "answers/s", "lowest", "highest", "ratio",
		"p50 µs", "p99 µs", "p99.9 µs", "CPU µs", "of it user", "CPU ratio", "client CPU µs",
		"RSS MB", "failed"}}
	counted := slices.ContainsFunc(r.Runs, func(one run) bool { return one.Opened != nil })
	if counted {
		t.Columns = append(t.Columns, "opened upstream")
	}
	for i := range r.scenario.Rows {
		g := r.group(p, connections, r.scenario.Rows[i].Name)
		if len(g.runs) == 0 {
			continue
		}
		rates := g.values(rateOf)
		t.Rows = append(t.Rows, []string{
			g.name, load.Count(median(rates)), load.Count(slices.Min(rates)),
			load.Count(slices.Max(rates)), ratio(g, g.base, rateOf),
			load.Count(median(g.values(p50))), load.Count(median(g.values(P99))),
			load.Count(median(g.values(p999))),
			fmt.Sprintf("%.2f", median(g.values(cpu))),
			fmt.Sprintf("%.2f", median(g.values(userCPU))),
			ratio(g, g.base, cpu), fmt.Sprintf("%.2f", median(g.values(clientCPU))),
			load.Count(slices.Max(g.values(rss))),
			load.Count(slices.Max(g.values(failed))),
		})
		if counted {
			last := len(t.Rows) - 1
			t.Rows[last] = append(t.Rows[last], g.openedText())
		}
	}
	return t
}

// A group is the runs of one row in one table, by round, with those of the
// baseline.
type group struct {
	name       string
	runs, base map[int]*load.Result
	opened     []float64 // connections at the upstream, of each run that has them
}

// openedText returns the median of what was opened.
func (g group) openedText() string {
	if len(g.opened) == 0 {
		return "-"
	}
	return load.Count(median(g.opened))
}

// group collects runs.
func (r *report) group(p Placement, connections int, name string) group {
	g := group{name: name, runs: map[int]*load.Result{}, base: map[int]*load.Result{}}
	for _, one := range r.Runs {
		if one.Placement != p || one.Result.Connections != connections {
			continue
		}
		if one.Result.Name == name {
			g.runs[one.Round] = one.Result
			if one.Opened != nil {
				g.opened = append(g.opened, float64(*one.Opened))
			}
		}
		if one.Result.Name == r.scenario.Baseline {
			g.base[one.Round] = one.Result
		}
	}
	return g
}

// values returns a figure of every run.
func (g group) values(f func(*load.Result) float64) (values []float64) {
	for _, result := range g.runs {
		values = append(values, f(result))
	}
	return values
}

// ratios returns a figure's ratio to the baseline's in each round that has both.
func ratios(g group, base map[int]*load.Result, f func(*load.Result) float64) (all []float64) {
	for round, result := range g.runs {
		if b := base[round]; b != nil && f(b) > 0 {
			all = append(all, f(result)/f(b))
		}
	}
	return all
}

// ratio returns the median of ratios, as text.
func ratio(g group, base map[int]*load.Result, f func(*load.Result) float64) string {
	all := ratios(g, base, f)
	if len(all) == 0 {
		return "-"
	}
	return shownRatio(median(all))
}

// shownRatio is a ratio as text.
func shownRatio(v float64) string { return fmt.Sprintf("%.3f", v) }

func rateOf(r *load.Result) float64  { return r.Rate }
func failed(r *load.Result) float64  { return float64(r.Failed()) }
func cpu(r *load.Result) float64     { return ofServer(r).Total }
func userCPU(r *load.Result) float64 { return ofServer(r).User }
func rss(r *load.Result) float64     { return float64(ofServer(r).Peak) / 1e6 }
func p50(r *load.Result) float64     { return latency(r).P50 }

// P99 is the latency of a run that 99 of 100 answers do not exceed, in µs.
func P99(r *load.Result) float64  { return latency(r).P99 }
func p999(r *load.Result) float64 { return latency(r).P999 }

// clientCPU is that of the generator, 0 if it is not known.
func clientCPU(r *load.Result) float64 {
	if r.Client == nil {
		return 0
	}
	return r.Client.Total
}

// ofServer returns what the server has used, nothing if it is not known.
func ofServer(r *load.Result) load.CPU {
	if r.Server == nil {
		return load.CPU{}
	}
	return *r.Server
}

// latency returns that of the reads, or of the writes if there are no reads.
func latency(r *load.Result) load.Summary {
	if r.Reads.Count == 0 {
		return r.Writes
	}
	return r.Reads
}

// medians returns one result for each row and number of connections.
func (r *report) medians(p Placement) []*load.Result {
	var all []*load.Result
	for i := range r.scenario.Rows {
		for _, connections := range r.scenario.Connections {
			g := r.group(p, connections, r.scenario.Rows[i].Name)
			if len(g.runs) == 0 {
				continue
			}
			all = append(all, &load.Result{
				Name: g.name, Connections: connections, Rate: median(g.values(rateOf)),
				Reads:  load.Summary{P50: median(g.values(p50)), P99: median(g.values(P99))},
				Server: &load.CPU{Total: median(g.values(cpu))},
			})
		}
	}
	return all
}
