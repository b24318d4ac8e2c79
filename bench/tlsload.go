package main

import (
	"context"
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
func (w *fixture) onceByTLSLoad(
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
	return w.onceBy(ctx, row, peer, connections, func(
		ctx context.Context, d time.Duration,
	) (*load.Result, error) {
		return w.runTLSLoad(ctx, program, p, peer, connections, d)
	})
}

// runTLSLoad runs it once.
func (w *fixture) runTLSLoad(
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
	return runGenerator(ctx, p, peer, parseFigures, program, to.Port(),
		strconv.Itoa(connections), strconv.FormatFloat(duration.Seconds(), 'f', 3, 64),
		strconv.FormatInt(w.runs, 10), strconv.FormatInt(peer.first, 10),
		strconv.Itoa(peer.keys), path)
}
