package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// A load is what is measured.
type load struct {
	target, kind          string
	connections, routines int
	payload, messages     int
	duration, warmup      time.Duration
}

// A result is what is printed. Latencies are those of a request, of a whole
// stream, or of handing a post over.
type result struct {
	Messages uint64  `json:"messages"`
	Seconds  float64 `json:"seconds"`
	Mean     float64 `json:"mean_us"`
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`
	P999     float64 `json:"p999_us"`
	Max      float64 `json:"max_us"`
}

// A routine is one caller, and what it has counted in the measured time.
type routine struct {
	load      *load
	conn      *grpc.ClientConn
	measuring *atomic.Bool
	messages  uint64
	latencies []int64 // ns; one in sampled of posts
}

// sampled is how many posts there are to a latency that is kept.
const sampled = 64

// run measures and prints.
func (l *load) run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all []*routine
	var measuring atomic.Bool
	for range l.connections {
		conn, err := grpc.NewClient("passthrough:///"+l.target,
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(plain{})))
		if err != nil {
			return err
		}
		defer conn.Close()
		for range l.routines {
			all = append(all, &routine{load: l, conn: conn, measuring: &measuring})
		}
	}
	errs := make(chan error, len(all))
	var done sync.WaitGroup
	for _, r := range all {
		done.Go(func() { errs <- r.loop(ctx) })
	}
	begin, end := time.After(l.warmup), time.After(l.warmup+l.duration)
	var from time.Time
	var elapsed time.Duration
	for elapsed == 0 {
		select {
		case err := <-errs:
			return fmt.Errorf("a routine has ended: %w", err)
		case <-begin:
			from = time.Now()
			measuring.Store(true)
		case <-end:
			measuring.Store(false)
			elapsed = time.Since(from)
		}
	}
	cancel()
	done.Wait()
	return json.NewEncoder(out).Encode(summary(all, elapsed))
}

// loop does the same again and again until ctx ends.
func (r *routine) loop(ctx context.Context) error {
	data := make([]byte, r.load.payload)
	for ctx.Err() == nil {
		var err error
		switch r.load.kind {
		case "request":
			err = r.request(ctx, data)
		case "stream":
			err = r.stream(ctx, data)
		case "post":
			err = r.posts(ctx, data)
		default:
			err = fmt.Errorf("there is no kind %q", r.load.kind)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return ctx.Err()
}

// count counts n messages that took as long as it is since begin.
func (r *routine) count(n int, begin time.Time) {
	if r.measuring.Load() {
		r.messages += uint64(n)
		r.latencies = append(r.latencies, int64(time.Since(begin)))
	}
}

func (r *routine) request(ctx context.Context, data []byte) error {
	begin := time.Now()
	var answer []byte
	if err := r.conn.Invoke(ctx, echoMethod, &data, &answer); err != nil {
		return err
	}
	r.count(1, begin)
	return nil
}

// stream sends a whole stream and waits for its end.
func (r *routine) stream(ctx context.Context, data []byte) error {
	begin := time.Now()
	s, err := r.conn.NewStream(ctx, &description.Streams[0], streamMethod)
	if err != nil {
		return err
	}
	for range r.load.messages {
		if err := s.SendMsg(&data); err != nil {
			return err
		}
		// Long streams are counted as they go.
		if r.measuring.Load() {
			r.messages++
		}
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	var answer []byte
	if err := s.RecvMsg(&answer); err != nil {
		return err
	}
	r.count(0, begin)
	return nil
}

// posts sends messages of one stream that does not end.
func (r *routine) posts(ctx context.Context, data []byte) error {
	s, err := r.conn.NewStream(ctx, &description.Streams[0], streamMethod)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		begin := time.Time{}
		if i%sampled == 0 {
			begin = time.Now()
		}
		if err := s.SendMsg(&data); err != nil {
			return err
		}
		if !r.measuring.Load() {
			continue
		}
		r.messages++
		if i%sampled == 0 {
			r.latencies = append(r.latencies, int64(time.Since(begin)))
		}
	}
}

// summary adds up what the routines have counted.
func summary(all []*routine, elapsed time.Duration) result {
	res := result{Seconds: elapsed.Seconds()}
	var latencies []int64
	sum := 0.0
	for _, r := range all {
		res.Messages += r.messages
		latencies = append(latencies, r.latencies...)
	}
	slices.Sort(latencies)
	for _, ns := range latencies {
		sum += float64(ns)
	}
	n := len(latencies)
	if n == 0 {
		return res
	}
	at := func(q float64) float64 { return float64(latencies[min(int(q*float64(n)), n-1)]) / 1e3 }
	res.Mean = sum / float64(n) / 1e3
	res.P50, res.P99, res.P999, res.Max = at(0.5), at(0.99), at(0.999), at(1)
	return res
}
