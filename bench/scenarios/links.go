package scenarios

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/bench/load"
)

// measureLinks runs the command of the original's benchmark, and then waits until
// every hit that was answered is in the database.
func measureLinks(
	ctx context.Context, w *harness.Fixture, a *harness.Attempt,
) ([]harness.Figure, error) {
	program, err := harness.Look(harness.Wrk)
	if err != nil {
		return nil, err
	}
	if _, err := seedWrk(ctx, w, program, a); err != nil { // warm
		return nil, err
	}
	before, _, err := settledCount(ctx, a, 0)
	if err != nil {
		return nil, err
	}
	if err := holdClicks(ctx, a.Peer); err != nil {
		return nil, err
	}
	began := time.Now()
	result, err := seedWrk(ctx, w, program, a)
	if err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	figures := []harness.Figure{
		harness.FigureOf("answers/s", result.Rate), harness.FigureOf("p50 µs", result.Reads.P50),
		harness.FigureOf("p99 µs", result.Reads.P99),
		harness.FigureOf("failed", float64(result.Failed())),
	}
	if result.Server != nil {
		figures = append(figures, harness.FigureOf("CPU µs", result.Server.Total))
	}
	if a.Peer.Links == nil || a.Peer.Links.Count == nil {
		return figures, nil
	}
	meanwhile, err := a.Peer.Links.Count(ctx)
	if err != nil {
		return nil, err
	}
	after, waited, err := settledCount(ctx, a, before+int64(result.Answers))
	if err != nil {
		return nil, err
	}
	return append(figures,
		harness.FigureOf("drained/s meanwhile", float64(meanwhile-before)/took),
		harness.FigureOf("answered", float64(result.Answers)),
		harness.FigureOf("count(*)", float64(after-before)),
		harness.FigureOf("s to drain", waited),
	), nil
}

// holdClicks stops the draining of a peer of which that is measured.
func holdClicks(ctx context.Context, r *harness.Server) error {
	if r.Links == nil || r.Links.Drain == nil {
		return nil
	}
	return r.Links.Drain(ctx, false)
}

// settledCount waits until the database has at least so many hits and gets no
// more: wrk does not count the answers that are under way when it ends, one for
// each connection. It returns how many it has, and the seconds until it had them.
func settledCount(ctx context.Context, a *harness.Attempt, least int64) (int64, float64, error) {
	s := a.Peer.Links
	if s == nil || s.Count == nil {
		return 0, 0, nil
	}
	if s.Drain != nil {
		if err := s.Drain(ctx, true); err != nil {
			return 0, 0, err
		}
	}
	began, last, since := time.Now(), int64(-1), time.Now()
	for {
		n, err := s.Count(ctx)
		if err != nil {
			return 0, 0, err
		}
		if n != last {
			last, since = n, time.Now()
		}
		if n >= least && time.Since(since) > 600*time.Millisecond {
			break
		}
		if time.Since(began) > 2*harness.Patience {
			return 0, 0, fmt.Errorf("%d hits of %d are in the database", n, least)
		}
		harness.Wait(ctx, 50*time.Millisecond)
		if ctx.Err() != nil {
			return 0, 0, ctx.Err()
		}
	}
	if most := least + int64(a.Connections); least > 0 && last > most {
		return 0, 0, fmt.Errorf("%d hits in the database, at most %d were sent", last, most)
	}
	return last, since.Sub(began).Seconds(), nil
}

// seedWrk runs wrk as the README of the original says: wrk -c 256 -d 5s -t 48.
func seedWrk(
	ctx context.Context, w *harness.Fixture, program string, a *harness.Attempt,
) (*load.Result, error) {
	seconds := max(int(w.Opts.Duration.Round(time.Second)/time.Second), 1)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+harness.Patience)
	defer cancel()
	const threads = 48
	return harness.RunGenerator(ctx, a.On, a.Peer, harness.ParseWrk, program, "-c",
		strconv.Itoa(a.Connections),
		"-d", strconv.Itoa(seconds)+"s", "-t", strconv.Itoa(min(threads, a.Connections)),
		"--latency", a.Peer.URL)
}
