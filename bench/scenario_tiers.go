package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/internal/load"
)

// smallTiers is how many documents the small file has. The large one has a
// hundred times what -keys says: ten millions.
const (
	smallTiers = 10_000
	largeTiers = 100
)

// memoryShare is the budget of the tier in memory, in bytes for each document: a
// fifteenth of all fit.
const memoryShare = 108

// zipfSkew is that of YCSB's loads.
const zipfSkew = 0.99

// withTiers adds the processes of the scenario about the disk to other peers.
func withTiers(all map[string]starter) map[string]starter {
	maps.Copy(all, map[string]starter{
		"tiers-small": startTiers(func(*options) int64 { return smallTiers }),
		"tiers-large": startTiers(func(o *options) int64 { return int64(o.keys) * largeTiers }),
	})
	return all
}

// startTiers makes the starter of a process with the two tiers. Their file is
// made if it is not there, which takes minutes, and stays for the next time.
func startTiers(documents func(*options) int64) starter {
	return func(ctx context.Context, w *fixture, on placement, dir string) (*running, error) {
		work, err := filepath.Abs(w.opts.work)
		if err != nil {
			return nil, err
		}
		n := documents(w.opts)
		o := tiersOrder{Documents: n, Memory: n * memoryShare,
			Path: filepath.Join(work, "tiers-"+strconv.FormatInt(n, 10)+".db")}
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		err = command(ctx, "", "nice", "-n", "19", self, tiersCommand, string(text))
		if err != nil {
			return nil, err
		}
		if o.Listen, _, err = loopback(); err != nil {
			return nil, err
		}
		if text, err = json.Marshal(o); err != nil {
			return nil, err
		}
		name := filepath.Base(dir)
		p, err := start(name, dir, on, self, tiersCommand, string(text))
		if err != nil {
			return nil, err
		}
		r := &running{name: name, base: "http://" + o.Listen, main: p, keys: int(n),
			memory: o.Memory, cold: true}
		if err := p.awaitURL(ctx, r.base+"/"); err != nil {
			p.stop()
			return nil, err
		}
		return r, nil
	}
}

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
func measureTiers(ctx context.Context, w *fixture, a *attempt) ([]figure, error) {
	keys := readKinds[a.row.Read](int64(a.peer.keys))
	if err := warmTiers(ctx, a, keys); err != nil {
		return nil, err
	}
	w.runs++
	o := readOrder{Keys: keys, Duration: w.opts.warmup + w.opts.duration, Seed: uint64(w.runs)}
	peak, err := readTiers(ctx, a, o)
	if err != nil {
		return nil, err
	}
	w.runs++
	o = readOrder{Keys: keys, Duration: w.opts.duration, Rate: peak.Rate / 2, Seed: uint64(w.runs)}
	half, err := readTiers(ctx, a, o)
	if err != nil {
		return nil, err
	}
	var s tiersState
	if err := ask(ctx, http.MethodGet, a.peer.base+"/", nil, &s); err != nil {
		return nil, err
	}
	return []figure{
		{"start s", s.Start}, {"documents", float64(s.Entries)},
		{"file GB", float64(s.FileBytes) / 1e9}, {"RssAnon MB", float64(s.RSSAnon) / 1e6},
		{"RssAnon of the budget", float64(s.RSSAnon) / float64(a.peer.memory)},
		{"mapped MB", float64(s.RSSFile) / 1e6}, {"reads/s, peak", peak.Rate},
		{"reads/s", half.Rate},
		{"% from disk", 100 * float64(half.Disk.Count) / float64(half.Reads)},
		{"hit p50 µs", half.Disk.P50}, {"hit p99 µs", half.Disk.P99},
		{"hit p99.9 µs", half.Disk.P999}, {"cold pages", float64(half.MajorFaults)},
		{"missing or wrong", float64(peak.Missing + peak.Wrong + half.Missing + half.Wrong)},
	}, nil
}

// How the page cache is warmed: by how many readers, who mostly wait for the
// disk, and until how few of a thousand reads find a page that is not there.
const (
	warmReaders = 32
	warmStep    = 5 * time.Second
	warmColdest = 1
)

// warmTiers has the file read once, and then what is asked for until it is in the
// page cache, or no more of it fits there.
func warmTiers(ctx context.Context, a *attempt, keys load.Keys) error {
	if a.peer.cold {
		if err := ask(ctx, http.MethodPost, a.peer.base+"/cache", nil, new(struct{})); err != nil {
			return err
		}
		a.peer.cold = false
	}
	o := readOrder{Keys: keys, Readers: warmReaders, Duration: 2 * patience}
	if keys.Distribution == "" && keys.N < int64(a.peer.keys) || a.peer.keys == smallTiers {
		o.Keys.Distribution, o.Reads = load.Scan, keys.N
		_, err := readTiers(ctx, a, o)
		return err
	}
	o.Duration = warmStep
	for began := time.Now(); time.Since(began) < patience; o.Seed++ {
		r, err := readTiers(ctx, a, o)
		if err != nil || uint64(r.MajorFaults)*1000 <= warmColdest*r.Reads {
			return err
		}
	}
	return nil
}

// readTiers has the process read.
func readTiers(ctx context.Context, a *attempt, o readOrder) (*readResult, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	r := new(readResult)
	return r, ask(ctx, http.MethodPost, a.peer.base+"/read", bytes.NewReader(text), r)
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
