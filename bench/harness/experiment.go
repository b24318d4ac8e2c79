package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hotrow/hotrow/bench/load"
	"github.com/hotrow/hotrow/bench/plot"
)

// A sample is one figure that an experiment has measured.
type sample struct {
	Placement Placement `json:"placement"`
	Round     int       `json:"round"`
	Row       string    `json:"row"`
	Figure    string    `json:"figure"`
	Value     float64   `json:"value"`
}

// A Figure is what an experiment measures of a row; its name holds its unit.
type Figure struct {
	name  string
	value float64
}

// FigureOf makes a figure.
func FigureOf(name string, value float64) Figure { return Figure{name, value} }

// An Experiment measures something other than rows under load.
type Experiment func(context.Context, *Fixture, *Attempt) ([]Figure, error)

// An Attempt is one row of an experiment in one round.
type Attempt struct {
	Scenario    *Scenario
	Row         *row
	Peer        *Server
	On          Placement
	Connections int
	dir         string // to write in
}

// A Registry is what scenarios may name.
type Registry struct {
	Peers map[string]Starter
	Kinds map[string]Experiment
	Reads []string // ways to choose keys, where tiers are read
}

// attemptTime is what one attempt may take beside what it measures: a server
// that hangs does not hold up those who wait for the whole.
const attemptTime = 5 * Patience

// experiment measures every row of a scenario in every round.
func (w *Fixture) experiment(ctx context.Context, s *Scenario, p Placement, r *report) error {
	e := w.registry.Kinds[s.Kind]
	started := map[string]*Server{}
	defer func() {
		for _, peer := range started {
			peer.Close()
		}
	}()
	for round := range w.Opts.Rounds {
		for i := range s.Rows {
			row := &s.Rows[(i+round)%len(s.Rows)]
			dir := filepath.Join(w.Tmp, s.Name+"-"+string(p), row.Peer)
			peer := started[row.Peer]
			if peer == nil {
				var err error
				if peer, err = w.startWarm(ctx, s, row.Peer, p, dir, r); err != nil {
					return err
				}
				if peer == nil {
					continue
				}
				started[row.Peer] = peer
			}
			a := &Attempt{s, row, peer, p, s.Connections[0], dir}
			if err := w.attempt(ctx, e, a, round, r); err != nil {
				return peer.Main.Failed(fmt.Errorf("%s: %w", row.Name, err))
			}
		}
	}
	return nil
}

// attempt makes one attempt and notes its figures.
func (w *Fixture) attempt(
	ctx context.Context, e Experiment, a *Attempt, round int, r *report,
) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTime+2*(w.Opts.Warmup+w.Opts.Duration))
	defer cancel()
	all, err := e(ctx, w, a)
	if err != nil {
		return err
	}
	fmt.Printf("%-6s round %d  %-24s", a.On, round+1, a.Row.Name)
	for _, f := range all {
		fmt.Printf("  %s %s", f.name, short(f.value))
		r.Samples = append(r.Samples, sample{a.On, round, a.Row.Name, f.name, f.value})
	}
	fmt.Println()
	return nil
}

// startWarm starts a peer and asks it for all of its documents. It returns nil
// if the peer is not installed.
func (w *Fixture) startWarm(
	ctx context.Context, s *Scenario, name string, p Placement, dir string, r *report,
) (*Server, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	peer, err := w.registry.Peers[name](ctx, w, p, dir)
	if errors.Is(err, ErrMissing) {
		fmt.Printf("left out: %v\n", err)
		r.leaveOut(name, err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if s.Keys > 0 {
		peer.Keys = min(peer.Keys, s.Keys)
	}
	if peer.expect != "" {
		if err := w.warm(ctx, peer); err != nil {
			peer.Close()
			return nil, peer.Main.Failed(err)
		}
	}
	return peer, nil
}

// figureNames returns the names of the figures that were measured, in order.
func (r *report) figureNames() []string {
	var names []string
	for _, one := range r.Samples {
		if !slices.Contains(names, one.Figure) {
			names = append(names, one.Figure)
		}
	}
	return names
}

// sampleTable returns the medians of an experiment's figures.
func (r *report) sampleTable(p Placement) load.Table {
	names := r.figureNames()
	t := load.Table{Columns: append([]string{"row"}, names...)}
	for i := range r.scenario.Rows {
		cells := []string{r.scenario.Rows[i].Name}
		measured := false
		for _, name := range names {
			v, ok := r.measured(&target{Row: cells[0], Figure: name}, p, 0)
			cell := "-"
			if ok {
				cell, measured = short(v), true
			}
			cells = append(cells, cell)
		}
		if measured {
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}

// samplePanels returns a diagram of the throughput of an experiment, and of each
// figure that is held to something, with what is published beside it.
func (r *report) samplePanels(p Placement, beside []*load.Result) []plot.Panel {
	var panels []plot.Panel
	for _, name := range r.figureNames() {
		isTarget := slices.ContainsFunc(r.scenario.Targets, func(t target) bool {
			return t.Figure == name
		})
		if !isTarget && name != "answers/s" {
			continue
		}
		panel := plot.Panel{Title: name, X: []string{""}}
		for i := range r.scenario.Rows {
			row := r.scenario.Rows[i].Name
			if v, ok := r.measured(&target{Row: row, Figure: name}, p, 0); ok {
				panel.Lines = append(panel.Lines, plot.Line{Name: row, Y: []float64{v}})
			}
		}
		if name == "answers/s" {
			panel.Lines = append(panel.Lines, publishedBars(beside)...)
		}
		panels = append(panels, panel)
	}
	return panels
}
