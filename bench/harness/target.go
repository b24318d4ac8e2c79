package harness

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hotrow/hotrow/bench/load"
)

// A target is what a figure of a row is held to, or its ratio to that of
// another row. Without a placement or a number of connections it is one for
// each.
type target struct {
	Row         string    `json:"row"`
	To          string    `json:"to"` // a row; none: the figure itself
	Figure      string    `json:"figure"`
	AtLeast     *float64  `json:"at_least"` // one of the two
	AtMost      *float64  `json:"at_most"`
	Placement   Placement `json:"placement"`
	Connections []int     `json:"connections"`
}

// figures are those of a run under load that a target may name.
var figures = map[string]func(*load.Result) float64{
	"answers/s":     rateOf,
	"p50 µs":        p50,
	"p99 µs":        P99,
	"CPU µs":        cpu,
	"client CPU µs": clientCPU,
	"failed":        failed,
}

// validate says what is wrong with a target.
func (t *target) validate(s *Scenario, rows []string) error {
	for _, name := range []string{t.Row, t.To} {
		if name != "" && !slices.Contains(rows, name) {
			return fmt.Errorf("target: %q is not a row", name)
		}
	}
	if _, ok := figures[t.Figure]; s.Kind == "" && !ok {
		return fmt.Errorf("target: there is no figure %q", t.Figure)
	}
	if (t.AtLeast == nil) == (t.AtMost == nil) {
		return errors.New("target: want at_least or at_most")
	}
	return nil
}

// title says what is compared.
func (t *target) title() string {
	if t.To == "" {
		return fmt.Sprintf("%s: %s", t.Row, t.Figure)
	}
	return fmt.Sprintf("%s: %s, to that of %s", t.Row, t.Figure, t.To)
}

// wanted says what the figure is held to.
func (t *target) wanted() string {
	if t.AtLeast != nil {
		return "≥ " + short(t.bound())
	}
	return "≤ " + short(t.bound())
}

// What a table says of a target.
const (
	reachedYes    = "yes"
	reachedNo     = "no"
	reachedSpread = "no: rounds differ by more"
)

// reached judges the rounds of a figure. Every round must be good enough: a median of
// rounds that say anything proves nothing.
func (t *target) reached(rounds []float64) string {
	switch {
	case !t.holds(median(rounds)):
		return reachedNo
	case t.holds(slices.Min(rounds)) && t.holds(slices.Max(rounds)):
		return reachedYes
	}
	return reachedSpread
}

// bound is what the figure is held to.
func (t *target) bound() float64 {
	if t.AtLeast != nil {
		return *t.AtLeast
	}
	return *t.AtMost
}

// holds reports whether a value is good enough.
func (t *target) holds(v float64) bool {
	if t.AtLeast != nil {
		return v >= *t.AtLeast
	}
	return v <= *t.AtMost
}

// short shows a number with as many digits as it deserves.
func short(v float64) string {
	if v >= 1000 {
		return load.Count(v)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// targets returns the table of what the scenario is held to; figures that were
// not measured are not in it.
func (r *report) targets() load.Table {
	t := load.Table{Columns: []string{"target", "where", "wanted", "measured", "lowest", "highest",
		"reached"}}
	for i := range r.scenario.Targets {
		want := &r.scenario.Targets[i]
		for _, p := range r.scenario.Placements {
			if want.Placement != "" && want.Placement != p {
				continue
			}
			for _, n := range r.scenario.Connections {
				if len(want.Connections) > 0 && !slices.Contains(want.Connections, n) {
					continue
				}
				rounds := r.rounds(want, p, n)
				if len(rounds) == 0 {
					continue
				}
				v := median(rounds)
				where := fmt.Sprintf("%s, %s", p, load.Count(float64(n)))
				t.Rows = append(t.Rows, []string{
					want.title(), where, want.wanted(), short(v), short(slices.Min(rounds)),
					short(slices.Max(rounds)), want.reached(rounds),
				})
			}
		}
	}
	return t
}

// measured returns the figure of a target: the median of the rounds, or of the
// ratios within the rounds.
func (r *report) measured(t *target, p Placement, connections int) (v float64, ok bool) {
	all := r.rounds(t, p, connections)
	return median(all), len(all) > 0
}

// rounds returns the figure of a target in each round that has it.
func (r *report) rounds(t *target, p Placement, connections int) (all []float64) {
	values := r.byRound(t.Row, t.Figure, p, connections)
	if t.To == "" {
		for _, v := range values {
			all = append(all, v)
		}
		return all
	}
	base := r.byRound(t.To, t.Figure, p, connections)
	for round, v := range values {
		if base[round] > 0 {
			all = append(all, v/base[round])
		}
	}
	return all
}

// byRound returns a figure of a row in each round.
func (r *report) byRound(row, figure string, p Placement, connections int) map[int]float64 {
	values := map[int]float64{}
	for _, one := range r.Samples {
		if one.Row == row && one.Figure == figure && one.Placement == p {
			values[one.Round] = one.Value
		}
	}
	of := figures[figure]
	for _, one := range r.Runs {
		if of != nil && one.Result.Name == row && one.Placement == p &&
			one.Result.Connections == connections {
			values[one.Round] = of(one.Result)
		}
	}
	return values
}
