package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hotrow/hotrow/bench/load"
)

// A run is one measurement.
type run struct {
	Placement Placement    `json:"placement"`
	Round     int          `json:"round"`
	Result    *load.Result `json:"result"`
	// Opened is how many connections were opened at the upstream, warm-up included.
	Opened *int `json:"opened,omitempty"`
}

// Measure runs a scenario. Peers that are not installed are left out.
func (w *Fixture) Measure(ctx context.Context, s *Scenario) (*report, error) {
	r := &report{scenario: s, options: w.Opts, Setup: w.Opts.setup(), Environment: environment(ctx)}
	place := w.place
	if s.Kind != "" {
		place = w.experiment
	}
	for _, p := range s.Placements {
		err := place(ctx, s, p, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
	}
	return r, nil
}

// place runs a scenario in one placement.
func (w *Fixture) place(ctx context.Context, s *Scenario, p Placement, r *report) error {
	started := map[string]*Server{}
	defer func() {
		for _, peer := range started {
			peer.Close()
		}
	}()
	for _, name := range s.peers() {
		if s.Alone {
			break
		}
		dir := filepath.Join(w.Tmp, s.Name+"-"+string(p), name)
		peer, err := w.startWarm(ctx, s, name, p, dir, r)
		if err != nil {
			return err
		}
		if peer != nil {
			started[name] = peer
		}
	}
	for _, connections := range s.Connections {
		if limit := maxConnections(); connections > limit {
			r.leaveOut(load.Count(float64(connections))+" connections",
				fmt.Errorf("a process may open %d files here; raise the limit", limit))
			continue
		}
		if err := w.rounds(ctx, s, p, connections, started, r); err != nil {
			return err
		}
	}
	return nil
}

// rounds measures every row in every round, interleaved, so that what disturbs
// the machine for a while disturbs all rows.
func (w *Fixture) rounds(
	ctx context.Context, s *Scenario, p Placement, connections int, started map[string]*Server,
	r *report,
) error {
	offered := 0.0
	if s.Rate != nil {
		var err error
		if offered, err = w.peak(ctx, s, p, connections, started); err != nil || offered == 0 {
			return err
		}
	}
	for round := range w.Opts.Rounds {
		for i := range s.Rows {
			// Each round begins with another row: what comes after whom differs.
			row := &s.Rows[(i+round)%len(s.Rows)]
			if row.MaxConnections > 0 && connections > row.MaxConnections {
				continue
			}
			one, err := w.row(ctx, s, p, row, started[row.Peer], connections, offered, r)
			if errors.Is(err, ErrMissing) {
				r.leaveOut(row.Name, err)
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", row.Name, err)
			}
			if one == nil {
				continue
			}
			result := one.Result
			one.Placement, one.Round = p, round
			r.add(*one)
			fmt.Printf("%-6s round %d  %6d connections  %-24s %10s/s  p99 %8s µs  failed %d\n", p,
				round+1, connections, row.Name, load.Count(result.Rate),
				load.Count(P99(result)), result.Failed())
		}
	}
	return nil
}

// row measures one row once, with a peer that is started for it if the scenario
// says so. It returns nil if the peer is not installed.
func (w *Fixture) row(
	ctx context.Context, s *Scenario, p Placement, row *row, peer *Server, connections int,
	offered float64, r *report,
) (*run, error) {
	if s.Alone {
		var err error
		dir := filepath.Join(w.Tmp, s.Name+"-"+string(p), row.Peer)
		if peer, err = w.startWarm(ctx, s, row.Peer, p, dir, r); err != nil {
			return nil, err
		}
		if peer != nil {
			defer peer.Close()
		}
	}
	if peer == nil {
		return nil, nil
	}
	before, err := peer.countAccepted(ctx)
	if err != nil {
		return nil, err
	}
	result, err := w.Once(ctx, p, row, peer, connections, offered)
	if err != nil {
		return nil, peer.Main.Failed(err)
	}
	after, err := peer.countAccepted(ctx)
	if err != nil || peer.Accepted == nil {
		return &run{Result: result}, err
	}
	opened := after - before
	return &run{Result: result, Opened: &opened}, nil
}

// peak returns the rate that an open loop offers: a share of the median that
// one row reaches.
func (w *Fixture) peak(
	ctx context.Context, s *Scenario, p Placement, connections int, started map[string]*Server,
) (float64, error) {
	i := slices.IndexFunc(s.Rows, func(r row) bool { return r.Name == s.Rate.Row })
	peer := started[s.Rows[i].Peer]
	if peer == nil {
		fmt.Printf("no rate: %s was left out\n", s.Rate.Row)
		return 0, nil
	}
	var rates []float64
	for range w.Opts.Rounds {
		result, err := w.Once(ctx, p, &s.Rows[i], peer, connections, 0)
		if err != nil {
			return 0, peer.Main.Failed(err)
		}
		rates = append(rates, result.Rate)
	}
	return median(rates) * s.Rate.Share, nil
}

// connecting is what the warm-up is longer for each connection to be made.
const connecting = 200 * time.Microsecond

// writing is what the warm-up is longer for each connection that writes once.
const writing = 5 * time.Millisecond

// keysPerRun keeps the {i} of two runs apart.
const keysPerRun = 1_000_000

// Once measures one row once.
func (w *Fixture) Once(
	ctx context.Context, p Placement, row *row, peer *Server, connections int, offered float64,
) (*load.Result, error) {
	// A row that only writes takes a peer as it is. Any other finds all documents
	// in memory, whatever the rows before it have changed.
	if peer.Cold && row.Write.Percent < 100 {
		if err := w.warm(ctx, peer); err != nil {
			return nil, err
		}
		peer.Cold = false
	}
	peer.Cold = peer.Cold || row.Write.Percent > 0 || row.Write.Once ||
		row.During != "" && peer.SQL != nil
	if row.Generator != ours {
		return w.onceByAnother(ctx, p, row, peer, connections, offered)
	}
	w.Runs++
	warmup := w.Opts.Warmup + time.Duration(connections)*connecting
	if row.Write.Once { // what is measured are the reads that follow
		warmup += time.Duration(connections) * writing
	}
	write := row.Write
	write.First = (100 + w.Runs) * keysPerRun
	expect := peer.expect
	if expect != "" && strings.Contains(peer.urlOf(row), "?") { // a list of documents
		expect = "[" + expect
	}
	o := order{Expect: expect, Within: peer.Within, Config: load.Config{
		URL: peer.urlOf(row), Header: row.Header, Write: write, Pipeline: row.Pipeline,
		Batch: row.Batch,
		Keys: load.Keys{First: peer.first, N: int64(peer.Keys),
			Distribution: row.Distribution},
		Connections: connections, Rate: offered, Seed: uint64(w.Runs),
		Duration: w.Opts.Duration, Warmup: warmup, PID: peer.Main.pid(),
	}}
	during := make(chan error, 1)
	if row.During == "" || peer.SQL == nil {
		during <- nil
	} else {
		wait := warmup + w.Opts.Duration/3
		go func() { during <- after(ctx, wait, peer.SQL, row.During) }()
	}
	result, err := loadFrom(ctx, p, o)
	if err = errors.Join(err, <-during); err != nil {
		return nil, err
	}
	result.Name = row.Name
	return result, nil
}

// after runs SQL after some time.
func after(
	ctx context.Context, wait time.Duration, run func(context.Context, io.Reader) error, sql string,
) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
		return run(ctx, strings.NewReader(sql))
	}
}

// onceByAnother measures one row once with a generator that is not ours.
func (w *Fixture) onceByAnother(
	ctx context.Context, p Placement, row *row, peer *Server, connections int, offered float64,
) (*load.Result, error) {
	switch row.Generator {
	case h2Load:
		return w.onceByH2Load(ctx, p, row, peer, connections, offered)
	case ownClient:
		return w.onceByClient(ctx, p, row, peer, connections)
	case program:
		return w.onceByProgram(ctx, p, row, peer, connections)
	case pgLoad:
		return w.onceByPgLoad(ctx, p, row, peer, connections)
	case tlsLoad:
		return w.onceByTLSLoad(ctx, p, row, peer, connections)
	}
	return w.onceByPHP(ctx, p, row, peer, connections)
}

// median returns the middle of some values, 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
