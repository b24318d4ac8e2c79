package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/load"
)

type benchLinksCmd struct {
	Connections      int
	Duration, Warmup time.Duration
	Rate             float64
	Database, Format string
}

// benchLinksCommand returns hotrow bench links.
func benchLinksCommand(p *program) *cobra.Command {
	c := new(benchLinksCmd)
	cmd := p.command("links", "Follow a link with its hits recorded and not.", c.Run)
	f := cmd.Flags()
	f.IntVarP(&c.Connections, "connections", "c", 256, "Open at once.")
	timeFlags(f, &c.Duration, &c.Warmup, 5*time.Second, time.Second)
	f.Float64Var(&c.Rate, "rate", 0, "Redirects a second; none: as many as there can be.")
	f.StringVar(&c.Database, "database", "",
		"`URL` of an empty PostgreSQL or MariaDB; none: SQLite.")
	formatFlag(f, &c.Format, "text", "markdown", "json")
	return cmd
}

// A linksRow is one way of recording hits.
type linksRow struct {
	name string
	log  string // what links.log says of it
}

// linksRows are the rows, the one that all others are compared with first.
var linksRows = []linksRow{
	{"not recorded", "record: false"},
	{"recorded, held, killed", "drain: false"},
	{"recorded", "drain: true"},
}

// A linksFigure is what was measured of a row. All but the load's are zero where
// nothing is recorded.
type linksFigure struct {
	Row       string       `json:"row"`
	Load      *load.Result `json:"load"`
	Redirects int64        `json:"redirects"` // that the server says it has sent
	Stored    int64        `json:"stored"`    // SELECT count(*) FROM clicks
	Drain     float64      `json:"drain"`     // seconds from the last answer to the last row
}

// Run measures a server of its own with a link: with hits that are recorded
// nowhere; in the log alone, after which the server is killed and another one
// takes them to the database; and in the database all the time.
func (c *benchLinksCmd) Run(p *program) error {
	if err := c.placeDatabase(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "hotrow-bench-links-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var all []linksFigure
	for i, row := range linksRows {
		b, err := c.bench(p, filepath.Join(dir, fmt.Sprint(i)), row)
		if err != nil {
			return err
		}
		if isTerminal(p.stderr) {
			fmt.Fprintf(p.stderr, "%s ...\n", row.name)
		}
		f, err := b.measure(p.ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
		all = append(all, *f)
	}
	if err := c.print(p, all); err != nil {
		return err
	}
	var errs []error
	for i := range all {
		errs = append(errs, all[i].wrong())
	}
	return errors.Join(errs...)
}

// placeDatabase makes the path of a SQLite file absolute: the servers have directories of
// their own.
func (c *benchLinksCmd) placeDatabase() error {
	if c.Database == "" {
		return nil
	}
	cfg, _, err := config.FromURL(c.Database, nil)
	if err != nil {
		return fmt.Errorf("--database: %w", err)
	}
	if s := cfg.Sources["main"]; s.Driver() == "sqlite" {
		path, err := filepath.Abs(s.Path())
		if err != nil {
			return fmt.Errorf("--database: %w", err)
		}
		c.Database = "sqlite:" + path
	}
	return nil
}

// wrong returns what a row must not be: an answered hit that is not stored, or
// stored twice.
func (f *linksFigure) wrong() error {
	if err := f.Load.Err(); err != nil {
		return fmt.Errorf("%s: %w", f.Row, err)
	}
	if f.Stored != f.Redirects {
		return fmt.Errorf("%s: %d redirects were sent, %d are in the database", f.Row,
			f.Redirects, f.Stored)
	}
	return nil
}

// measure makes the row.
func (b *linksBench) measure(ctx context.Context) (_ *linksFigure, err error) {
	if err := b.start(ctx, b.row.log); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.stop(err == nil)) }()
	if b.cmd.Warmup > 0 {
		if _, err := b.load(ctx, b.cmd.Warmup); err != nil {
			return nil, err
		}
	}
	f := &linksFigure{Row: b.row.name}
	if f.Load, err = b.load(ctx, b.cmd.Duration); err != nil {
		return nil, err
	}
	f.Load.Name = b.row.name
	if !b.records() {
		return f, nil
	}
	if f.Redirects, err = b.redirects(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	if strings.Contains(b.row.log, "drain: false") {
		b.kill()
		if err := b.start(ctx, "drain: true"); err != nil {
			return nil, fmt.Errorf("start again: %w", err)
		}
	}
	f.Stored, err = b.drained(ctx, f.Redirects)
	f.Drain = time.Since(began).Seconds()
	return f, err
}

// load follows the link for a while.
func (b *linksBench) load(ctx context.Context, d time.Duration) (*load.Result, error) {
	return load.Run(ctx, load.Config{
		URL: b.url + benchCode, Connections: b.cmd.Connections, Rate: b.cmd.Rate, Duration: d,
		PID:    b.child.Pid,
		Header: []string{"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Firefox/145.0"},
	})
}

// print prints the rows.
func (c *benchLinksCmd) print(p *program, all []linksFigure) error {
	if c.Format == "json" {
		return printJSON(p.stdout, all)
	}
	t := load.Table{Columns: []string{"hits", "answers/s", "to not recorded", "p50 µs", "p99 µs",
		"CPU µs", "redirects", "count(*)", "s to drain"}}
	for i := range all {
		f, r := &all[i], all[i].Load
		cpu := "-"
		if r.Server != nil {
			cpu = fmt.Sprintf("%.1f", r.Server.Total)
		}
		row := []string{f.Row, load.Count(r.Rate), fmt.Sprintf("%.2f", r.Rate/all[0].Load.Rate),
			load.Count(r.Reads.P50), load.Count(r.Reads.P99), cpu, "-", "-", "-"}
		if f.Redirects > 0 {
			row[6], row[7] = fmt.Sprint(f.Redirects), fmt.Sprint(f.Stored)
			row[8] = fmt.Sprintf("%.2f", f.Drain)
		}
		t.Rows = append(t.Rows, row)
	}
	return printTable(p, c.Format, &t)
}
