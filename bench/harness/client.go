package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"

	"github.com/hotrow/hotrow/bench/load"
)

// ownClient is the generator of a peer that speaks no HTTP: a program of
// bench/peers.
const ownClient = "client"

// errNoClient is what a row has that asks for a client of a peer without one.
var errNoClient = errors.New("the peer has no client of its own")

// onceByClient measures one row once with the client that the peer names.
func (w *Fixture) onceByClient(
	ctx context.Context, p Placement, row *row, peer *Server, connections int,
) (*load.Result, error) {
	if peer.Client == nil {
		return nil, errNoClient
	}
	o := w.Opts
	ctx, cancel := context.WithTimeout(ctx, o.Warmup+o.Duration+Patience)
	defer cancel()
	args := append(peer.Client[:len(peer.Client):len(peer.Client)],
		"-clients", strconv.Itoa(connections), "-keys", strconv.Itoa(peer.Keys),
		"-warmup", o.Warmup.String(), "-time", o.Duration.String())
	if p == Pinned {
		args = append([]string{"taskset", "-c", "1"}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.SysProcAttr = ChildAttributes()
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("client of %s: %w: %s", peer.Name, err,
			bytes.TrimSpace(stderr.Bytes()))
	}
	result, err := parseClient(out.Bytes())
	if err != nil {
		return nil, err
	}
	result.Name, result.Connections = row.Name, connections
	return result, nil
}

// parseClient reads what the client says. It does not say what the server has
// used: its warm-up would be in it.
func parseClient(text []byte) (*load.Result, error) {
	var said struct {
		Answers, Failed              uint64
		Seconds, P50, P90, P99, P999 float64
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, err
	}
	if said.Answers == 0 || said.Seconds <= 0 {
		return nil, fmt.Errorf("no answers: %s", text)
	}
	r := &load.Result{Answers: said.Answers, Seconds: said.Seconds,
		Rate: float64(said.Answers) / said.Seconds, Reads: load.Summary{
			Count: said.Answers, P50: said.P50, P90: said.P90, P99: said.P99, P999: said.P999}}
	if said.Failed > 0 {
		r.Errors = map[string]uint64{"check": said.Failed}
	}
	return r, nil
}
