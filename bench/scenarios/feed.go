package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/internal/demo"
)

// lagEvery is how often the feed is asked how far behind it is. An answer of
// the operator's port costs what many hits do.
const lagEvery = 20 * time.Millisecond

// measureFeed loads hotrow from all cores while another program writes to the
// database, and measures how long after its commits their rows are still
// served as they were before.
func measureFeed(
	ctx context.Context, w *harness.Fixture, a *harness.Attempt,
) ([]harness.Figure, error) {
	before, err := staleServed(ctx, a.Peer.Ops)
	if err != nil {
		return nil, err
	}
	loadCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	lags := make(chan []float64)
	foreign := make(chan error, 1)
	var seen visibility
	go func() {
		harness.Wait(loadCtx, w.Opts.Warmup)
		var err error
		seen, err = writeForeign(loadCtx, w, a)
		foreign <- err
	}()
	go func() { lags <- watchLag(loadCtx, a.Peer.Ops, w.Opts.Warmup, w.Opts.Duration) }()
	result, err := w.Once(loadCtx, a.On, a.Row, a.Peer, a.Connections, 0)
	if err != nil {
		cancel()
	}
	lag := <-lags
	if err := errors.Join(err, <-foreign); err != nil {
		return nil, err
	}
	after, err := staleServed(ctx, a.Peer.Ops)
	if err != nil {
		return nil, err
	}
	slices.Sort(lag)
	return []harness.Figure{
		harness.FigureOf("commits", float64(seen.Commits)),
		harness.FigureOf("invalidated p50 ms", seen.P50), harness.FigureOf("invalidated p99 ms",
			seen.P99),
		harness.FigureOf("invalidated max ms", seen.Max), harness.FigureOf("new when asked p99 ms",
			seen.AskedP99),
		harness.FigureOf("never seen", float64(seen.Lost)),
		harness.FigureOf("feed lag p50 ms", quantile(lag, 0.50)),
		harness.FigureOf("feed lag p99 ms", quantile(lag, 0.99)),
		harness.FigureOf("flagged stale", after-before), harness.FigureOf("answers/s", result.Rate),
		harness.FigureOf("answer p99 µs", harness.P99(result)), harness.FigureOf("failed",
			float64(result.Failed())),
	}, nil
}

// visibility is what the program foreign says of bench/peers.
type visibility struct {
	Commits, Lost int
	P50, P99, Max float64 // ms, from the commit's acknowledgement to a new answer
	AskedP99      float64 // ms, until an answer was asked for that was new
}

// writeForeign runs the program that writes, while the measured time lasts.
func writeForeign(
	ctx context.Context, w *harness.Fixture, a *harness.Attempt,
) (v visibility, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.Opts.Duration+harness.Patience/2)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.Programs+"foreign", "-url", a.Peer.Database,
		"-get", a.Peer.Base+"/depts/", "-first", strconv.Itoa(demo.FirstDept),
		"-keys", strconv.Itoa(a.Peer.Keys), "-time", w.Opts.Duration.String())
	cmd.SysProcAttr = harness.ChildAttributes()
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return v, fmt.Errorf("foreign: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return v, json.Unmarshal(out.Bytes(), &v)
}

// metric matches a line of the metrics.
func metric(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^` + name + ` (\S+)$`)
}

var (
	staleLine = metric(`hotrow_cache_lookups_total\{[^}]*result="stale"[^}]*\}`)
	lagLine   = metric(`hotrow_feed_lag_seconds\{[^}]*\}`)
)

// staleServed returns how many answers were flagged as stale.
func staleServed(ctx context.Context, ops string) (n float64, err error) {
	text, err := harness.Fetch(ctx, ops+"/metrics")
	if err != nil {
		return 0, err
	}
	for _, match := range staleLine.FindAllSubmatch(text, -1) {
		v, err := strconv.ParseFloat(string(match[1]), 64)
		if err != nil {
			return 0, err
		}
		n += v
	}
	return n, nil
}

// watchLag returns how far behind the feed was, in ms, again and again.
func watchLag(ctx context.Context, ops string, after, total time.Duration) (lags []float64) {
	harness.Wait(ctx, after)
	ctx, cancel := context.WithTimeout(ctx, total)
	defer cancel()
	for ctx.Err() == nil {
		harness.Wait(ctx, lagEvery)
		text, err := harness.Fetch(ctx, ops+"/metrics")
		if err != nil {
			continue
		}
		if match := lagLine.FindSubmatch(text); match != nil {
			if s, err := strconv.ParseFloat(string(match[1]), 64); err == nil {
				lags = append(lags, 1000*s)
			}
		}
	}
	return lags
}

// quantile returns the value that a share of sorted values do not exceed, 0 of
// none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
