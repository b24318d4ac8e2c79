package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/internal/demo"
)

// wirePeers are the servers of the scenarios 030 to 032. Their loads are made by
// bench wire, in a process of its own.
var wirePeers = map[string]harness.Starter{
	"hotrow-wire": startHotrowWire,
	"rawecho":     startRawEcho,
	"grpc":        startGRPC,
	"gofast":      startGofast,
}

// withWire adds the peers of this file to others.
func withWire(all map[string]harness.Starter) map[string]harness.Starter {
	for name, start := range wirePeers {
		all[name] = start
	}
	return all
}

// startHotrowWire starts hotrow with the messages of gofast's perf program on.
func startHotrowWire(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	address, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	web, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	db, config := filepath.Join(dir, "hotrow.db"), filepath.Join(dir, "hotrow.yaml")
	if err := copyFile(db, w.Db); err != nil {
		return nil, err
	}
	text := demo.YAML("sqlite:"+db) + fmt.Sprintf("http: {listen: %q}\nops: {listen: off}\n"+
		"wire: {listen: %q, perf: true}\nlog: {level: warn}\n", web, address)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p, err := harness.Start("hotrow-wire", dir, on, w.Hotrow, "serve", "-c", config)
	if err != nil {
		return nil, err
	}
	return newRunningTCP(ctx, p, "hotrow", address, harness.Accepts(address))
}

// startRawEcho starts the server of plain length-prefixed frames.
func startRawEcho(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	address, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	p, err := harness.Start("rawecho", dir, on, w.Programs+"rawecho", "-listen", address)
	if err != nil {
		return nil, err
	}
	return newRunningTCP(ctx, p, "raw", address, harness.Accepts(address))
}

// startGRPC builds gRPC-go's echo, which is a module of its own, and starts it.
func startGRPC(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	address, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	program := filepath.Join(w.Tmp, "grpc-echo")
	if err := harness.Command(ctx, "bench/peers/grpc", "go", "build", "-o", program,
		"."); err != nil {
		return nil, err
	}
	p, err := harness.Start("grpc", dir, on, program, "-listen", address)
	if err != nil {
		return nil, err
	}
	return newRunningTCP(ctx, p, "grpc", address, harness.Accepts(address))
}

// startGofast builds gofast's perf program and starts it as a server. It opens
// two ports more than the one that it is told, always the same ones, and ends
// with its input.
func startGofast(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	address, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	program := filepath.Join(w.Tmp, "gofast-perf")
	err = harness.Command(ctx, "interop/gofast", "go", "build", "-o", program,
		"github.com/bnclabs/gofast/perf")
	if err != nil {
		return nil, err
	}
	in, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p, err := harness.StartWith("gofast", dir, on, func(cmd *exec.Cmd) { cmd.Stdin = in }, program,
		"-s",
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
	r.Input = hold
	return r, nil
}

// newRunningTCP waits until a server that does not speak HTTP is ready.
func newRunningTCP(
	ctx context.Context, p *harness.Process, scheme, address string,
	ready func(context.Context) error,
) (*harness.Server, error) {
	if err := p.Await(ctx, ready); err != nil {
		p.Stop()
		return nil, err
	}
	return &harness.Server{Name: p.Name, Base: scheme + "://" + address, Main: p}, nil
}

// listens is accepts for gofast's program, which ends with a panic when somebody
// connects and says nothing.
func listens(p *harness.Process) func(context.Context) error {
	return func(context.Context) error {
		said, err := os.ReadFile(p.Log)
		if err == nil && !bytes.Contains(said, []byte("listening on")) {
			err = errors.New("it does not listen yet")
		}
		return err
	}
}
