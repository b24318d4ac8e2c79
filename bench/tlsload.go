package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
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
	return w.onceBy(ctx, row, func(ctx context.Context, d time.Duration) (*load.Result, error) {
		return w.runTLSLoad(ctx, program, p, peer, connections, d)
	})
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
	result, err := runGenerator(ctx, p, peer, parseTLSLoad, program, to.Port(),
		strconv.Itoa(connections), strconv.FormatFloat(duration.Seconds(), 'f', 3, 64),
		strconv.FormatInt(w.runs, 10), strconv.FormatInt(peer.first, 10),
		strconv.Itoa(peer.keys), path)
	if err != nil {
		return nil, err
	}
	result.Connections, result.Pipeline, result.URL = connections, 1, peer.url
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
