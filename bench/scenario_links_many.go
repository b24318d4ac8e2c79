package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotrow/hotrow/internal/load"
)

// startLinksMany serves as many links as the command line says documents, with a
// hundred clicks each in the sums, and ten raw ones.
func startLinksMany(
	ctx context.Context, w *workshop, on placement, dir string,
) (*running, error) {
	db, err := linksInSQLite(ctx, on, dir)
	if err != nil {
		return nil, err
	}
	r, err := linksOver(ctx, w, on, dir, "record: true", db)
	if err != nil {
		return nil, err
	}
	if err := r.firstClick(ctx); err != nil { // which makes the table of the month
		r.close()
		return nil, err
	}
	r.close()
	n := int64(w.opts.keys)
	f := linksFill{links: n, clicks: 100 * n, raw: 10 * n}
	sizes, err := fillAll(ctx, dir, f)
	if err != nil {
		return nil, err
	}
	if r, err = linksOver(ctx, w, on, dir, "record: true", db); err != nil {
		return nil, err
	}
	r.keys, r.links.fill, r.links.sizes = w.opts.keys, f, sizes
	return r, nil
}

// firstClick waits until the database has a click.
func (r *running) firstClick(ctx context.Context) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if err := redirected(r.url); err != nil {
			return err
		}
		wait(ctx, 300*time.Millisecond)
		if n, err := r.links.count(ctx); err != nil || n > 0 {
			return err
		}
	}
	return errors.New("no click reaches the database")
}

// A question is one that people ask of statistics and lists.
type question struct {
	name string
	path string // {n} is a link
	most int    // of connections at once
}

// questions are what is asked of many links. What names of figures say is held
// to targets: 20 ms for statistics, 50 ms for lists.
func questions(now time.Time) []question {
	from := now.UTC().AddDate(0, 0, 1-fillDays).Format(time.DateOnly)
	const by = "by=referrer,country,browser,os,device"
	return []question{
		{"stats of a link", "/api/v1/links/k{n}/stats?" + by, 1},
		{"stats of the first, by hour", "/api/v1/links/k1/stats?unit=hour&from=" + from, 1},
		{"stats of the first, 90 days", "/api/v1/links/k1/stats?from=" + from + "&" + by, 1},
		{"stats of all", "/api/v1/stats?" + by, 1},
		{"list, newest", "/api/v1/links?days=7", 1},
		{"list, most clicks", "/api/v1/links?days=7&order=-clicks", 1},
		{"list, by code", "/api/v1/links?days=7&order=code", 1},
		{"search", "/api/v1/links?q=2026/77", 1},
		{"page of all", "/+", 1},
		{"last clicks of the first", "/api/v1/clicks?code=k1&order=-at&limit=50", 1},
	}
}

// measureLinksMany offers redirects at a fixed rate: over all links, or over the one
// that there is. In the first round it asks for statistics and lists before.
func measureLinksMany(ctx context.Context, w *workshop, a *attempt) ([]figure, error) {
	var figures []figure
	keys, url := load.Keys{N: 1}, a.peer.url
	if f := a.peer.links.fill; f.links > 0 {
		keys = load.Keys{First: 1, N: f.links, Distribution: load.Zipf}
		url = a.peer.base + "/k{n}"
	}
	if !a.peer.links.warm {
		var err error
		if figures, err = a.askLinks(ctx, w, keys); err != nil {
			return nil, err
		}
		if err := a.warmLinks(ctx, url, keys); err != nil {
			return nil, err
		}
		a.peer.links.warm = true
	}
	result, err := loadFrom(ctx, a.on, order{Config: load.Config{
		URL: url, Keys: keys, Connections: a.connections, Rate: linksRate,
		Duration: 2 * w.opts.duration, Warmup: w.opts.warmup, Timeout: patience,
		PID: a.peer.main.pid(),
	}})
	if err != nil {
		return nil, err
	}
	// The row that follows is not to be measured beside what is left of this one.
	if err := a.drained(ctx); err != nil {
		return nil, err
	}
	return append(figures, figure{"answers/s", result.Rate}, figure{"p50 µs", result.Reads.P50},
		figure{"p99 µs", result.Reads.P99}, figure{"failed", float64(result.Failed())}), nil
}

// askLinks asks for statistics and lists of many links.
func (a *attempt) askLinks(
	ctx context.Context, w *workshop, keys load.Keys,
) ([]figure, error) {
	f := a.peer.links.fill
	if f.links == 0 {
		return nil, nil
	}
	figures := []figure{{"links", float64(f.links)},
		{"sums, bytes a click", float64(a.peer.links.sizes[1]) / float64(f.clicks)},
		{"raw, bytes a click", float64(a.peer.links.sizes[2]) / float64(f.raw)}}
	for _, q := range questions(time.Now()) {
		result, err := loadFrom(ctx, a.on, order{Config: load.Config{
			URL: a.peer.base + q.path, Keys: keys, Connections: q.most,
			Duration: w.opts.duration, Warmup: w.opts.warmup, Timeout: patience,
		}})
		if err == nil {
			err = result.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.name, err)
		}
		figures = append(figures, figure{q.name + ", p99 ms", result.Reads.P99 / 1000})
	}
	return figures, nil
}

// warmLinks follows links one after the other, so that memory has them, and waits
// until the hits are in the database.
func (a *attempt) warmLinks(ctx context.Context, url string, keys load.Keys) error {
	keys.Distribution = load.Scan
	const each = 50 * time.Microsecond // a load
	_, err := loadFrom(ctx, a.on, order{Config: load.Config{
		URL: url, Keys: keys, Connections: a.connections, Timeout: patience,
		Duration: min(time.Second+time.Duration(keys.N)*each, patience),
	}})
	if err != nil {
		return err
	}
	return a.drained(ctx)
}

// drained waits until the hits are in the database.
func (a *attempt) drained(ctx context.Context) error {
	for deadline := time.Now().Add(2 * patience); time.Now().Before(deadline); {
		left, err := a.peer.metric(ctx, pendingMetric)
		if err != nil || left == 0 {
			return err
		}
		wait(ctx, 100*time.Millisecond)
	}
	return errors.New("the database is two minutes behind")
}
