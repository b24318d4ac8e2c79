package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotrow/hotrow/internal/load"
)

// benchCommand returns hotrow bench.
func benchCommand(p *program) *cobra.Command {
	return group("bench", "Load servers with requests and compare them.", benchHTTPCommand(p))
}

type benchHTTPCmd struct {
	load.Config

	URL         []string
	Connections []int
	PID         []int
	Format      string
}

// benchHTTPCommand returns hotrow bench http.
func benchHTTPCommand(p *program) *cobra.Command {
	c := new(benchHTTPCmd)
	cmd := p.command("http", "Load HTTP servers and compare them.", c.Run, argument{
		"<url> ...", "What to ask for, {n} being the key, or NAME=URL to name a row.", &c.URL})
	f := cmd.Flags()
	f.IntSliceVarP(&c.Connections, "connections", "c", []int{64},
		"Open at once, `N,...`: a row for each.")
	f.DurationVarP(&c.Duration, "duration", "d", 5*time.Second, "What is measured of each row.")
	f.DurationVar(&c.Warmup, "warmup", time.Second, "Before it, not measured.")
	f.DurationVar(&c.Timeout, "timeout", 10*time.Second, "When an answer counts as lost.")
	f.Float64Var(&c.Rate, "rate", 0, "Requests a second, timed from when they are due.")
	f.Int64Var(&c.First, "first", 0, "The first key.")
	f.Int64Var(&c.Keys, "keys", 1, "How many keys there are; each request has a random one.")
	f.Var(newOneOf(&c.Method, "GET", "GET", "HEAD"), "method", "`METHOD`: GET or HEAD.")
	f.StringArrayVarP(&c.Header, "header", "H", nil, "`NAME: VALUE` that is sent with each.")
	f.IntSliceVar(&c.PID, "pid", nil,
		"`PID,...` of the servers, one for each URL: shows their CPU.")
	f.Var(newOneOf(&c.Format, "text", "text", "json"), "format",
		"`FORMAT` of the result: text or json.")
	return cmd
}

// Run measures one row after the other and prints them.
func (c *benchHTTPCmd) Run(p *program) error {
	if len(c.PID) > 0 && len(c.PID) != len(c.URL) {
		return usageError{fmt.Errorf("%d --pid for %d URLs: give one for each", len(c.PID),
			len(c.URL))}
	}
	var rows []*load.Result
	var errs []error
	for _, c.Config.Connections = range c.Connections {
		for i, url := range c.URL {
			if len(c.PID) > 0 {
				c.Config.PID = c.PID[i]
			}
			name, address := splitName(url)
			c.Config.URL = address
			row, err := load.Run(p.ctx, c.Config)
			if p.ctx.Err() != nil && len(rows) > 0 {
				fmt.Fprintln(p.stderr, "interrupted: what follows is what was measured before")
				return c.print(p, rows)
			}
			if err != nil {
				return err
			}
			row.Name = name
			rows = append(rows, row)
			if err := row.Err(); err != nil {
				errs = append(errs,
					fmt.Errorf("%s, %d connections: %w", name, row.Connections, err))
			}
		}
	}
	return errors.Join(append([]error{c.print(p, rows)}, errs...)...)
}

// splitName cuts NAME=URL; a URL alone is its own name.
func splitName(arg string) (name, address string) {
	if name, address, ok := strings.Cut(arg, "="); ok && !strings.ContainsAny(name, ":/") {
		return name, address
	}
	return arg, arg
}

// print prints the rows.
func (c *benchHTTPCmd) print(p *program, rows []*load.Result) error {
	if c.Format == "json" {
		text, err := json.MarshalIndent(rows, "", "  ")
		if err == nil {
			_, err = fmt.Fprintf(p.stdout, "%s\n", text)
		}
		return err
	}
	out := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "server\tconnections\tanswers/s\tp50 µs\tp99 µs\tp99.9 µs\tmax µs\t"+
		"CPU µs/answer\tfailed\t")
	for _, r := range rows {
		cpu := "-"
		if r.CPU > 0 {
			cpu = strconv.FormatFloat(r.CPU, 'f', 2, 64)
		}
		fmt.Fprintf(out, "%s\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%s\t%d\t\n", r.Name,
			r.Connections, r.Rate, r.P50, r.P99, r.P999, r.Max, cpu, r.Failed())
	}
	return out.Flush()
}
