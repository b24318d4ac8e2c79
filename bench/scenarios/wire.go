package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/bench/wirebench"
)

// wireRows are the rows of gofast's table that a scenario is about, by the end of
// its name.
var wireRows = map[string]string{"posts": "^post", "requests": "^request", "streams": "^stream"}

// measureWire has bench wire make the runs of a scenario at one peer, in a process of
// its own.
func measureWire(
	ctx context.Context, w *harness.Fixture, a *harness.Attempt,
) ([]harness.Figure, error) {
	shape := a.Scenario.Name[strings.LastIndexByte(a.Scenario.Name, '-')+1:]
	args := []string{
		wirebench.Command, "-only", wireRows[shape], "-format", "json",
		"-duration", w.Opts.Duration.String(), "-warmup", w.Opts.Warmup.String(),
		"-grpc", filepath.Join(w.Tmp, "grpc-echo"),
		"-gofast", filepath.Join(w.Tmp, "gofast-perf"), a.Peer.Base,
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, self, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("bench wire: %w: %.300s", err, out)
	}
	var report struct {
		Results []struct {
			Row     string
			Rate    float64
			Latency struct {
				Mean float64 `json:"mean_us"`
			}
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, err
	}
	var all []harness.Figure
	for _, r := range report.Results {
		all = append(all, harness.FigureOf(r.Row+", /s", r.Rate))
		if shape == "requests" {
			all = append(all, harness.FigureOf(r.Row+", mean µs", r.Latency.Mean))
		}
	}
	return all, nil
}
