package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/internal/load"
)

// measureLinks runs the command of the original's benchmark, and then waits until
// every hit that was answered is in the database.
func measureLinks(ctx context.Context, w *fixture, a *attempt) ([]figure, error) {
	program, err := look(wrk)
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
	if err := a.peer.holdClicks(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	result, err := seedWrk(ctx, w, program, a)
	if err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	figures := []figure{
		{"answers/s", result.Rate}, {"p50 µs", result.Reads.P50}, {"p99 µs", result.Reads.P99},
		{"failed", float64(result.Failed())},
	}
	if result.Server != nil {
		figures = append(figures, figure{"CPU µs", result.Server.Total})
	}
	if a.peer.links == nil || a.peer.links.count == nil {
		return figures, nil
	}
	meanwhile, err := a.peer.links.count(ctx)
	if err != nil {
		return nil, err
	}
	after, waited, err := settledCount(ctx, a, before+int64(result.Answers))
	if err != nil {
		return nil, err
	}
	return append(figures,
		figure{"drained/s meanwhile", float64(meanwhile-before) / took},
		figure{"answered", float64(result.Answers)},
		figure{"count(*)", float64(after - before)},
		figure{"s to drain", waited},
	), nil
}

// holdClicks stops the draining of a peer of which that is measured.
func (r *running) holdClicks(ctx context.Context) error {
	if r.links == nil || r.links.drain == nil {
		return nil
	}
	return r.links.drain(ctx, false)
}

// settledCount waits until the database has at least so many hits and gets no
// more: wrk does not count the answers that are under way when it ends, one for
// each connection. It returns how many it has, and the seconds until it had them.
func settledCount(ctx context.Context, a *attempt, least int64) (int64, float64, error) {
	s := a.peer.links
	if s == nil || s.count == nil {
		return 0, 0, nil
	}
	if s.drain != nil {
		if err := s.drain(ctx, true); err != nil {
			return 0, 0, err
		}
	}
	began, last, since := time.Now(), int64(-1), time.Now()
	for {
		n, err := s.count(ctx)
		if err != nil {
			return 0, 0, err
		}
		if n != last {
			last, since = n, time.Now()
		}
		if n >= least && time.Since(since) > 600*time.Millisecond {
			break
		}
		if time.Since(began) > 2*patience {
			return 0, 0, fmt.Errorf("%d hits of %d are in the database", n, least)
		}
		wait(ctx, 50*time.Millisecond)
		if ctx.Err() != nil {
			return 0, 0, ctx.Err()
		}
	}
	if most := least + int64(a.connections); least > 0 && last > most {
		return 0, 0, fmt.Errorf("%d hits in the database, at most %d were sent", last, most)
	}
	return last, since.Sub(began).Seconds(), nil
}

// seedWrk runs wrk as the README of the original says: wrk -c 256 -d 5s -t 48.
func seedWrk(ctx context.Context, w *fixture, program string, a *attempt) (*load.Result, error) {
	seconds := max(int(w.opts.duration.Round(time.Second)/time.Second), 1)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+patience)
	defer cancel()
	const threads = 48
	return runGenerator(ctx, a.on, a.peer, parseWrk, program, "-c", strconv.Itoa(a.connections),
		"-d", strconv.Itoa(seconds)+"s", "-t", strconv.Itoa(min(threads, a.connections)),
		"--latency", a.peer.url)
}
