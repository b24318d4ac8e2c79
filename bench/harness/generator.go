package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hotrow/hotrow/bench/load"
)

// A generation is one way to run a generator that is not ours for some time.
type generation func(ctx context.Context, duration time.Duration) (*load.Result, error)

// onceBy measures one row once, after a warm-up.
func (w *Fixture) onceBy(
	ctx context.Context, row *row, peer *Server, connections int, run generation,
) (*load.Result, error) {
	if w.Opts.Warmup > 0 {
		if _, err := run(ctx, w.Opts.Warmup); err != nil {
			return nil, err
		}
	}
	result, err := run(ctx, w.Opts.Duration)
	if err != nil {
		return nil, err
	}
	result.Name = row.Name
	result.Connections, result.Pipeline, result.URL = connections, 1, peer.URL
	return result, nil
}

// RunGenerator runs a generator that is not ours where the placement says. The result is
// what parse makes of what it prints, with what the peer and the generator have cost.
func RunGenerator(
	ctx context.Context, on Placement, peer *Server,
	parse func([]byte) (*load.Result, error), args ...string,
) (*load.Result, error) {
	name := filepath.Base(args[0])
	if on == Pinned { // beside the server, which is then what is measured
		args = append([]string{"taskset", "-c", "1"}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.SysProcAttr = ChildAttributes()
	var said, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &failure
	user, system, known := load.Used(peer.Main.pid())
	err := cmd.Run()
	userAfter, systemAfter, knownAfter := load.Used(peer.Main.pid())
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s%s", name, err, said.Bytes(), failure.Bytes())
	}
	result, err := parse(said.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if known && knownAfter {
		result.Server = cpuOf(userAfter-user, systemAfter-system, result)
	}
	used := cmd.ProcessState
	result.Client = cpuOf(used.UserTime(), used.SystemTime(), result)
	return result, nil
}

// parseFigures reads what generators of our own print: answers, failed and seconds, and
// quantiles of the times of answers in µs.
func parseFigures(out []byte) (*load.Result, error) {
	var said struct {
		Answers, Failed uint64
		Seconds         float64
		P50             float64 `json:"p50_us"`
		P90             float64 `json:"p90_us"`
		P99             float64 `json:"p99_us"`
		P999            float64 `json:"p999_us"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return nil, fmt.Errorf("printed %.200q: %w", out, err)
	}
	r := &load.Result{
		Answers: said.Answers, Seconds: said.Seconds, Rate: float64(said.Answers) / said.Seconds,
	}
	r.Reads.Count, r.Reads.P50, r.Reads.P90 = said.Answers, said.P50, said.P90
	r.Reads.P99, r.Reads.P999 = said.P99, said.P999
	if said.Failed > 0 {
		r.Errors = map[string]uint64{"not 200": said.Failed}
	}
	return r, nil
}

// cpuOf returns what the answers of a result have cost.
func cpuOf(user, system time.Duration, r *load.Result) *load.CPU {
	n := float64(max(r.Answers, 1))
	c := &load.CPU{
		User:   float64(user.Nanoseconds()) / 1e3 / n,
		System: float64(system.Nanoseconds()) / 1e3 / n,
	}
	c.Total = c.User + c.System
	c.Cores = c.Total * n / 1e6 / r.Seconds
	return c
}
