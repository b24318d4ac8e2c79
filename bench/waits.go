package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// laneWaiting makes the starter of a lane whose loops wait in a way that is
// named. All but hotrow's own are in the tests of internal/lane, so the server
// is its test binary.
func laneWaiting(wait, misses string) starter {
	return func(ctx context.Context, w *workshop, on placement, dir string) (*running, error) {
		work, err := filepath.Abs(w.opts.work)
		if err != nil {
			return nil, err
		}
		program := filepath.Join(work, "lane.test")
		if err := w.buildLane(ctx, program); err != nil {
			return nil, err
		}
		address, _, err := loopback()
		if err != nil {
			return nil, err
		}
		name := "lane-" + wait + misses
		p, err := startWith(name, dir, on, func(cmd *exec.Cmd) {
			cmd.Env = append(os.Environ(), "LANE_BENCH_WAIT="+wait, "LANE_BENCH_LISTEN="+address,
				"LANE_BENCH_MISSES="+misses)
		}, program, "-test.run=^TestBench_ServeWaiting$", "-test.timeout=0")
		if err != nil {
			return nil, err
		}
		return newRunning(ctx, p, address, laneDocuments, "")
	}
}

// laneDocuments is how many documents that server has.
const laneDocuments = 10_000

// buildLane builds the test binary, once.
func (w *workshop) buildLane(ctx context.Context, program string) error {
	if w.laneBuilt {
		return nil
	}
	err := command(ctx, "", "go", "test", "-c", "-o", program, "./internal/lane")
	w.laneBuilt = err == nil
	return err
}
