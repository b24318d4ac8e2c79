package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hotrow/hotrow/internal/demo"
)

// wirePeers are the servers of the scenarios 030 to 032. Their loads are made by
// hotrow bench wire, in a process of its own.
var wirePeers = map[string]starter{
	"hotrow-wire": startHotrowWire,
	"rawecho":     startRawEcho,
	"grpc":        startGRPC,
	"gofast":      startGofast,
}

// withWire adds the peers of this file to others.
func withWire(all map[string]starter) map[string]starter {
	for name, start := range wirePeers {
		all[name] = start
	}
	return all
}

// wireRows are the rows of gofast's table that a scenario is about, by the end of
// its name.
var wireRows = map[string]string{"posts": "^post", "requests": "^request", "streams": "^stream"}

// measureWire has hotrow bench wire make the runs of a scenario at one peer.
func measureWire(ctx context.Context, w *fixture, a *attempt) ([]figure, error) {
	shape := a.scenario.Name[strings.LastIndexByte(a.scenario.Name, '-')+1:]
	args := []string{
		"bench", "wire", a.peer.base, "--only", wireRows[shape], "--format", "json",
		"--duration", w.opts.duration.String(), "--warmup", w.opts.warmup.String(),
		"--grpc", filepath.Join(w.tmp, "grpc-echo"),
		"--gofast", filepath.Join(w.tmp, "gofast-perf"),
	}
	out, err := exec.CommandContext(ctx, w.hotrow, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("hotrow bench wire: %w: %.300s", err, out)
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
	var all []figure
	for _, r := range report.Results {
		all = append(all, figure{r.Row + ", /s", r.Rate})
		if shape == "requests" {
			all = append(all, figure{r.Row + ", mean µs", r.Latency.Mean})
		}
	}
	return all, nil
}

// startHotrowWire starts hotrow with the messages of gofast's perf program on.
func startHotrowWire(ctx context.Context, w *fixture, on placement, dir string) (*running, error) {
	address, _, err := loopback()
	if err != nil {
		return nil, err
	}
	web, _, err := loopback()
	if err != nil {
		return nil, err
	}
	db, config := filepath.Join(dir, "hotrow.db"), filepath.Join(dir, "hotrow.yaml")
	if err := copyFile(db, w.db); err != nil {
		return nil, err
	}
	text := demo.YAML("sqlite:"+db) + fmt.Sprintf("http: {listen: %q}\nops: {listen: off}\n"+
		"wire: {listen: %q, perf: true}\nlog: {level: warn}\n", web, address)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p, err := start("hotrow-wire", dir, on, w.hotrow, "serve", "-c", config)
	if err != nil {
		return nil, err
	}
	return newRunningTCP(ctx, p, "hotrow", address, accepts(address))
}

// startRawEcho starts the server of plain length-prefixed frames.
func startRawEcho(ctx context.Context, w *fixture, on placement, dir string) (*running, error) {
	address, _, err := loopback()
	if err != nil {
		return nil, err
	}
	p, err := start("rawecho", dir, on, w.peers+"rawecho", "-listen", address)
	if err != nil {
		return nil, err
	}
	return newRunningTCP(ctx, p, "raw", address, accepts(address))
}

// startGRPC builds gRPC-go's echo, which is a module of its own, and starts it.
func startGRPC(ctx context.Context, w *fixture, on placement, dir string) (*running, error) {
	address, _, err := loopback()
	if err != nil {
		return nil, err
	}
	program := filepath.Join(w.tmp, "grpc-echo")
	if err := command(ctx, "bench/peers/grpc", "go", "build", "-o", program, "."); err != nil {
		return nil, err
	}
	p, err := start("grpc", dir, on, program, "-listen", address)
	if err != nil {
		return nil, err
	}
	return newRunningTCP(ctx, p, "grpc", address, accepts(address))
}

// startGofast builds gofast's perf program and starts it as a server. It opens
// two ports more than the one that it is told, always the same ones, and ends
// with its input.
func startGofast(ctx context.Context, w *fixture, on placement, dir string) (*running, error) {
	address, _, err := loopback()
	if err != nil {
		return nil, err
	}
	program := filepath.Join(w.tmp, "gofast-perf")
	err = command(ctx, "interop/gofast", "go", "build", "-o", program,
		"github.com/bnclabs/gofast/perf")
	if err != nil {
		return nil, err
	}
	in, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p, err := startWith("gofast", dir, on, func(cmd *exec.Cmd) { cmd.Stdin = in }, program, "-s",
		"-addr", address)
	_ = in.Close()
	if err != nil {
		_ = hold.Close()
		return nil, err
	}
	r, err := newRunningTCP(ctx, p, "gofast", address, listens(p))
	if err != nil {
		_ = hold.Close()
		return nil, err
	}
	r.input = hold
	return r, nil
}

// newRunningTCP waits until a server that does not speak HTTP is ready.
func newRunningTCP(
	ctx context.Context, p *process, scheme, address string, ready func(context.Context) error,
) (*running, error) {
	if err := p.await(ctx, ready); err != nil {
		p.stop()
		return nil, err
	}
	return &running{name: p.name, base: scheme + "://" + address, main: p}, nil
}

// listens is accepts for gofast's program, which ends with a panic when somebody
// connects and says nothing.
func listens(p *process) func(context.Context) error {
	return func(context.Context) error {
		said, err := os.ReadFile(p.log)
		if err == nil && !bytes.Contains(said, []byte("listening on")) {
			err = errors.New("it does not listen yet")
		}
		return err
	}
}

// closeInput ends a peer that ends with its input.
func closeInput(c io.Closer) {
	if c != nil {
		_ = c.Close()
	}
}
