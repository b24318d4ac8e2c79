package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hotrow/hotrow/internal/load"
)

// A sample is one figure that an experiment has measured.
type sample struct {
	Placement placement `json:"placement"`
	Round     int       `json:"round"`
	Row       string    `json:"row"`
	Figure    string    `json:"figure"`
	Value     float64   `json:"value"`
}

// A figure is what an experiment measures of a row; its name holds its unit.
type figure struct {
	name  string
	value float64
}

// An experiment measures something other than rows under load.
type experiment func(context.Context, *fixture, *attempt) ([]figure, error)

// An attempt is one row of an experiment in one round.
type attempt struct {
	scenario    *scenario
	row         *row
	peer        *running
	on          placement
	connections int
	dir         string // to write in
}

// experiments are the kinds of scenarios.
var experiments = map[string]experiment{
	"feed": measureFeed,
	"wire": measureWire,

	"tiers": measureTiers,

	"links": measureLinks,
}

// attemptTime is what one attempt may take beside what it measures: a server
// that hangs does not hold up those who wait for the whole.
const attemptTime = 5 * patience

// experiment measures every row of a scenario in every round.
func (w *fixture) experiment(ctx context.Context, s *scenario, p placement, r *report) error {
	e := experiments[s.Kind]
	started := map[string]*running{}
	defer func() {
		for _, peer := range started {
			peer.close()
		}
	}()
	for round := range w.opts.rounds {
		for i := range s.Rows {
			row := &s.Rows[(i+round)%len(s.Rows)]
			dir := filepath.Join(w.tmp, s.Name+"-"+string(p), row.Peer)
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
			a := &attempt{s, row, peer, p, s.Connections[0], dir}
			if err := w.attempt(ctx, e, a, round, r); err != nil {
				return peer.main.failed(fmt.Errorf("%s: %w", row.Name, err))
			}
		}
	}
	return nil
}

// attempt makes one attempt and notes its figures.
func (w *fixture) attempt(
	ctx context.Context, e experiment, a *attempt, round int, r *report,
) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTime+2*(w.opts.warmup+w.opts.duration))
	defer cancel()
	all, err := e(ctx, w, a)
	if err != nil {
		return err
	}
	fmt.Printf("%-6s round %d  %-24s", a.on, round+1, a.row.Name)
	for _, f := range all {
		fmt.Printf("  %s %s", f.name, short(f.value))
		r.Samples = append(r.Samples, sample{a.on, round, a.row.Name, f.name, f.value})
	}
	fmt.Println()
	return nil
}

// startWarm starts a peer and asks it for all of its documents. It returns nil
// if the peer is not installed.
func (w *fixture) startWarm(
	ctx context.Context, s *scenario, name string, p placement, dir string, r *report,
) (*running, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	peer, err := peers[name](ctx, w, p, dir)
	if errors.Is(err, errMissing) {
		fmt.Printf("left out: %v\n", err)
		r.leaveOut(name, err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if s.Keys > 0 {
		peer.keys = min(peer.keys, s.Keys)
	}
	if peer.expect != "" {
		if err := w.warm(ctx, peer); err != nil {
			peer.close()
			return nil, peer.main.failed(err)
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
func (r *report) sampleTable(p placement) load.Table {
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
// figure that is held to something.
func (r *report) samplePanels(p placement) []load.Panel {
	var panels []load.Panel
	for _, name := range r.figureNames() {
		isTarget := slices.ContainsFunc(r.scenario.Targets, func(t target) bool {
			return t.Figure == name
		})
		if !isTarget && name != "answers/s" {
			continue
		}
		panel := load.Panel{Title: name, X: []string{""}}
		for i := range r.scenario.Rows {
			row := r.scenario.Rows[i].Name
			if v, ok := r.measured(&target{Row: row, Figure: name}, p, 0); ok {
				panel.Lines = append(panel.Lines, load.Line{Name: row, Y: []float64{v}})
			}
		}
		panels = append(panels, panel)
	}
	return panels
}
