package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotrow/hotrow/client/wire"
	"github.com/hotrow/hotrow/internal/wirebench"
)

type benchWireCmd struct {
	URL                             []string
	Duration, Warmup                time.Duration
	Rounds                          int
	Only, Get, GRPC, Gofast, Format string
}

// benchWireCommand returns hotrow bench wire.
func benchWireCommand(p *program) *cobra.Command {
	c := new(benchWireCmd)
	cmd := p.command("wire", "Make gofast's published runs at wire servers.", c.Run, argument{
		"[<url> ...]", "hotrow://, raw://, grpc:// or gofast://HOST:PORT.", &c.URL})
	f := cmd.Flags()
	timeFlags(f, &c.Duration, &c.Warmup, 3*time.Second, 500*time.Millisecond)
	f.StringVar(&c.Only, "only", "", "Rows whose name matches this `REGEXP`; none: all.")
	f.IntVar(&c.Rounds, "rounds", 1, "Of all rows; the best of each counts.")
	f.StringVar(&c.Get, "get", "", "Also reads of this document, at hotrow://: `RESOURCE/KEY`.")
	f.StringVar(&c.GRPC, "grpc", "", "The client `PROGRAM` of bench/peers/grpc.")
	f.StringVar(&c.Gofast, "gofast", "", "gofast's perf `PROGRAM`.")
	formatFlag(f, &c.Format, "text", "markdown", "json")
	return cmd
}

// A contender makes runs at one server.
type contender struct {
	name string
	run  func(context.Context, wirebench.Row) (wirebench.Result, error)
}

// Run makes every run at every server, one server after the other in each row.
func (c *benchWireCmd) Run(p *program) error {
	if len(c.URL) == 0 {
		c.URL = []string{"hotrow://127.0.0.1:9900"}
	}
	match, err := regexp.Compile(c.Only)
	if err != nil {
		return usageError{fmt.Errorf("--only: %w", err)}
	}
	var all []contender
	for _, arg := range c.URL {
		one, err := c.contender(arg)
		if err != nil {
			return usageError{err}
		}
		all = append(all, one)
	}
	report := &wirebench.Report{}
	table := wirebench.Table()
	if c.Get != "" {
		table = append(table, wirebench.GetRow())
	}
	for _, row := range table {
		if match.MatchString(row.Name) {
			report.Rows = append(report.Rows, row)
		}
	}
	for round := range max(c.Rounds, 1) {
		if err := c.round(p, report, all, round); err != nil {
			return err
		}
	}
	return c.print(p, report)
}

// contender returns the one that a URL names.
func (c *benchWireCmd) contender(arg string) (contender, error) {
	name, address := splitName(arg)
	u, err := url.Parse(address)
	if err != nil {
		return contender{}, err
	}
	if name == arg {
		name = u.Scheme
	}
	dialed := func(dial wirebench.Dial) contender {
		return contender{name, func(ctx context.Context, row wirebench.Row) (
			wirebench.Result, error) {
			return wirebench.Run(ctx, row, dial, c.Warmup, c.Duration)
		}}
	}
	switch {
	case u.Host == "":
	case u.Scheme == "hotrow":
		return c.hotrow(name, u.Host), nil
	case u.Scheme == "raw":
		return dialed(wirebench.DialRaw(u.Host)), nil
	case u.Scheme == "grpc" && c.GRPC != "":
		return contender{name, func(ctx context.Context, row wirebench.Row) (
			wirebench.Result, error) {
			return wirebench.RunGRPC(ctx, c.GRPC, u.Host, row, c.Warmup, c.Duration)
		}}, nil
	case u.Scheme == "gofast" && c.Gofast != "":
		return contender{name, func(ctx context.Context, row wirebench.Row) (
			wirebench.Result, error) {
			return wirebench.RunGofast(ctx, c.Gofast, u.Host, row, c.Duration)
		}}, nil
	}
	return contender{}, fmt.Errorf("%q: want hotrow://HOST:PORT (with wire.perf on) or "+
		"raw://HOST:PORT; with --grpc or --gofast PROGRAM also grpc:// or gofast://", arg)
}

// hotrow returns the contender that is a hotrow server: it echoes, and has
// documents as well.
func (c *benchWireCmd) hotrow(name, address string) contender {
	o := wire.Options{Name: "bench"}
	resource, key, _ := strings.Cut(c.Get, "/")
	return contender{name, func(ctx context.Context, row wirebench.Row) (wirebench.Result, error) {
		dial := wirebench.DialHotrow(address, o)
		if row.Name == wirebench.GetRow().Name {
			dial = wirebench.DialGet(address, resource, key, o)
		}
		return wirebench.Run(ctx, row, dial, c.Warmup, c.Duration)
	}}
}

// round makes every run once. Each row begins with another contender.
func (c *benchWireCmd) round(
	p *program, report *wirebench.Report, all []contender, round int,
) error {
	for i, row := range report.Rows {
		for j := range all {
			one := all[(i+j+round)%len(all)]
			res, err := one.run(p.ctx, row)
			if p.ctx.Err() != nil {
				return errors.Join(p.ctx.Err(), c.print(p, report))
			}
			res.Contender, res.Row = one.name, row.Name
			if err != nil {
				res.Failed = err.Error()
			}
			report.Add(res)
			if isTerminal(p.stderr) {
				fmt.Fprintf(p.stderr, "%-40s %-8s %12.0f/s %s\n", row.Name, one.name, res.Rate,
					res.Failed)
			}
		}
	}
	report.Order(names(all))
	return nil
}

func names(all []contender) (list []string) {
	for _, one := range all {
		list = append(list, one.name)
	}
	return list
}

// print prints the report. Rows that failed make the command fail.
func (c *benchWireCmd) print(p *program, report *wirebench.Report) error {
	text := []byte(report.Text())
	switch c.Format {
	case "markdown":
		text = []byte(report.Markdown())
	case "json":
		var err error
		if text, err = report.JSON(); err != nil {
			return err
		}
	}
	if _, err := p.stdout.Write(text); err != nil {
		return err
	}
	return report.Err()
}
