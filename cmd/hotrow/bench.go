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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hotrow/hotrow/internal/load"
)

// benchCommand returns hotrow bench.
func benchCommand(p *program) *cobra.Command {
	return group("bench", "Load servers with requests and compare them.",
		benchHTTPCommand(p), benchKVCommand(p), benchWireCommand(p), benchLinksCommand(p),
		benchProxyCommand(p))
}

// A loading is what all runs of load can be told.
type loading struct {
	Connections               []int
	Duration, Warmup, Timeout time.Duration
	Rate                      float64
	Pipeline, Loops           int

	First, Keys  int64
	Distribution string
	Skew         float64
	Seed         uint64

	Check        string
	WritePercent float64
	Body         string

	PID    []int
	Format string
}

// add adds its flags to those of a command.
func (c *loading) add(f *pflag.FlagSet) {
	f.IntSliceVarP(&c.Connections, "connections", "c", []int{64},
		"Open at once, `N,...`: a row for each.")
	timeFlags(f, &c.Duration, &c.Warmup, 5*time.Second, time.Second)
	f.DurationVar(&c.Timeout, "timeout", 10*time.Second, "When an answer counts as lost.")
	f.Float64Var(&c.Rate, "rate", 0, "Requests a second, timed from when they are due.")
	f.IntVar(&c.Pipeline, "pipeline", 1, "Requests on their way on one connection.")
	f.IntVar(&c.Loops, "loops", 0, "Event loops; 0: one for each core.")

	f.Int64Var(&c.First, "first", 0, "The first key.")
	f.Int64Var(&c.Keys, "keys", 1, "How many keys there are.")
	f.Var(newOneOf(&c.Distribution, "uniform", "one", "uniform", "zipf", "scan"), "distribution",
		"Which are taken: `KIND` is one, uniform, zipf or scan.")
	f.Float64Var(&c.Skew, "skew", 1.1, "Of zipf, above 0.")
	f.Uint64Var(&c.Seed, "seed", 0, "Of the random keys.")

	f.StringVar(&c.Check, "check", "", "`TEXT` that answers begin with, {n} being the key.")
	f.Float64Var(&c.WritePercent, "write-percent", 0,
		"Share of the requests that write, in percent.")
	f.StringVar(&c.Body, "body", "", "`TEXT` of writes, with {n}, and {i} for a number of its own.")

	f.IntSliceVar(&c.PID, "pid", nil,
		"`PID,...` of the servers, one for each URL: shows their CPU.")
	formatFlag(f, &c.Format, "text", "markdown", "json", "svg")
}

// timeFlags adds --duration and --warmup, with these defaults, to the flags of a command.
func timeFlags(f *pflag.FlagSet, duration, warmup *time.Duration, measured, before time.Duration) {
	f.DurationVarP(duration, "duration", "d", measured, "What is measured of each row.")
	f.DurationVar(warmup, "warmup", before, "Before it, not measured.")
}

// formatFlag adds --format to the flags of a command; the first format is the default.
func formatFlag(f *pflag.FlagSet, to *string, formats ...string) {
	last := len(formats) - 1
	f.Var(newOneOf(to, formats[0], formats...), "format",
		"`FORMAT` of the result: "+strings.Join(formats[:last], ", ")+" or "+formats[last]+".")
}

type benchHTTPCmd struct {
	URL []string
	loading

	Method, WriteMethod, WritePath string
	Header                         []string
}

// benchHTTPCommand returns hotrow bench http.
func benchHTTPCommand(p *program) *cobra.Command {
	c := new(benchHTTPCmd)
	cmd := p.command("http", "Load HTTP servers and compare them.", c.Run, argument{
		"<url> ...", "What to ask for, {n} being the key, or NAME=URL to name a row.", &c.URL})
	f := cmd.Flags()
	c.loading.add(f)
	f.Var(newOneOf(&c.Method, "GET", "GET", "HEAD"), "method", "`METHOD` of reads: GET or HEAD.")
	f.StringArrayVarP(&c.Header, "header", "H", nil, "`NAME: VALUE` that is sent with each.")
	f.Var(newOneOf(&c.WriteMethod, "PUT", "PUT", "POST", "PATCH", "DELETE"), "write-method",
		"`METHOD` of writes: PUT, POST, PATCH or DELETE.")
	f.StringVar(&c.WritePath, "write-path", "",
		"`PATH` of writes, with {n} and {i}; none: that of URL.")
	return cmd
}

// Run measures one row after the other and prints them.
func (c *benchHTTPCmd) Run(p *program) error {
	return c.run(p, "hotrow bench http", c.URL, load.Config{
		Method: c.Method, Header: c.Header,
		Write: load.Write{Method: c.WriteMethod, Path: c.WritePath},
	})
}

type benchKVCmd struct {
	URL []string
	loading

	Batch int
}

// benchKVCommand returns hotrow bench kv.
func benchKVCommand(p *program) *cobra.Command {
	c := new(benchKVCmd)
	cmd := p.command("kv", "Load Redis and memcached servers and compare them.", c.Run, argument{
		"<url> ...", "redis://HOST:PORT/KEY or memcache://, {n} in the key; or NAME=URL.", &c.URL})
	c.loading.add(cmd.Flags())
	cmd.Flags().IntVar(&c.Batch, "batch", 1, "Keys of one read: MGET, or get of several.")
	return cmd
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
