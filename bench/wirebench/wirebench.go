// Package wirebench makes the runs that gofast's authors published at servers of
// several protocols, and puts the figures side by side: one-way messages,
// requests and streams, from one caller to many callers on many connections.
//
// A protocol that is written in Go and small takes part with a Dial; others,
// with a program of their own that is started for each run (see Program). Who
// serves is for the caller to start. Time is real time, in contrast to gofast's
// own tool, which divides by whole seconds.
package wirebench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/bench/load"
	"github.com/hotrow/hotrow/client/wire/rows"
)

// Command is the first argument with which the bench makes gofast's published runs at a server.
const Command = "wire"

// echoHead is what a message has before its payload.
const echoHead = 8

// Shape is what a run does again and again.
type Shape string

// The shapes.
const (
	Post    Shape = "post"    // a message that is not answered
	Request Shape = "request" // a message that is answered with itself
	Stream  Shape = "stream"  // messages of a stream, whose end is answered
)

// A Row is one run of the table.
type Row struct {
	Name        string `json:"name"`
	Shape       Shape  `json:"shape"`
	Connections int    `json:"connections"`
	Routines    int    `json:"routines"` // callers on each connection
	Batch       int    `json:"batch"`    // gofast's setting; others batch what is there
	Payload     int    `json:"payload"`  // bytes
	Messages    int    `json:"messages,omitempty"`

	// What gofast's authors measured on a laptop with four cores; see the package
	// comment for what their seconds are.
	Published     float64       `json:"published_per_second"`
	PublishedMean time.Duration `json:"published_mean_ns,omitempty"`
}

// GetRow is the run of a row's document, as large as a message of this payload,
// that callers on one connection ask for.
func GetRow() Row {
	return Row{Name: "GET of a row, 100 callers", Shape: Request, Connections: 1, Routines: 100,
		Batch: 100, Payload: 512}
}

// Table is the published runs.
func Table() []Row {
	us, ms := time.Microsecond, time.Millisecond
	return []Row{
		{"post, 1 caller", Post, 1, 1, 1, 512, 0, 83_334, 11500},
		{"post, 100 callers, batch 100", Post, 1, 100, 100, 512, 0, 250_001, 409 * us},
		{"post, 100 callers", Post, 1, 100, 1, 512, 0, 142_858, 702 * us},
		{"post, 8 x 100 callers, batch 100", Post, 8, 100, 100, 512, 0, 727_280, 1030 * us},
		{"post of 64 B, 8 x 100 callers", Post, 8, 100, 100, 64, 0, 888_896, 820 * us},
		{"request, 100 callers, batch 100", Request, 1, 100, 100, 64, 0, 71_435, 1430 * us},
		{"request, 1 caller", Request, 1, 1, 1, 64, 0, 13_513, 74 * us},
		{"request, 20 callers, batch 8", Request, 1, 20, 8, 64, 0, 21_739, 354 * us},
		{"request, 8 x 100 callers, batch 100", Request, 8, 100, 100, 64, 0, 129_045, 6100 * us},
		{"stream of 100,000", Stream, 1, 1, 1, 512, 100_000, 100_001, 0},
		{"streams of 100,000, one by one", Stream, 1, 1, 1, 512, 100_000, 100_001, 1080 * ms},
		{"streams of 100,000, 2 callers", Stream, 1, 2, 1, 512, 100_000, 100_001, 2290 * ms},
		{"streams of 100,000, 20 callers, batch 20", Stream, 1, 20, 20, 512, 100_000, 250_002, 0},
		{"streams of 10, 100 callers, batch 100", Stream, 1, 100, 100, 512, 10, 91_666, 9600 * us},
	}
}

// A Conn is a connection of a contender, for any number of callers.
type Conn interface {
	Post(data []byte) error
	// Request sends data and returns the answer appended to dst. It fails when
	// the answer cannot be the right one.
	Request(data, dst []byte) ([]byte, error)
	// Stream sends n messages on a stream of their own, calls sent after each,
	// and returns when the server has answered its end.
	Stream(n int, data []byte, sent func()) error
	// Barrier returns when the server has taken in all that was sent before.
	Barrier() error
	Close() error
}

// A Dial makes a connection.
type Dial func(ctx context.Context) (Conn, error)

// Result is what one run has measured.
type Result struct {
	Contender string  `json:"contender"`
	Row       string  `json:"row"`
	Messages  uint64  `json:"messages"`
	Seconds   float64 `json:"seconds"`
	Rate      float64 `json:"rate"` // messages a second
	// Latency is of a request, of a whole stream, or of handing over a post.
	Latency load.Summary `json:"latency"`
	Failed  string       `json:"failed,omitempty"`
}

// sampled is how many posts there are to one that is timed: reading the clock
// costs as much as handing one over.
const sampled = 64

// drainTimeout is how long answers are waited for when a run has ended.
const drainTimeout = 20 * time.Second

// The phases of a run.
const (
	warming int32 = iota
	measuring
	stopping
)

// A runner is one run.
type runner struct {
	row   Row
	phase atomic.Int32
	data  []byte
}

// A caller is one routine, and what it has counted while it was measured.
type caller struct {
	run  *runner
	conn Conn

	messages uint64
	// latencies are in ns. Histograms of hundreds of callers would not fit into the
	// processor's caches, and cost more than what is measured.
	latencies []uint32
	_         [64]byte // callers are not on one line
}

// record notes a latency of up to four seconds; longer ones count as that.
func (c *caller) record(d time.Duration) {
	c.latencies = append(c.latencies, uint32(min(d, math.MaxUint32)))
}

// Run makes one run.
func Run(ctx context.Context, row Row, dial Dial, warmup, duration time.Duration) (Result, error) {
	// Whoever answers, a message is what gofast's program sends.
	r := &runner{row: row, data: rows.AppendEcho(nil, bytes.Repeat([]byte{'a'}, row.Payload))}
	var conns []Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for range row.Connections {
		c, err := dial(ctx)
		if err != nil {
			return Result{}, fmt.Errorf("run %q: %w", row.Name, err)
		}
		conns = append(conns, c)
	}
	res, err := r.measure(ctx, conns, warmup, duration)
	if err != nil {
		return Result{}, fmt.Errorf("run %q: %w", row.Name, err)
	}
	return res, nil
}

// measure lets the callers go for the time of the run.
func (r *runner) measure(
	ctx context.Context, conns []Conn, warmup, duration time.Duration,
) (Result, error) {
	var callers []*caller
	var group sync.WaitGroup
	errs := make(chan error, len(conns)*r.row.Routines)
	for _, conn := range conns {
		for range r.row.Routines {
			c := &caller{run: r, conn: conn}
			callers = append(callers, c)
			group.Go(func() {
				if err := c.loop(); err != nil {
					errs <- err
				}
			})
		}
	}
	err := hold(ctx, errs, warmup)
	from := time.Now()
	r.phase.Store(measuring)
	if err == nil {
		err = hold(ctx, errs, duration)
	}
	r.phase.Store(stopping)
	if err != nil {
		for _, c := range conns {
			_ = c.Close() // callers may wait for answers
		}
	}
	// A server that has stopped to answer does not hold up the run.
	late := time.AfterFunc(drainTimeout, func() {
		for _, c := range conns {
			_ = c.Close()
		}
	})
	defer late.Stop()
	group.Wait()
	for _, c := range conns {
		err = errors.Join(err, c.Barrier())
	}
	elapsed := time.Since(from)
	close(errs)
	for late := range errs {
		err = errors.Join(err, late)
	}
	return r.result(callers, elapsed), err
}

// hold waits, unless a caller fails meanwhile.
func hold(ctx context.Context, errs <-chan error, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case err := <-errs:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loop does what the row says until the run stops.
func (c *caller) loop() error {
	switch c.run.row.Shape {
	case Post:
		return c.posts()
	case Request:
		return c.requests()
	case Stream:
		return c.streams()
	}
	return fmt.Errorf("there is no shape %q", c.run.row.Shape)
}

func (c *caller) posts() error {
	for i := 0; ; i++ {
		timed := i%sampled == 0
		var begin time.Time
		if timed {
			begin = time.Now()
		}
		if err := c.conn.Post(c.run.data); err != nil {
			return err
		}
		switch c.run.phase.Load() {
		case measuring:
			c.messages++
			if timed {
				c.record(time.Since(begin))
			}
		case stopping:
			return nil
		}
	}
}

func (c *caller) requests() error {
	var answer []byte
	begin := time.Now()
	for {
		var err error
		if answer, err = c.conn.Request(c.run.data, answer[:0]); err != nil {
			return err
		}
		now := time.Now()
		switch c.run.phase.Load() {
		case measuring:
			c.messages++
			c.record(now.Sub(begin))
		case stopping:
			return nil
		}
		begin = now
	}
}

func (c *caller) streams() error {
	sent := func() {
		if c.run.phase.Load() == measuring {
			c.messages++
		}
	}
	for c.run.phase.Load() != stopping {
		begin := time.Now()
		if err := c.conn.Stream(c.run.row.Messages, c.run.data, sent); err != nil {
			return err
		}
		c.record(time.Since(begin))
	}
	return nil
}

// result adds up what the callers have counted.
func (r *runner) result(callers []*caller, elapsed time.Duration) Result {
	res := Result{Row: r.row.Name, Seconds: elapsed.Seconds()}
	var sum load.Histogram
	for _, c := range callers {
		res.Messages += c.messages
		for _, ns := range c.latencies {
			sum.Record(time.Duration(ns))
		}
	}
	res.Rate = float64(res.Messages) / res.Seconds
	res.Latency = sum.Summary()
	return res
}
