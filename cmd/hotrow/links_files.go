package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotrow/hotrow/internal/links/transfer"
)

type linksImportCmd struct {
	File, From, Domain string
	DryRun             bool

	linksClient
}

// linksImportCommand returns hotrow links import.
func linksImportCommand(p *program) *cobra.Command {
	c := new(linksImportCmd)
	cmd := p.command("import", "Import links from another shortener's file.", c.Run, argument{
		"<file>", "The file, or - for standard input; of shortcut its database, too.", &c.File})
	f := cmd.Flags()
	f.StringVar(&c.From, "from", "auto",
		"`FORMAT`: auto, bitly, yourls, shlink, kutt, golink, shortcut or csv.")
	f.StringVar(&c.Domain, "domain", "",
		"Only the links of this `DOMAIN` of a file that has several; '*' for all.")
	f.BoolVar(&c.DryRun, "dry-run", false,
		"Ask the server what it would not import, and why; change nothing.")
	c.linksClient.add(f)
	return cmd
}

// Run imports a file. Links whose codes are taken are left alone. What is not
// imported is listed, and makes the command fail.
func (c *linksImportCmd) Run(p *program) error {
	format, err := transfer.ParseFormat(c.From)
	if err != nil {
		return usageError{fmt.Errorf("--from: %w", err)}
	}
	if format == transfer.Shortcut {
		return c.moveShortcut(p)
	}
	in, size, err := openInput(c.File)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	counted := &countingReader{r: in}
	bar := &progressBar{
		to: p.stderr, on: isTerminal(p.stderr) && !c.JSON, size: size, read: counted,
	}
	skipped := make(map[string]int)
	report, err := transfer.Import(p.ctx,
		transfer.OneDomain(transfer.Read(counted, format), c.Domain, skipped), c.send, c.DryRun,
		bar.draw)
	bar.end()
	if len(skipped) > 0 {
		fmt.Fprintf(p.stderr, "left out, of other domains: %s\n", transfer.Domains(skipped))
	}
	if printErr := c.report(p, report); printErr != nil && err == nil {
		err = printErr
	}
	if err != nil {
		return fmt.Errorf("import %s, after %s: %w", c.File, countOf(report.Made, "link"), err)
	}
	if err := c.incomplete(report); err != nil {
		return err
	}
	if report.Limited > 0 {
		return fmt.Errorf("the server takes only so many links in a minute without a key, and the "+
			"file has %d more: hotrow links key add NAME makes one, HOTROW_LINKS_KEY holds it",
			report.Limited)
	}
	return nil
}

// incomplete returns the error of an import that has not taken over all that the file has.
func (c *linksImportCmd) incomplete(r *transfer.Report) error {
	verb := "were"
	if c.DryRun {
		verb = "would be"
	}
	refused, lost := len(r.Refused)+r.More, len(r.Lost)+r.Missed
	var parts []string
	if refused > 0 {
		not := strings.Replace(verb+" not", "would be not", "would not be", 1)
		parts = append(parts, fmt.Sprintf("%d of %s %s imported", refused,
			countOf(r.Read, "link"), not))
	}
	if lost > 0 {
		parts = append(parts, fmt.Sprintf("%s that the file has %s not taken over",
			countOf(lost, "thing"), map[bool]string{true: "is", false: "are"}[lost == 1]))
	}
	if len(parts) == 0 {
		return nil
	}
	return errors.New(strings.Join(parts, "; "))
}

// send gives links to the server.
func (c *linksImportCmd) send(ctx context.Context, lines []byte, _ int) ([]transfer.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	path := "links"
	if c.DryRun {
		path += "?dry_run=1"
	}
	req, err := c.request(ctx, http.MethodPost, path, bytes.NewReader(lines))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	req.Header.Set("Accept", "application/x-ndjson")
	resp, err := c.do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	return transfer.ReadAnswers(resp.Body)
}

// report says what has been imported, and what not and why.
func (c *linksImportCmd) report(p *program, r *transfer.Report) error {
	if c.JSON {
		enc := json.NewEncoder(p.stdout)
		return enc.Encode(struct {
			Read    int                `json:"read"`
			Made    int                `json:"imported"`
			Refused []transfer.Refusal `json:"refused"`
			More    int                `json:"refused_not_listed"`
			Lost    []transfer.Refusal `json:"not_taken_over"`
			Missed  int                `json:"not_taken_over_not_listed"`
			Limited int                `json:"over_allowance,omitempty"`
			Clashes []transfer.Clash   `json:"differ_by_case"`
		}{r.Read, r.Made, r.Refused, r.More, r.Lost, r.Missed, r.Limited, r.Survey.Clashes})
	}
	err := printRefusals(p.stdout, "NOT IMPORTED, BECAUSE", r.Refused, r.More)
	if err == nil {
		err = printRefusals(p.stdout, "NOT TAKEN OVER", r.Lost, r.Missed)
	}
	if err != nil {
		return err
	}
	if n := len(r.Survey.Clashes); n > 0 {
		first := r.Survey.Clashes[0]
		fmt.Fprintf(p.stderr, "%d codes differ from an earlier one only by case, such as "+
			"%s in lines %d and %d. A server with `case: exact` under `links:` keeps them apart; "+
			"set it before the first link is made.\n", n, first.Code, first.Other, first.Line)
	}
	if c.DryRun {
		fmt.Fprintf(p.stderr, "%d of %s would be imported; nothing was changed\n", r.Made+r.Limited,
			countOf(r.Read, "link"))
		return nil
	}
	fmt.Fprintf(p.stderr, "%d of %s imported\n", r.Made, countOf(r.Read, "link"))
	return nil
}

// printRefusals prints a line for each of a list, and how many more there are.
func printRefusals(to io.Writer, heading string, list []transfer.Refusal, more int) error {
	out := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	if len(list) > 0 {
		fmt.Fprintf(out, "LINE\tCODE\t%s\n", heading)
	}
	for _, one := range list {
		fmt.Fprintf(out, "%d\t%s\t%s\n", one.Line, one.Code, one.Reason)
	}
	if more > 0 {
		fmt.Fprintf(out, "... and %d more\n", more)
	}
	return out.Flush()
}

// countOf writes "1 link", "2 links".
func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// openInput opens a file, or standard input; size is 0 where it is not known.
func openInput(name string) (in io.ReadCloser, size int64, err error) {
	if name == "-" {
		return io.NopCloser(os.Stdin), 0, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return file, size, nil
}

// countingReader counts what has been read.
type countingReader struct {
	r io.Reader
	n int64
}

// Read reads.
func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// progressBar shows how far a file has been read.
type progressBar struct {
	to    io.Writer
	on    bool
	size  int64 // 0: not known
	read  *countingReader
	begin time.Time
	last  time.Time
}

// draw shows that so many entries are done, ten times a second at most.
func (b *progressBar) draw(done int) {
	now := time.Now()
	if b.begin.IsZero() {
		b.begin = now
	}
	if !b.on || now.Sub(b.last) < 100*time.Millisecond {
		return
	}
	b.last = now
	rate := float64(done) / max(now.Sub(b.begin).Seconds(), 0.1)
	if b.size == 0 {
		fmt.Fprintf(b.to, "\r%d links, %.0f/s ", done, rate)
		return
	}
	const width = 32
	part := min(float64(b.read.n)/float64(b.size), 1)
	full := int(part * width)
	fmt.Fprintf(b.to, "\r%s%s %3.0f%%  %d links, %.0f/s ", strings.Repeat("█", full),
		strings.Repeat("░", width-full), part*100, done, rate)
}

// end takes the bar away.
func (b *progressBar) end() {
	if b.on {
		fmt.Fprint(b.to, "\r\x1b[K")
	}
}

type linksExportCmd struct {
	Format, Output, Search, Tag string

	linksClient
}

// linksExportCommand returns hotrow links export.
func linksExportCommand(p *program) *cobra.Command {
	c := new(linksExportCmd)
	cmd := p.command("export", "Print all links: a backup that import reads.", c.Run)
	f := cmd.Flags()
	f.Var(newOneOf(&c.Format, "ndjson", "ndjson", "csv"), "format",
		"`FORMAT` of the file: ndjson, which import reads, or csv.")
	f.StringVarP(&c.Output, "output", "o", "",
		"Write into this `FILE`, as a whole or not at all; - for standard output.")
	f.StringVar(&c.Search, "search", "", "Only links whose code, target or title has this `TEXT`.")
	f.StringVar(&c.Tag, "tag", "", "Only links with this `TAG`.")
	c.linksClient.add(f)
	return cmd
}

// Run writes all links.
func (c *linksExportCmd) Run(p *program) error {
	if c.Output == "" || c.Output == "-" {
		return c.write(p, p.stdout)
	}
	err := replaceFile(p.ctx, c.Output, 0o600, func(to io.Writer) error { return c.write(p, to) })
	if err != nil {
		return fmt.Errorf("export to %s: %w", c.Output, err)
	}
	return nil
}

// write writes all links to a place.
func (c *linksExportCmd) write(p *program, to io.Writer) error {
	q := map[string]string{"q": c.Search, "tag": c.Tag}
	req, err := c.request(p.ctx, http.MethodGet, "links", nil)
	if err != nil {
		return err
	}
	query := req.URL.Query()
	for name, value := range q {
		if value != "" {
			query.Set(name, value)
		}
	}
	req.URL.RawQuery = query.Encode()
	req.Header.Set("Accept", map[string]string{
		"ndjson": "application/x-ndjson", "csv": "text/csv",
	}[c.Format])
	resp, err := c.do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(to, resp.Body); err != nil {
		return fmt.Errorf("the export is not whole: %w", err)
	}
	return nil
}

type linksResolveCmd struct {
	File, Code string
	JSON       bool
}

// linksResolveCommand returns hotrow links resolve.
func linksResolveCommand(p *program) *cobra.Command {
	c := new(linksResolveCmd)
	cmd := p.command("resolve", "Say where a code of an export leads; no server.", c.Run,
		argument{"<file>", "An export; - for standard input.", &c.File},
		argument{"<code>", "The code, or the short URL.", &c.Code})
	cmd.Flags().BoolVar(&c.JSON, "json", false, "Print the link as JSON.")
	return cmd
}

// Run says where a code leads. It needs no server: this is what is left when
// there is none.
func (c *linksResolveCmd) Run(p *program) error {
	in, _, err := openInput(c.File)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	code := strings.TrimRight(c.Code, "/")
	link, err := transfer.Resolve(in, code[strings.LastIndexByte(code, '/')+1:])
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if c.JSON {
		return json.NewEncoder(p.stdout).Encode(link)
	}
	fmt.Fprintln(p.stdout, link.URL)
	if why := link.Off(time.Now()); why != "" {
		return fmt.Errorf("a server would not follow it: %s", why)
	}
	return nil
}
