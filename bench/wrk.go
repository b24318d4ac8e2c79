package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/demo"
	"github.com/hotrow/hotrow/internal/load"
)

// The generators that a row may name. wrk speaks TLS at less cost than a client
// of crypto/tls, and is what ours is compared with.
const (
	ours      = "hotrow"
	wrk       = "wrk"         // random keys, requests made beforehand
	wrkOneKey = "wrk one key" // no script
)

// wrkScript makes wrk ask for random keys: %d is the first, %d how many, %s the
// path. The requests are made once, since making them costs more than sending.
const wrkScript = `local requests = {}
init = function()
	math.randomseed(%[4]d)
	for i = 1, 10000 do
		local key = %[1]d + math.random(0, %[2]d - 1)
		requests[i] = wrk.format("GET", (string.gsub("%[3]s", "{n}", tostring(key))))
	end
end
local at = 0
request = function()
	at = at %% 10000 + 1
	return requests[at]
end
`

// onceByWrk measures one row once with wrk. Its answers are not checked.
func (w *workshop) onceByWrk(
	ctx context.Context, p placement, row *row, peer *running, connections int,
) (*load.Result, error) {
	program, err := look(wrk)
	if err != nil {
		return nil, err
	}
	return w.onceBy(ctx, row, peer, connections, func(
		ctx context.Context, d time.Duration,
	) (*load.Result, error) {
		return w.runWrk(ctx, program, p, row, peer, connections, d)
	})
}

// runWrk runs wrk once.
func (w *workshop) runWrk(
	ctx context.Context, program string, p placement, row *row, peer *running, connections int,
	duration time.Duration,
) (*load.Result, error) {
	seconds := max(int(duration.Round(time.Second)/time.Second), 1) // it takes whole ones
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+patience/2)
	defer cancel()
	cores := threads(free)
	if p == pinned {
		cores = 1
	}
	args := []string{program, "-t" + strconv.Itoa(cores), "-c" + strconv.Itoa(connections),
		"-d" + strconv.Itoa(seconds) + "s", "--latency", "--timeout", "10s"}
	url := peer.firstURL()
	for _, h := range row.Header {
		args = append(args, "-H", h)
	}
	if row.Generator == wrk {
		script, err := w.wrkScript(peer)
		if err != nil {
			return nil, err
		}
		args = append(args, "-s", script)
	}
	return runGenerator(ctx, p, peer, parseWrk, append(args, url)...)
}

// wrkScript writes the script for a peer.
func (w *workshop) wrkScript(peer *running) (string, error) {
	w.runs++
	_, path, _ := strings.Cut(strings.TrimPrefix(peer.url, peer.base), "/")
	file := filepath.Join(w.tmp, "keys.lua")
	text := fmt.Sprintf(wrkScript, demo.FirstDept, peer.keys, "/"+path, w.runs)
	return file, os.WriteFile(file, []byte(text), 0o600)
}

var (
	wrkTotal   = regexp.MustCompile(`(\d+) requests in ([\d.]+)(us|ms|s|m)`)
	wrkLatency = regexp.MustCompile(`(?m)^\s+(50|75|90|99)%\s+([\d.]+)(us|ms|s|m)$`)
	wrkFailed  = regexp.MustCompile(`(Non-2xx or 3xx responses|connect|read|write|timeout):? (\d+)`)
)

// parseWrk reads what wrk prints.
func parseWrk(out []byte) (*load.Result, error) {
	total := wrkTotal.FindSubmatch(out)
	if total == nil {
		return nil, fmt.Errorf("wrk says nothing of requests: %.400s", out)
	}
	n, err := strconv.ParseUint(string(total[1]), 10, 64)
	took, tookErr := wrkTime(total[2], total[3])
	if err := errors.Join(err, tookErr); err != nil {
		return nil, err
	}
	r := &load.Result{Answers: n, Seconds: took / 1e6, Rate: float64(n) / (took / 1e6)}
	r.Reads.Count = n
	quantiles := map[string]*float64{
		"50": &r.Reads.P50, "75": new(float64), "90": &r.Reads.P90, "99": &r.Reads.P99,
	}
	for _, m := range wrkLatency.FindAllSubmatch(out, -1) {
		if *quantiles[string(m[1])], err = wrkTime(m[2], m[3]); err != nil {
			return nil, err
		}
	}
	for _, m := range wrkFailed.FindAllSubmatch(out, -1) {
		count, err := strconv.ParseUint(string(m[2]), 10, 64)
		if err != nil {
			return nil, err
		}
		if count > 0 {
			if r.Errors == nil {
				r.Errors = map[string]uint64{}
			}
			r.Errors[string(m[1])] += count
		}
	}
	return r, nil
}

// wrkTime returns a time in µs.
func wrkTime(number, unit []byte) (float64, error) {
	v, err := strconv.ParseFloat(string(number), 64)
	return v * map[string]float64{"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6}[string(unit)], err
}
