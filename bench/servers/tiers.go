package servers

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/bench/tiers"
)

// largeTiers is how many documents the large file has for each that -keys says: ten
// millions.
const largeTiers = 100

// memoryShare is the budget of the tier in memory, in bytes for each document: a
// fifteenth of all fit.
const memoryShare = 108

// withTiers adds the processes of the scenario about the disk to other peers.
func withTiers(all map[string]harness.Starter) map[string]harness.Starter {
	maps.Copy(all, map[string]harness.Starter{
		"tiers-small": startTiers(func(*harness.Options) int64 { return tiers.Small }),
		"tiers-large": startTiers(func(o *harness.Options) int64 {
			return int64(o.Keys) * largeTiers
		}),
	})
	return all
}

// startTiers makes the starter of a process with the two tiers. Their file is
// made if it is not there, which takes minutes, and stays for the next time.
func startTiers(documents func(*harness.Options) int64) harness.Starter {
	return func(
		ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
	) (*harness.Server, error) {
		work, err := filepath.Abs(w.Opts.Work)
		if err != nil {
			return nil, err
		}
		n := documents(w.Opts)
		o := tiers.Order{Documents: n, Memory: n * memoryShare,
			Path: filepath.Join(work, "tiers-"+strconv.FormatInt(n, 10)+".db")}
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		err = harness.Command(ctx, "", "nice", "-n", "19", self, tiers.Command, string(text))
		if err != nil {
			return nil, err
		}
		if o.Listen, _, err = harness.Loopback(); err != nil {
			return nil, err
		}
		if text, err = json.Marshal(o); err != nil {
			return nil, err
		}
		name := filepath.Base(dir)
		p, err := harness.Start(name, dir, on, self, tiers.Command, string(text))
		if err != nil {
			return nil, err
		}
		r := &harness.Server{Name: name, Base: "http://" + o.Listen, Main: p, Keys: int(n),
			Memory: o.Memory, Cold: true}
		if err := p.AwaitURL(ctx, r.Base+"/"); err != nil {
			p.Stop()
			return nil, err
		}
		return r, nil
	}
}
