package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/hotrow/hotrow/bench/load"
	"github.com/hotrow/hotrow/bench/plot"
)

// A published is what the authors of an original have measured of it, on a machine of
// theirs, or what another scenario has measured. It is drawn beside what is measured, and
// nothing is held to it.
type published struct {
	Name      string    `json:"name"`
	From      string    `json:"from"`      // where it stands, and how it was measured
	Placement Placement `json:"placement"` // the one that it is like; none: all
	Points    []point   `json:"points"`

	// A row of another scenario that is taken instead of points, where both have the same
	// placement and connections.
	Scenario string `json:"scenario"`
	Row      string `json:"row"`
}

// A point is what is published of a number of connections; 0 is not.
type point struct {
	Connections int     `json:"connections"`
	Rate        float64 `json:"answers/s"`
	P99         float64 `json:"p99 ms"`
}

// validate says what is wrong with it.
func (p *published) validate() error {
	if p.Name == "" || p.From == "" || (len(p.Points) == 0) == (p.Scenario == "") {
		return fmt.Errorf("published %q: want name, from, and points or scenario", p.Name)
	}
	return nil
}

// published returns what is published that is like a placement: a result for each name and
// number of connections.
func (r *report) published(on Placement) (all []*load.Result, err error) {
	for i := range r.scenario.Published {
		p := &r.scenario.Published[i]
		if p.Placement != "" && p.Placement != on {
			continue
		}
		for _, at := range p.Points {
			all = append(all, &load.Result{Name: p.Name, Connections: at.Connections,
				Rate: at.Rate, Reads: load.Summary{P99: at.P99 * 1e3}})
		}
		taken, err := r.taken(p, on)
		if err != nil {
			return nil, err
		}
		all = append(all, taken...)
	}
	return all, nil
}

// taken returns what another scenario has measured.
func (r *report) taken(p *published, on Placement) ([]*load.Result, error) {
	if p.Scenario == "" {
		return nil, nil
	}
	other, err := ReadReport(&Scenario{Name: p.Scenario, Rows: []row{{Name: p.Row}},
		Connections: r.scenario.Connections}, r.options)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := other.medians(on)
	for _, one := range all {
		one.Name = p.Name
	}
	return all, nil
}

// publishedText returns what is published that is like a placement, for the page.
func (r *report) publishedText(on Placement, all []*load.Result) string {
	if len(all) == 0 {
		return ""
	}
	t := load.Table{Columns: []string{"published", "connections", "answers/s", "p99 µs"}}
	for _, one := range all {
		cells := []string{one.Name, load.Count(float64(one.Connections))}
		for _, v := range []float64{one.Rate, one.Reads.P99} {
			cell := "-"
			if v > 0 {
				cell = load.Count(v)
			}
			cells = append(cells, cell)
		}
		t.Rows = append(t.Rows, cells)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n### Beside it in the plot\n\nNot measured with the rows above, but on "+
		"another day, or by others with machines and clients of theirs.\n\n%s\n", t.Markdown())
	for _, p := range r.scenario.Published {
		if p.Placement == "" || p.Placement == on {
			fmt.Fprintf(&b, "- %s: %s\n", p.Name, p.From)
		}
	}
	return b.String()
}

// publishedBars returns what is published as bars of throughput.
func publishedBars(all []*load.Result) (lines []plot.Line) {
	for _, one := range all {
		lines = append(lines, plot.Line{Name: one.Name, Of: plot.Published, Y: []float64{one.Rate}})
	}
	return lines
}
