package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/bench/load"
)

// A collector is what Go's collector did while hotrow was asked as fast as it answers, one request
// in a hundred being a write.
type collector struct {
	rate    float64 // answers a second
	cycles  int
	share   float64       // of the machine's processors, 0 to 1
	pause   time.Duration // 99 of 100 are shorter
	longest time.Duration
}

// gctrace is a line of the runtime: the milliseconds by the clock of its two pauses and of what is
// between them, and those of processors, of which the last of three was idle.
var gctrace = regexp.MustCompile(`(?m)^gc \d+ @\S+ \d+%: ([\d.]+)\+[\d.]+\+([\d.]+) ms clock, ` +
	`([\d.]+)\+([\d.]+)/([\d.]+)/[\d.]+\+([\d.]+) ms cpu`)

func (m *measurement) collector(ctx context.Context, x *server, s set) (*collector, error) {
	before, err := os.ReadFile(x.process.Log)
	if err != nil {
		return nil, err
	}
	body := strings.Trim(string(s.appendBody(nil, 0, 1)), "{}")
	_, body, _ = strings.Cut(body, ",")
	began := time.Now()
	r, err := load.Run(ctx, load.Config{
		URL: x.url + "/t/{n}", Keys: load.Keys{First: firstKey, N: int64(s.rows)}, Connections: 64,
		Write: load.Write{Percent: 1, Path: "/t/{n}", Body: "{" + body + "}"}, Duration: m.seconds,
	})
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	after, err := os.ReadFile(x.process.Log)
	if err != nil {
		return nil, err
	}
	c := &collector{rate: r.Rate}
	err = c.read(string(after[len(before):]), took)
	return c, err
}

// read reads what the runtime has written within a time.
func (c *collector) read(text string, took time.Duration) error {
	var pauses []time.Duration
	cpu := 0.0
	for _, cycle := range gctrace.FindAllStringSubmatch(text, -1) {
		var ms [6]float64
		for i := range ms {
			var err error
			if ms[i], err = strconv.ParseFloat(cycle[i+1], 64); err != nil {
				return fmt.Errorf("the runtime's line %q: %w", cycle[0], err)
			}
		}
		for _, pause := range ms[:2] {
			pauses = append(pauses, time.Duration(pause*float64(time.Millisecond)))
		}
		cpu += ms[2] + ms[3] + ms[4] + ms[5]
		c.cycles++
	}
	c.share = cpu / 1e3 / took.Seconds() / float64(runtime.NumCPU())
	if len(pauses) > 0 {
		slices.Sort(pauses)
		c.pause, c.longest = pauses[len(pauses)*99/100], pauses[len(pauses)-1]
	}
	return nil
}
