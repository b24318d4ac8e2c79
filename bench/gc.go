package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// collectEvery is how often a garbage collection is asked for.
const collectEvery = 20 * time.Millisecond

// startTraced starts hotrow so that it says how long each collection has
// stopped it.
func startTraced(ctx context.Context, w *workshop, on placement, dir string) (*running, error) {
	return startHotrowWith(ctx, w, on, dir, flavour{env: []string{"GODEBUG=gctrace=1"}})
}

// measurePauses loads a server while it collects garbage again and again, and
// reads from its log how long it was stopped: twice for each collection.
func measurePauses(ctx context.Context, w *workshop, a *attempt) ([]figure, error) {
	log, err := os.Open(a.peer.main.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asked := make(chan int)
	began := make(chan error, 1)
	go func() {
		wait(ctx, w.opts.warmup)
		_, err := log.Seek(0, io.SeekEnd)
		began <- err
		n := 0
		if a.row.Collect {
			n = collectAll(ctx, a.peer.ops, w.opts.duration)
		}
		asked <- n
	}()
	result, err := w.once(ctx, a.on, a.row, a.peer, a.connections, 0)
	cancel()
	n := <-asked
	if err := errors.Join(err, <-began); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(log)
	if err != nil {
		return nil, err
	}
	pauses := pausesOf(text)
	slices.Sort(pauses)
	return []figure{
		{"collections/s", float64(len(pauses)) / 2 / w.opts.duration.Seconds()},
		{"of them asked for", float64(n) / w.opts.duration.Seconds()},
		{"pause p50 ms", quantile(pauses, 0.50)},
		{"pause p99 ms", quantile(pauses, 0.99)},
		{"pause max ms", quantile(pauses, 1)},
		{"answers/s", result.Rate},
		{"answer p99 µs", p99(result)},
		{"failed", float64(result.Failed())},
	}, nil
}

// collectAll asks for a collection again and again, and returns how often. The
// heap profile of the operator's port is what makes one.
func collectAll(ctx context.Context, ops string, total time.Duration) (n int) {
	ctx, cancel := context.WithTimeout(ctx, total)
	defer cancel()
	tick := time.NewTicker(collectEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return n
		case <-tick.C:
		}
		if _, err := fetch(ctx, ops+"/debug/pprof/heap?gc=1"); err == nil {
			n++
		}
	}
}

// fetch reads what is at a URL.
func fetch(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %.200s", url, resp.Status, text)
	}
	return text, err
}

// traced matches the wall times of a line of gctrace: stopped, running, stopped.
var traced = regexp.MustCompile(`(?m)^gc \d+ @.*?: ([\d.]+)\+[\d.]+\+([\d.]+) ms clock`)

// pausesOf returns the pauses that a log tells of, in ms.
func pausesOf(log []byte) (pauses []float64) {
	for _, match := range traced.FindAllSubmatch(log, -1) {
		for _, text := range match[1:] {
			if ms, err := strconv.ParseFloat(string(text), 64); err == nil {
				pauses = append(pauses, ms)
			}
		}
	}
	return pauses
}

// quantile returns the value that a share of sorted values do not exceed, 0 of
// none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
