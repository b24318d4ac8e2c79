package wirebench

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/bench/load"
)

// A Report is the runs of several contenders.
type Report struct {
	Rows    []Row    `json:"rows"`
	Results []Result `json:"results"`
}

// Add adds a result. Of several of one contender in one row the fastest counts.
func (r *Report) Add(res Result) {
	for i := range r.Results {
		old := &r.Results[i]
		if old.Contender != res.Contender || old.Row != res.Row {
			continue
		}
		if old.Failed != "" || res.Failed == "" && res.Rate > old.Rate {
			*old = res
		}
		return
	}
	r.Results = append(r.Results, res)
}

// Order puts the results of the contenders into an order.
func (r *Report) Order(contenders []string) {
	slices.SortStableFunc(r.Results, func(a, b Result) int {
		return slices.Index(contenders, a.Contender) - slices.Index(contenders, b.Contender)
	})
}

// Err returns an error if a run has failed.
func (r *Report) Err() error {
	if text := r.failures(); text != "" {
		return errors.New("runs have failed: " + text)
	}
	return nil
}

// find returns the result of a contender in a row, nil when there is none.
func (r *Report) find(contender, row string) *Result {
	i := slices.IndexFunc(r.Results, func(one Result) bool {
		return one.Contender == contender && one.Row == row
	})
	if i < 0 || r.Results[i].Failed != "" {
		return nil
	}
	return &r.Results[i]
}

// contenders returns their names, in the order in which they came.
func (r *Report) contenders() []string {
	var names []string
	for i := range r.Results {
		if !slices.Contains(names, r.Results[i].Contender) {
			names = append(names, r.Results[i].Contender)
		}
	}
	return names
}

// Rates returns the table of messages a second, and beside them what gofast's
// authors have published, which was another machine.
func (r *Report) Rates() load.Table {
	names := r.contenders()
	t := load.Table{Columns: []string{"messages/s"}}
	t.Columns = append(append(t.Columns, names...), "published for gofast")
	for i := range r.Rows {
		cells := []string{r.Rows[i].Name}
		for _, name := range names {
			cells = append(cells, r.cell(name, r.Rows[i].Name, rate))
		}
		t.Rows = append(t.Rows, append(cells, orDash(r.Rows[i].Published)))
	}
	return t
}

// Latencies returns the table of latencies: mean, and 50% / 99% where they are
// known.
func (r *Report) Latencies() load.Table {
	names := r.contenders()
	t := load.Table{Columns: []string{"latency: mean, p50/p99, µs"}}
	t.Columns = append(append(t.Columns, names...), "published for gofast")
	for i := range r.Rows {
		cells := []string{r.Rows[i].Name}
		for _, name := range names {
			cells = append(cells, r.cell(name, r.Rows[i].Name, latency))
		}
		t.Rows = append(t.Rows, append(cells, orDash(float64(r.Rows[i].PublishedMean)/1e3)))
	}
	return t
}

// cell shows something of a result.
func (r *Report) cell(contender, row string, show func(*Result) string) string {
	if one := r.find(contender, row); one != nil {
		return show(one)
	}
	return "-"
}

func rate(r *Result) string { return load.Count(r.Rate) }

func latency(r *Result) string {
	l := r.Latency
	if l.P99 == 0 {
		return short(l.Mean)
	}
	return fmt.Sprintf("%s, %s/%s", short(l.Mean), short(l.P50), short(l.P99))
}

// short shows microseconds with as many digits as mean something.
func short(us float64) string {
	if us < 10 {
		return fmt.Sprintf("%.2f", us)
	}
	return load.Count(us)
}

func orDash(v float64) string {
	if v == 0 {
		return "-"
	}
	return short(v)
}

// Ratios returns how many times as fast one contender is as the others.
func (r *Report) Ratios(of string) load.Table {
	t := load.Table{Columns: []string{of + " is so many times as fast as"}}
	for _, name := range r.contenders() {
		if name != of {
			t.Columns = append(t.Columns, name)
		}
	}
	for i := range r.Rows {
		cells := []string{r.Rows[i].Name}
		ours := r.find(of, r.Rows[i].Name)
		for _, name := range t.Columns[1:] {
			cell := "-"
			if theirs := r.find(name, r.Rows[i].Name); ours != nil && theirs != nil {
				cell = fmt.Sprintf("%.2f", ours.Rate/theirs.Rate)
			}
			cells = append(cells, cell)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// failures are lines about what could not be measured.
func (r *Report) failures() string {
	var b strings.Builder
	for i := range r.Results {
		if one := &r.Results[i]; one.Failed != "" {
			fmt.Fprintf(&b, "%s, %s: %s\n", one.Contender, one.Row, one.Failed)
		}
	}
	return b.String()
}

// tables are all of the report's.
func (r *Report) tables() []load.Table {
	all := []load.Table{r.Rates(), r.Latencies()}
	if names := r.contenders(); len(names) > 1 {
		all = append(all, r.Ratios(names[0]))
	}
	return all
}

// Text returns the report for a terminal.
func (r *Report) Text() string {
	var parts []string
	for _, t := range r.tables() {
		parts = append(parts, t.Text())
	}
	return strings.Join(append(parts, r.failures()), "\n")
}

// Markdown returns the report for a page.
func (r *Report) Markdown() string {
	var parts []string
	for _, t := range r.tables() {
		parts = append(parts, t.Markdown())
	}
	return strings.Join(append(parts, r.failures()), "\n")
}

// JSON returns the report for a program.
func (r *Report) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	return append(b, '\n'), err
}
