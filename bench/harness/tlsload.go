package harness

import (
	"context"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/bench/load"
)

// tlsLoad is the generator of bench/peers/tlsload, on one core: a client of
// crypto/tls costs as much as the servers, and wrk takes three reads for a record.
const tlsLoad = "tlsload"

// onceByTLSLoad measures one row once with it. Answers are checked for their status
// and length.
func (w *Fixture) onceByTLSLoad(
	ctx context.Context, p Placement, row *row, peer *Server, connections int,
) (*load.Result, error) {
	program := filepath.Join(w.Tmp, tlsLoad)
	if !w.tlsload {
		err := Command(ctx, "", "cc", "-O2", "-o", program, "bench/peers/tlsload/tlsload.c",
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
func (w *Fixture) runTLSLoad(
	ctx context.Context, program string, p Placement, peer *Server, connections int,
	duration time.Duration,
) (*load.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, duration+Patience)
	defer cancel()
	to, err := url.Parse(peer.Base)
	if err != nil {
		return nil, err
	}
	w.Runs++
	path := strings.ReplaceAll(strings.TrimPrefix(peer.URL, peer.Base), "{n}", "%lu")
	return RunGenerator(ctx, p, peer, parseFigures, program, to.Port(),
		strconv.Itoa(connections), strconv.FormatFloat(duration.Seconds(), 'f', 3, 64),
		strconv.FormatInt(w.Runs, 10), strconv.FormatInt(peer.first, 10),
		strconv.Itoa(peer.Keys), path)
}
