package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/load"
)

// tlsLoad is the generator of bench/peers/tlsload, on one core: a client of
// crypto/tls costs as much as the servers, and wrk takes three reads for a record.
const tlsLoad = "tlsload"

// onceByTLSLoad measures one row once with it. Answers are checked for their status
// and length.
func (w *workshop) onceByTLSLoad(
	ctx context.Context, p placement, row *row, peer *running, connections int,
) (*load.Result, error) {
	program := filepath.Join(w.tmp, tlsLoad)
	if !w.tlsload {
		err := command(ctx, "", "cc", "-O2", "-o", program, "bench/peers/tlsload/tlsload.c",
			"-lssl", "-lcrypto")
		if err != nil {
			return nil, err
		}
		w.tlsload = true
	}
	if w.opts.warmup > 0 {
		if _, err := w.runTLSLoad(ctx, program, p, peer, connections, w.opts.warmup); err != nil {
			return nil, err
		}
	}
	result, err := w.runTLSLoad(ctx, program, p, peer, connections, w.opts.duration)
	if err != nil {
		return nil, err
	}
	result.Name = row.Name
	return result, nil
}

// runTLSLoad runs it once.
func (w *workshop) runTLSLoad(
	ctx context.Context, program string, p placement, peer *running, connections int,
	duration time.Duration,
) (*load.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, duration+patience)
	defer cancel()
	to, err := url.Parse(peer.base)
	if err != nil {
		return nil, err
	}
	w.runs++
	path := strings.ReplaceAll(strings.TrimPrefix(peer.url, peer.base), "{n}", "%lu")
	args := []string{program, to.Port(), strconv.Itoa(connections),
		strconv.FormatFloat(duration.Seconds(), 'f', 3, 64), strconv.FormatInt(w.runs, 10),
		strconv.FormatInt(peer.first, 10), strconv.Itoa(peer.keys), path}
	if p == pinned {
		args = append([]string{"taskset", "-c", "1"}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.SysProcAttr = childAttributes()
	user, system, known := load.Used(peer.main.pid())
	out, err := cmd.Output()
	userAfter, systemAfter, knownAfter := load.Used(peer.main.pid())
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return nil, fmt.Errorf("%s: %w", tlsLoad, err)
	}
	result, err := parseTLSLoad(out)
	if err != nil {
		return nil, err
	}
	result.Connections, result.Pipeline, result.URL = connections, 1, peer.url
	if known && knownAfter {
		result.Server = cpuOf(userAfter-user, systemAfter-system, result)
	}
	used := cmd.ProcessState
	result.Client = cpuOf(used.UserTime(), used.SystemTime(), result)
	return result, nil
}

// parseTLSLoad reads what it prints.
func parseTLSLoad(out []byte) (*load.Result, error) {
	var said struct {
		Answers, Failed uint64
		Seconds         float64
		P50             float64 `json:"p50_us"`
		P90             float64 `json:"p90_us"`
		P99             float64 `json:"p99_us"`
		P999            float64 `json:"p999_us"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return nil, fmt.Errorf("%s printed %.200q: %w", tlsLoad, out, err)
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
