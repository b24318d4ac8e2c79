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
	KV   benchKVCmd   `cmd:"" name:"kv" help:"Load Redis and memcached servers and compare them."`
	Wire benchWireCmd `cmd:"" name:"wire" help:"Make gofast's published runs at wire servers."`

	Links benchLinksCmd `cmd:"" name:"links" help:"Follow a link with its hits recorded and not."`
	Proxy benchProxyCmd `cmd:"" name:"proxy" help:"Ask an upstream directly and through proxies."`
}

// A loading is what all runs of load can be told.
type loading struct {
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

	Check        string  `placeholder:"TEXT" help:"What answers begin with, {n} being the key."`
	WritePercent float64 `help:"Share of the requests that write, in percent."`
	Body         string  `help:"Of writes, with {n}, and {i} for a number of its own."`

	PID    []int  `help:"The servers' processes, one for each URL: shows their CPU."`
	Format string `enum:"text,markdown,json,svg" default:"text" help:"text, markdown, json or svg."`
}

type benchHTTPCmd struct {
	URL []string `arg:"" help:"What to ask for, {n} being the key, or NAME=URL to name a row."`
	loading

	Method      string   `enum:"GET,HEAD" default:"GET" help:"Of reads."`
	Header      []string `short:"H" sep:"none" placeholder:"NAME: VALUE" help:"Sent with each."`
	WriteMethod string   `enum:"PUT,POST,PATCH,DELETE" default:"PUT" help:"Of writes."`
	WritePath   string   `placeholder:"PATH" help:"Of writes, with {n} and {i}; none: that of URL."`
}

// Run measures one row after the other and prints them.
func (c *benchHTTPCmd) Run(p *program) error {
	return c.run(p, "hotrow bench http", c.URL, load.Config{
		Method: c.Method, Header: c.Header,
		Write: load.Write{Method: c.WriteMethod, Path: c.WritePath},
	})
}

type benchKVCmd struct {
	URL []string `arg:"" help:"redis://HOST:PORT/KEY or memcache://, {n} in the key; or NAME=URL."`
	loading

	Batch int `default:"1" help:"Keys of one read: MGET, or get of several."`
}

// Run measures one row after the other and prints them.
func (c *benchKVCmd) Run(p *program) error {
	for _, arg := range c.URL {
		if _, url := splitName(arg); strings.HasPrefix(url, "http") {
			return usageError{fmt.Errorf("%s: want redis://, rediss:// or memcache://", url)}
		}
	}
	return c.run(p, "hotrow bench kv", c.URL, load.Config{Batch: c.Batch})
}

// run measures URLs by cfg, which says what only this command can be told, and prints
// them.
func (c *loading) run(p *program, title string, urls []string, cfg load.Config) error {
	if len(c.PID) > 0 && len(c.PID) != len(urls) {
		return usageError{fmt.Errorf("%d --pid for %d URLs: give one for each", len(c.PID),
			len(urls))}
	}
	var runs []*load.Result
	for _, cfg.Connections = range c.Connections {
		for i, url := range urls {
			if len(c.PID) > 0 {
				cfg.PID = c.PID[i]
			}
			result, err := c.measure(p, url, cfg)
			if errors.Is(err, context.Canceled) && p.ctx.Err() != nil && len(runs) > 0 {
				fmt.Fprintln(p.stderr, "interrupted: what follows is what was measured before")
				return c.print(p, title, runs)
			}
			if err != nil {
				return err
			}
			runs = append(runs, result)
		}
	}
	if err := c.print(p, title, runs); err != nil {
		return err
	}
	return loadErrors(runs)
}

// measure makes the run of a URL.
func (c *loading) measure(p *program, url string, cfg load.Config) (*load.Result, error) {
	var name string
	name, cfg.URL = splitName(url)
	cfg.Keys = load.Keys{
		First: c.First, N: c.Keys, Skew: c.Skew, Distribution: load.Distribution(c.Distribution),
	}
	cfg.Write.Percent, cfg.Write.Body = c.WritePercent, c.Body
	cfg.Pipeline, cfg.Rate, cfg.Loops, cfg.Seed = c.Pipeline, c.Rate, c.Loops, c.Seed
	cfg.Duration, cfg.Warmup, cfg.Timeout = c.Duration, c.Warmup, c.Timeout
	if c.Check != "" {
		cfg.Check = c.check
	}
	if isTerminal(p.stderr) {
		cfg.Progress = func(s load.Progress) {
			done := 100 * s.Elapsed.Seconds() / s.Total.Seconds()
			fmt.Fprintf(p.stderr, "\r%-20s %d connections %3.0f%% %12s answers/s %d failed ", name,
				cfg.Connections, done, load.Count(s.Rate), s.Errors)
		}
		defer fmt.Fprint(p.stderr, "\r\x1b[K")
	}
	result, err := load.Run(p.ctx, cfg)
	if err != nil {
		return nil, err
	}
	if result.Name = name; name == cfg.URL {
		result.Name = result.URL // without a password
	}
	return result, nil
}

// check wants an answer to begin with the text of --check.
func (c *loading) check(a load.Answer) error {
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
func (c *loading) print(p *program, title string, runs []*load.Result) error {
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
		text = load.SVG(title, load.Panels(runs))
	default:
		text = []byte(load.Results(runs).Text())
	}
	_, err := p.stdout.Write(text)
	return err
}
