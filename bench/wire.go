package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/hotrow/hotrow/bench/wirebench"
	"github.com/hotrow/hotrow/client/wire"
)

// A wireCommand is the flags of bench wire.
type wireCommand struct {
	rounds                  int
	only                    *regexp.Regexp
	get, grpc, gofast, form string
	duration, warmup        time.Duration
	progress                io.Writer
}

// A contender makes runs at one server.
type contender struct {
	name string
	run  func(context.Context, wirebench.Row) (wirebench.Result, error)
}

// benchWire makes every run at every server that args name, hotrow://, raw://, grpc:// or
// gofast://HOST:PORT, one server after the other in each row, and prints the report.
func benchWire(ctx context.Context, args []string, out, progress io.Writer) error {
	c := &wireCommand{progress: progress}
	f := flag.NewFlagSet(wirebench.Command, flag.ContinueOnError)
	f.SetOutput(progress)
	f.DurationVar(&c.duration, "duration", 3*time.Second, "measured of each row")
	f.DurationVar(&c.warmup, "warmup", 500*time.Millisecond, "before it")
	only := f.String("only", "", "rows whose name matches this `regexp`")
	f.IntVar(&c.rounds, "rounds", 1, "of all rows; the best of each counts")
	f.StringVar(&c.get, "get", "", "reads of this `RESOURCE/KEY`, too, at hotrow://")
	f.StringVar(&c.grpc, "grpc", "", "the client `program` of bench/peers/grpc")
	f.StringVar(&c.gofast, "gofast", "", "gofast's perf `program`")
	f.StringVar(&c.form, "format", "text", "text, markdown or json")
	err := f.Parse(args)
	if err != nil {
		return err
	}
	if c.only, err = regexp.Compile(*only); err != nil {
		return err
	}
	urls := f.Args()
	if len(urls) == 0 {
		urls = []string{"hotrow://127.0.0.1:9900"}
	}
	var all []contender
	for _, arg := range urls {
		one, err := c.contender(arg)
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	report, err := c.measure(ctx, all)
	return errors.Join(err, c.print(out, report))
}

// contender returns the one that a URL names, or NAME=URL.
func (c *wireCommand) contender(arg string) (contender, error) {
	name, address, named := strings.Cut(arg, "=")
	if !named || strings.ContainsAny(name, ":/") {
		name, address = "", arg
	}
	u, err := url.Parse(address)
	if err != nil {
		return contender{}, err
	}
	if name == "" {
		name = u.Scheme
	}
	dialed := func(dial wirebench.Dial) contender {
		return contender{name, func(ctx context.Context, row wirebench.Row) (
			wirebench.Result, error) {
			return wirebench.Run(ctx, row, dial, c.warmup, c.duration)
		}}
	}
	switch {
	case u.Host == "":
	case u.Scheme == "hotrow":
		return c.hotrow(name, u.Host), nil
	case u.Scheme == "raw":
		return dialed(wirebench.DialRaw(u.Host)), nil
	case u.Scheme == "grpc" && c.grpc != "":
		return contender{name, func(ctx context.Context, row wirebench.Row) (
			wirebench.Result, error) {
			return wirebench.RunGRPC(ctx, c.grpc, u.Host, row, c.warmup, c.duration)
		}}, nil
	case u.Scheme == "gofast" && c.gofast != "":
		return contender{name, func(ctx context.Context, row wirebench.Row) (
			wirebench.Result, error) {
			return wirebench.RunGofast(ctx, c.gofast, u.Host, row, c.duration)
		}}, nil
	}
	return contender{}, fmt.Errorf("%q: want hotrow://HOST:PORT (with wire.perf on) or "+
		"raw://HOST:PORT; with -grpc or -gofast also grpc:// or gofast://", arg)
}

// hotrow returns the contender that is a hotrow server: it echoes, and has
// documents as well.
func (c *wireCommand) hotrow(name, address string) contender {
	o := wire.Options{Name: "bench"}
	resource, key, _ := strings.Cut(c.get, "/")
	return contender{name, func(ctx context.Context, row wirebench.Row) (
		wirebench.Result, error) {
		dial := wirebench.DialHotrow(address, o)
		if row.Name == wirebench.GetRow().Name {
			dial = wirebench.DialGet(address, resource, key, o)
		}
		return wirebench.Run(ctx, row, dial, c.warmup, c.duration)
	}}
}

// measure makes every run. Each row begins with another contender.
func (c *wireCommand) measure(ctx context.Context, all []contender) (*wirebench.Report, error) {
	report := &wirebench.Report{}
	table := wirebench.Table()
	if c.get != "" {
		table = append(table, wirebench.GetRow())
	}
	for _, row := range table {
		if c.only.MatchString(row.Name) {
			report.Rows = append(report.Rows, row)
		}
	}
	var names []string
	for _, one := range all {
		names = append(names, one.name)
	}
	for round := range max(c.rounds, 1) {
		for i, row := range report.Rows {
			for j := range all {
				one := all[(i+j+round)%len(all)]
				res, err := one.run(ctx, row)
				if ctx.Err() != nil {
					return report, ctx.Err()
				}
				res.Contender, res.Row = one.name, row.Name
				if err != nil {
					res.Failed = err.Error()
				}
				report.Add(res)
				fmt.Fprintf(c.progress, "%-40s %-8s %12.0f/s %s\n", row.Name, one.name, res.Rate,
					res.Failed)
			}
		}
		report.Order(names)
	}
	return report, nil
}

// print prints the report. Rows that failed are an error.
func (c *wireCommand) print(out io.Writer, report *wirebench.Report) error {
	text := []byte(report.Text())
	switch c.form {
	case "markdown":
		text = []byte(report.Markdown())
	case "json":
		var err error
		if text, err = report.JSON(); err != nil {
			return err
		}
	}
	if _, err := out.Write(text); err != nil {
		return err
	}
	return report.Err()
}
