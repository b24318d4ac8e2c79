package wirebench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/bench/load"
)

// RunGRPC has the program of bench/peers/grpc make a run at a server.
func RunGRPC(
	ctx context.Context, program, address string, row Row, warmup, duration time.Duration,
) (Result, error) {
	out, err := output(ctx, program, "-target", address, "-kind", string(row.Shape),
		"-connections", strconv.Itoa(row.Connections), "-routines", strconv.Itoa(row.Routines),
		"-payload", strconv.Itoa(row.Payload+echoHead), "-messages", strconv.Itoa(row.Messages),
		"-warmup", warmup.String(), "-duration", duration.String())
	if err != nil {
		return Result{}, err
	}
	var said struct {
		Messages uint64
		Seconds  float64
		load.Summary
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return Result{}, fmt.Errorf("%s has said %.100q: %w", program, out, err)
	}
	return Result{
		Row: row.Name, Messages: said.Messages, Seconds: said.Seconds, Latency: said.Summary,
		Rate: float64(said.Messages) / said.Seconds,
	}, nil
}

// output runs a program and returns what it prints.
func output(ctx context.Context, program string, args ...string) ([]byte, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		said := stderr.Bytes()
		return nil, fmt.Errorf("%s: %w: %s", program, err, said[max(0, len(said)-500):])
	}
	return out, nil
}

// What gofast's perf program prints.
var (
	statsLine   = regexp.MustCompile(`"(n_tx[a-z]+)":(\d+)`)
	meanLatency = regexp.MustCompile(`Latency Average: (\S+)`)
)

// How gofast's perf program is made to run long enough: it is told a count.
const (
	firstCount  = 20_000 // operations of the first attempt
	leastTime   = 1100 * time.Millisecond
	maxAttempts = 6
	perfBuffer  = "2048"
)

// RunGofast has gofast's own perf program make a run at a server. The program
// takes a number of operations and not a time, and refuses to say anything about
// less than a second: it is run again with more until it takes long enough. Its
// seconds are those of the process.
func RunGofast(
	ctx context.Context, program, address string, row Row, duration time.Duration,
) (Result, error) {
	count := firstCount
	if row.Shape == Stream {
		count = max(row.Routines, firstCount/row.Messages)
	}
	for range maxAttempts {
		took, out, err := runPerf(ctx, program, address, row, count)
		if err != nil && (took >= leastTime || took == 0) {
			return Result{}, err
		}
		if err == nil && took >= duration*9/10 {
			return perfResult(row, took, out)
		}
		more := 1.15 * duration.Seconds() / max(took.Seconds(), 0.02)
		count = int(float64(count)*min(more, 50)) + row.Routines
	}
	return Result{}, errors.New("gofast's perf does not run long enough, whatever the count")
}

// runPerf runs the program once. Its counts are those of a connection.
func runPerf(
	ctx context.Context, program, address string, row Row, count int,
) (took time.Duration, out []byte, err error) {
	do := string(row.Shape)
	if row.Shape == Stream {
		do = "streamtx"
	}
	begin := time.Now()
	out, err = output(ctx, program, "-c", "-addr", address, "-do", do, "-count",
		strconv.Itoa(max(count/row.Connections, row.Routines)), "-conns",
		strconv.Itoa(row.Connections), "-routines", strconv.Itoa(row.Routines), "-batchsize",
		strconv.Itoa(row.Batch), "-payload", strconv.Itoa(row.Payload), "-stream",
		strconv.Itoa(max(row.Messages, 1)), "-buffersize", perfBuffer)
	if err != nil && ctx.Err() != nil {
		return 0, nil, ctx.Err()
	}
	return time.Since(begin), out, err
}

// perfResult reads what the program has printed.
func perfResult(row Row, took time.Duration, out []byte) (Result, error) {
	res := Result{Row: row.Name, Seconds: took.Seconds()}
	counters := map[Shape][]string{
		Post: {"n_txpost"}, Request: {"n_txreq"}, Stream: {"n_txstart", "n_txstream"},
	}[row.Shape]
	for _, match := range statsLine.FindAllSubmatch(out, -1) {
		for _, name := range counters {
			if string(match[1]) == name {
				n, err := strconv.ParseUint(string(match[2]), 10, 64)
				if err != nil {
					return res, err
				}
				res.Messages += n
			}
		}
	}
	if match := meanLatency.FindSubmatch(out); match != nil {
		mean, err := time.ParseDuration(string(match[1]))
		if err != nil {
			return res, err
		}
		res.Latency.Mean = float64(mean) / float64(time.Microsecond)
	}
	if res.Messages == 0 {
		return res, fmt.Errorf("gofast's perf has said no counts: %.200q", out)
	}
	res.Rate = float64(res.Messages) / res.Seconds
	return res, nil
}
