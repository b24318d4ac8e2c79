package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/bench/load"
	"github.com/hotrow/hotrow/bench/tiers"
)

// zipfSkew is that of YCSB's loads.
const zipfSkew = 0.99

// readKinds are the ways in which a row may choose keys of n documents.
var readKinds = map[string]func(n int64) load.Keys{
	"all":   func(n int64) load.Keys { return load.Keys{N: n} },
	"tenth": func(n int64) load.Keys { return load.Keys{N: n / 10} },
	"zipf": func(n int64) load.Keys {
		return load.Keys{N: n, Distribution: load.Zipf, Skew: zipfSkew}
	},
}

// measureTiers reads as fast as goes and then at half of that rate, of which the
// latencies are.
func measureTiers(
	ctx context.Context, w *harness.Fixture, a *harness.Attempt,
) ([]harness.Figure, error) {
	keys := readKinds[a.Row.Read](int64(a.Peer.Keys))
	if err := warmTiers(ctx, a, keys); err != nil {
		return nil, err
	}
	w.Runs++
	o := tiers.ReadOrder{Keys: keys, Duration: w.Opts.Warmup + w.Opts.Duration,
		Seed: uint64(w.Runs)}
	peak, err := readTiers(ctx, a, o)
	if err != nil {
		return nil, err
	}
	w.Runs++
	o = tiers.ReadOrder{Keys: keys, Duration: w.Opts.Duration, Rate: peak.Rate / 2,
		Seed: uint64(w.Runs)}
	half, err := readTiers(ctx, a, o)
	if err != nil {
		return nil, err
	}
	var s tiers.State
	if err := ask(ctx, http.MethodGet, a.Peer.Base+"/", nil, &s); err != nil {
		return nil, err
	}
	return []harness.Figure{
		harness.FigureOf("start s", s.Start), harness.FigureOf("documents", float64(s.Entries)),
		harness.FigureOf("file GB", float64(s.FileBytes)/1e9), harness.FigureOf("RssAnon MB",
			float64(s.RSSAnon)/1e6),
		harness.FigureOf("RssAnon of the budget", float64(s.RSSAnon)/float64(a.Peer.Memory)),
		harness.FigureOf("mapped MB", float64(s.RSSFile)/1e6), harness.FigureOf("reads/s, peak",
			peak.Rate),
		harness.FigureOf("reads/s", half.Rate),
		harness.FigureOf("% from disk", 100*float64(half.Disk.Count)/float64(half.Reads)),
		harness.FigureOf("hit p50 µs", half.Disk.P50), harness.FigureOf("hit p99 µs",
			half.Disk.P99),
		harness.FigureOf("hit p99.9 µs", half.Disk.P999), harness.FigureOf("cold pages",
			float64(half.MajorFaults)),
		harness.FigureOf("missing or wrong",
			float64(peak.Missing+peak.Wrong+half.Missing+half.Wrong)),
	}, nil
}

// warmTiers has the file read once, and then what is asked for until it is in the
// page cache, or no more of it fits there.
func warmTiers(ctx context.Context, a *harness.Attempt, keys load.Keys) error {
	if a.Peer.Cold {
		if err := ask(ctx, http.MethodPost, a.Peer.Base+"/cache", nil, new(struct{})); err != nil {
			return err
		}
		a.Peer.Cold = false
	}
	o := tiers.ReadOrder{Keys: keys, Readers: warmReaders, Duration: 2 * harness.Patience}
	if keys.Distribution == "" && keys.N < int64(a.Peer.Keys) || a.Peer.Keys == tiers.Small {
		o.Keys.Distribution, o.Reads = load.Scan, keys.N
		_, err := readTiers(ctx, a, o)
		return err
	}
	o.Duration = warmStep
	for began := time.Now(); time.Since(began) < harness.Patience; o.Seed++ {
		r, err := readTiers(ctx, a, o)
		if err != nil || uint64(r.MajorFaults)*1000 <= warmColdest*r.Reads {
			return err
		}
	}
	return nil
}

// readTiers has the process read.
func readTiers(
	ctx context.Context, a *harness.Attempt, o tiers.ReadOrder,
) (*tiers.ReadResult, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	r := new(tiers.ReadResult)
	return r, ask(ctx, http.MethodPost, a.Peer.Base+"/read", bytes.NewReader(text), r)
}

// ask sends a request and decodes its answer.
func ask(ctx context.Context, method, url string, body io.Reader, to any) error {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %s", method, url, resp.Status, text)
	}
	return json.Unmarshal(text, to)
}

// How the page cache is warmed: by how many readers, who mostly wait for the
// disk, and until how few of a thousand reads find a page that is not there.
const (
	warmReaders = 32
	warmStep    = 5 * time.Second
	warmColdest = 1
)
