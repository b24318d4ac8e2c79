package harness

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/bench/load"
)

// h2Load is nghttp2's generator: HTTP/2, over TLS where the URL says so. It has one core.
const h2Load = "h2load"

// h2First is how many requests tell a first rate, from which the number is that takes a time.
const h2First = 10_000

// h2Keys is how many documents it asks for at most, in an order of its own.
const h2Keys = 1000

// onceByH2Load measures one row once with it: as fast as it can, or as often as offered
// says; then the time of every answer is known.
func (w *Fixture) onceByH2Load(
	ctx context.Context, p Placement, row *row, peer *Server, connections int, offered float64,
) (*load.Result, error) {
	program, err := Look(h2Load)
	if err != nil {
		return nil, err
	}
	list, err := w.h2List(row, peer)
	if err != nil {
		return nil, err
	}
	args := []string{program, "-c", strconv.Itoa(connections),
		"-m", strconv.Itoa(max(1, row.streams[connections])), "-i", list}
	times := filepath.Join(w.Tmp, "h2load.times")
	if offered > 0 {
		args = append(args, "--rps", strconv.FormatFloat(offered/float64(connections), 'f', 1, 64),
			"--log-file", times)
	}
	rate := offered // of what is to come: h2load counts requests, for by time it may hang
	once := func(ctx context.Context, d time.Duration) (*load.Result, error) {
		ctx, cancel := context.WithTimeout(ctx, d+Patience)
		defer cancel()
		_ = os.Remove(times)
		n := max(h2First, int(rate*d.Seconds()))
		all := append(args[:len(args):len(args)], "-n", strconv.Itoa(n))
		r, err := RunGenerator(ctx, p, peer, parseH2Load, all...)
		if err != nil {
			return nil, err
		}
		if offered > 0 {
			return r, readH2Times(r, times)
		}
		rate = r.Rate
		return r, nil
	}
	return w.onceBy(ctx, row, peer, connections, func(
		ctx context.Context, d time.Duration,
	) (*load.Result, error) {
		for { // handshakes make the rate of few requests too low
			r, err := once(ctx, d)
			if err != nil || offered > 0 || 2*r.Seconds >= d.Seconds() {
				return r, err
			}
		}
	})
}

// h2List writes the URLs that a row asks for, and returns the file.
func (w *Fixture) h2List(row *row, peer *Server) (string, error) {
	base := peer.Base
	if len(peer.Others) > 0 { // HTTP/2 without TLS is elsewhere
		base = peer.Others[0]
	}
	path := row.Path
	SetDefault(&path, strings.TrimPrefix(peer.URL, peer.Base))
	var text bytes.Buffer
	n := min(peer.Keys, h2Keys)
	if !strings.Contains(path, "{n}") {
		n = 1
	}
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		key := strconv.FormatInt(peer.first+int64(i), 10)
		text.WriteString(base + strings.ReplaceAll(path, "{n}", key) + "\n")
	}
	file := filepath.Join(w.Tmp, "h2load.urls")
	return file, os.WriteFile(file, text.Bytes(), 0o600)
}

var (
	h2Finished = regexp.MustCompile(`finished in ([\d.]+)(us|ms|s|m), `)
	h2Requests = regexp.MustCompile(
		`requests: \d+ total, \d+ started, \d+ done, (\d+) succeeded, (\d+) failed, (\d+) errored`)
	h2Statuses = regexp.MustCompile(`status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx`)
)

// parseH2Load reads what it prints.
func parseH2Load(out []byte) (*load.Result, error) {
	took, requests := h2Finished.FindSubmatch(out), h2Requests.FindSubmatch(out)
	statuses := h2Statuses.FindSubmatch(out)
	if took == nil || requests == nil || statuses == nil {
		return nil, fmt.Errorf("h2load says nothing of requests: %.600s", out)
	}
	µs, err := wrkTime(took[1], took[2])
	var numbers []uint64
	for _, text := range slices.Concat(requests[1:], statuses[1:]) {
		n, e := strconv.ParseUint(string(text), 10, 64)
		numbers, err = append(numbers, n), errors.Join(err, e)
	}
	if err != nil {
		return nil, err
	}
	r := &load.Result{Answers: numbers[3], Seconds: µs / 1e6, Rate: float64(numbers[3]) / µs * 1e6}
	r.Reads.Count = r.Answers
	if bad := numbers[4] + numbers[5] + numbers[6]; bad > 0 {
		r.Errors = map[string]uint64{"not 2xx": bad}
	}
	if r.Answers == 0 {
		return nil, fmt.Errorf("h2load got no answer: %.600s", out)
	}
	return r, nil
}

// readH2Times reads the quantiles of what it has logged: a line for each answer, with the
// µs at which its request was sent, its status, and the µs that it took. The first fifth of
// the time is that of handshakes, too, and does not count.
func readH2Times(r *load.Result, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	var begun, took []float64
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			return fmt.Errorf("h2load's log: %q", lines.Text())
		}
		at, err := strconv.ParseFloat(fields[0], 64)
		v, err2 := strconv.ParseFloat(fields[2], 64)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		begun, took = append(begun, at), append(took, v)
	}
	if len(took) == 0 {
		return errors.Join(errors.New("h2load's log is empty"), lines.Err())
	}
	from := slices.Min(begun) + (slices.Max(begun)-slices.Min(begun))/5
	var all []float64
	for i, v := range took {
		if begun[i] >= from {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	at := func(q float64) float64 { return all[min(len(all)-1, int(q*float64(len(all))))] }
	r.Reads.P50, r.Reads.P90, r.Reads.P99, r.Reads.P999 = at(.5), at(.9), at(.99), at(.999)
	return lines.Err()
}
