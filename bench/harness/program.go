package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/bench/load"
)

// program is the generator that is a program with an ordinary client library of its
// language: bench/programs.
const program = "program"

// programsDir is where scripts/install-bench-programs puts what programs need.
const programsDir = "build/programs"

// onceByProgram measures one row once with a program. It makes connections as its client
// does for so many callers, and warms itself up: what a program runs is compiled meanwhile.
func (w *Fixture) onceByProgram(
	ctx context.Context, p Placement, row *row, peer *Server, callers int,
) (*load.Result, error) {
	words := strings.Fields(row.Program) // language, client, scheme: see row.validate
	installed := filepath.Join(programsDir, "installed")
	if _, err := os.Stat(installed); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: the programs (scripts/install-bench-programs installs them)",
			ErrMissing)
	}
	url, err := peer.baseOf(words[2])
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, w.Opts.Warmup+w.Opts.Duration+Patience)
	defer cancel()
	seconds := func(d time.Duration) string {
		return strconv.FormatFloat(d.Seconds(), 'f', 3, 64)
	}
	var client *load.CPU
	var measured uint64
	parse := func(out []byte) (*load.Result, error) {
		r, all, err := parseProgram(out)
		if err == nil { // what the server has used is for all of them
			client, measured, r.Answers = r.Client, r.Answers, all
		}
		return r, err
	}
	result, err := RunGenerator(ctx, p, peer, parse, "bench/programs/run", words[0], words[1],
		url, strconv.FormatInt(peer.first, 10), strconv.Itoa(peer.Keys), strconv.Itoa(callers),
		seconds(w.Opts.Warmup), seconds(w.Opts.Duration))
	if err != nil {
		return nil, err
	}
	result.Client, result.Answers = client, measured
	if c := result.Server; c != nil {
		c.Cores = c.Total * float64(measured) / 1e6 / result.Seconds
	}
	result.Name, result.Connections, result.Pipeline, result.URL = row.Name, callers, 1, url
	return result, nil
}

// baseOf returns where the server is asked by a scheme.
func (r *Server) baseOf(scheme string) (string, error) {
	for _, base := range append([]string{r.Base}, r.Others...) {
		if strings.HasPrefix(base, scheme+"://") {
			return base, nil
		}
	}
	return "", fmt.Errorf("%s has no %s://", r.Name, scheme)
}

// parseProgram reads what a program prints: the answers that were measured, what it has
// used itself for them, quantiles of their times in µs, and how many there were in all.
func parseProgram(out []byte) (r *load.Result, all uint64, err error) {
	if r, err = parseFigures(out); err != nil {
		return nil, 0, err
	}
	var said struct {
		All    uint64
		User   float64 `json:"user_us"`
		System float64 `json:"system_us"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return nil, 0, fmt.Errorf("printed %.200q: %w", out, err)
	}
	if r.Answers == 0 || said.All < r.Answers {
		return nil, 0, fmt.Errorf("printed %.200q: no answers", out)
	}
	micros := func(us float64) time.Duration { return time.Duration(us * 1e3) }
	r.Client = cpuOf(micros(said.User), micros(said.System), r)
	return r, said.All, nil
}
