package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/load"
)

type benchCmd struct {
	HTTP benchHTTPCmd `cmd:"" name:"http" help:"Load HTTP servers and compare them."`
	Wire benchWireCmd `cmd:"" name:"wire" help:"Make gofast's published runs at wire servers."`

	Links benchLinksCmd `cmd:"" name:"links" help:"Follow a link with its hits recorded and not."`
	Proxy benchProxyCmd `cmd:"" name:"proxy" help:"Ask an upstream directly and through proxies."`
}

type benchHTTPCmd struct {
	URL []string `arg:"" help:"What to ask for, {n} being the key, or NAME=URL to name a row."`

	Connections []int         `short:"c" default:"64" help:"Open at once; several: a row for each."`
	Duration    time.Duration `short:"d" default:"5s" help:"What is measured of each row."`
	Warmup      time.Duration `default:"1s" help:"Before it, not measured."`
	Timeout     time.Duration `default:"10s" help:"When an answer counts as lost."`
	Rate        float64       `help:"Requests a second, timed from when they are due."`
	Pipeline    int           `default:"1" help:"Requests on their way on one connection."`
	Loops       int           `help:"Event loops; 0: one for each core."`

	First        int64   `help:"The first key."`
	Keys         int64   `default:"1" help:"How many keys there are."`
	Distribution string  `enum:"one,uniform,zipf,scan" default:"uniform" help:"Which are taken."`
	Skew         float64 `default:"1.1" help:"Of zipf, above 0."`
	Seed         uint64  `help:"Of the random keys."`

	Method string   `enum:"GET,HEAD" default:"GET" help:"Of reads."`
	Header []string `short:"H" sep:"none" placeholder:"NAME: VALUE" help:"Sent with each."`
	Check  string   `placeholder:"TEXT" help:"What answers begin with, {n} being the key."`

	WritePercent float64 `help:"Share of the requests that write, in percent."`
	WriteMethod  string  `enum:"PUT,POST,PATCH,DELETE" default:"PUT" help:"Of writes."`
	WritePath    string  `placeholder:"PATH" help:"Of writes, with {n} and {i}; none: that of URL."`
	Body         string  `help:"Of writes, with {n}, and {i} for a number of its own."`

	PID    []int  `help:"The servers' processes, one for each URL: shows their CPU."`
	Format string `enum:"text,markdown,json,svg" default:"text" help:"text, markdown, json or svg."`
}

// Run measures one row after the other and prints them.
func (c *benchHTTPCmd) Run(p *program) error {
	if len(c.PID) > 0 && len(c.PID) != len(c.URL) {
		return usageError{fmt.Errorf("%d --pid for %d URLs: give one for each", len(c.PID),
			len(c.URL))}
	}
	var runs []*load.Result
	for _, connections := range c.Connections {
		for i := range c.URL {
			result, err := c.measure(p, i, connections)
			if errors.Is(err, context.Canceled) && p.ctx.Err() != nil && len(runs) > 0 {
				fmt.Fprintln(p.stderr, "interrupted: what follows is what was measured before")
				return c.print(p, runs)
			}
			if err != nil {
				return err
			}
			runs = append(runs, result)
		}
	}
	if err := c.print(p, runs); err != nil {
		return err
	}
	return loadErrors(runs)
}

// measure makes the run of URL i.
func (c *benchHTTPCmd) measure(p *program, i, connections int) (*load.Result, error) {
	name, address := splitName(c.URL[i])
	cfg := load.Config{
		URL: address, Method: c.Method, Header: c.Header,
		Keys: load.Keys{
			First: c.First, N: c.Keys, Skew: c.Skew,
			Distribution: load.Distribution(c.Distribution),
		},
		Write: load.Write{
			Percent: c.WritePercent, Method: c.WriteMethod, Path: c.WritePath, Body: c.Body,
		},
		Connections: connections, Pipeline: c.Pipeline, Rate: c.Rate, Loops: c.Loops,
		Duration: c.Duration, Warmup: c.Warmup, Timeout: c.Timeout, Seed: c.Seed,
	}
	if len(c.PID) > 0 {
		cfg.PID = c.PID[i]
	}
	if c.Check != "" {
		cfg.Check = c.check
	}
	if isTerminal(p.stderr) {
		cfg.Progress = func(s load.Progress) {
			done := 100 * s.Elapsed.Seconds() / s.Total.Seconds()
			fmt.Fprintf(p.stderr, "\r%-20s %d connections %3.0f%% %12s answers/s %d failed ", name,
				connections, done, load.Count(s.Rate), s.Errors)
		}
		defer fmt.Fprint(p.stderr, "\r\x1b[K")
	}
	result, err := load.Run(p.ctx, cfg)
	if err != nil {
		return nil, err
	}
	result.Name = name
	return result, nil
}

// check wants an answer to begin with the text of --check.
func (c *benchHTTPCmd) check(a load.Answer) error {
	want := strings.ReplaceAll(c.Check, "{n}", strconv.FormatInt(a.Key, 10))
	if !bytes.HasPrefix(a.Body, []byte(want)) {
		return fmt.Errorf("the answer begins with %.60q, want %q", a.Body, want)
	}
	return nil
}

// splitName cuts NAME=URL; a URL alone is its own name.
func splitName(arg string) (name, address string) {
	if name, address, ok := strings.Cut(arg, "="); ok && !strings.ContainsAny(name, ":/") {
		return name, address
	}
	return arg, arg
}

// isTerminal reports whether a line may be written again and again.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// print prints the rows.
func (c *benchHTTPCmd) print(p *program, runs []*load.Result) error {
	var text []byte
	switch c.Format {
	case "markdown":
		text = []byte(load.Results(runs).Markdown())
	case "json":
		var err error
		if text, err = load.JSON(runs); err != nil {
			return err
		}
	case "svg":
		text = load.SVG("hotrow bench http", load.Panels(runs))
	default:
		text = []byte(load.Results(runs).Text())
	}
	_, err := p.stdout.Write(text)
	return err
}
