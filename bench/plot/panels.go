package plot

import (
	"math"
	"slices"
	"strconv"

	"github.com/hotrow/hotrow/bench/load"
)

// Panels returns the diagrams of some runs: throughput, the CPU time of an
// answer, p50 and p99, by connections. Both latencies in one diagram would be
// twice as many lines, on top of each other. Beside the runs are those that are
// published, as far as they have a figure of a diagram. A diagram of nothing is left out.
func Panels(runs, published []*load.Result) []Panel {
	panels := []Panel{panelOf(runs, published, "answers/s", rateOf)}
	if slices.ContainsFunc(runs, func(r *load.Result) bool { return r.Server != nil }) {
		panels = append(panels, panelOf(runs, published, "server CPU, µs an answer", cpuOf))
	}
	latencies := []Panel{
		panelOf(runs, published, "p50, ms", p50Of), panelOf(runs, published, "p99, ms", p99Of),
	}
	for i := range latencies {
		latencies[i].Log = true
	}
	panels[0].Log = panels[0].spread() > tooSmall
	return slices.DeleteFunc(append(panels, latencies...),
		func(p Panel) bool { return len(p.Lines) == 0 })
}

// tooSmall is how many times as large the largest value is where the smallest cannot be
// read on an axis that begins with 0.
const tooSmall = 50

func rateOf(r *load.Result) float64 { return r.Rate }
func p50Of(r *load.Result) float64  { return r.Reads.P50 / 1e3 }
func p99Of(r *load.Result) float64  { return r.Reads.P99 / 1e3 }

func cpuOf(r *load.Result) float64 {
	if r.Server == nil {
		return math.NaN()
	}
	return r.Server.Total
}

// spread returns how many times the smallest value the largest is.
func (p Panel) spread() float64 {
	smallest, largest := math.Inf(1), 0.0
	for _, l := range p.Lines {
		for _, v := range l.Y {
			if !math.IsNaN(v) {
				smallest, largest = min(smallest, v), max(largest, v)
			}
		}
	}
	return largest / smallest
}

// panelOf makes one diagram.
func panelOf(
	runs, published []*load.Result, title string, f func(*load.Result) float64,
) Panel {
	p := Panel{Title: title, XTitle: "connections"}
	var places []int
	for _, r := range slices.Concat(runs, published) {
		places = append(places, r.Connections)
	}
	slices.Sort(places)
	places = slices.Compact(places)
	for _, x := range places {
		p.X = append(p.X, strconv.Itoa(x))
	}
	p.add(runs, Other, places, f)
	p.add(published, Published, places, f)
	return p
}

// add adds a line for each name of runs that has a value.
func (p *Panel) add(runs []*load.Result, of Maker, places []int, f func(*load.Result) float64) {
	lines := map[string]int{}
	for _, r := range runs {
		v := f(r)
		if !(v > 0) { // not measured, or there was no answer
			continue
		}
		i, ok := lines[r.Name]
		if !ok {
			i = len(p.Lines)
			lines[r.Name] = i
			p.Lines = append(p.Lines, Line{Name: r.Name, Of: of,
				Y: slices.Repeat([]float64{math.NaN()}, len(places))})
		}
		p.Lines[i].Y[slices.Index(places, r.Connections)] = v
	}
}
