package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// linksCommand returns hotrow links, the shortener from the command line: all but
// resolve asks the running server.
func linksCommand(p *program) *cobra.Command {
	return group("links", "Make, find, import and export short links.",
		linksAddCommand(p), linksEditCommand(p), linksListCommand(p), linksRemoveCommand(p),
		linksRestoreCommand(p), linksStatsCommand(p), linksTailCommand(p), linksImportCommand(p),
		linksExportCommand(p), linksResolveCommand(p), linksKeyCommand(p))
}

// A linkDocument is a link as the API shows it.
type linkDocument struct {
	Code        string     `json:"code"`
	ShortURL    string     `json:"short_url"`
	URL         string     `json:"url"`
	Enabled     bool       `json:"enabled"`
	ExpiresAt   *time.Time `json:"expires_at"`
	CreatedAt   time.Time  `json:"created_at"`
	Clicks      int64      `json:"clicks"`
	Bots        int64      `json:"bots"`
	LastClickAt *time.Time `json:"last_click_at"`
	Title       string     `json:"title"`
	Tags        []string   `json:"tags"`
	State       string     `json:"state"`
}

type linksAddCmd struct {
	URL, Code, Expire, Title string
	Max                      int64
	Tag                      []string
	Status                   int
	Reuse                    bool

	linksClient
}

// linksAddCommand returns hotrow links add.
func linksAddCommand(p *program) *cobra.Command {
	c := new(linksAddCmd)
	cmd := p.command("add", "Shorten a URL and print the short one.", c.Run,
		argument{"<url>", "Where the link leads.", &c.URL},
		argument{"[<code>]", "Its code; made up if not given.", &c.Code})
	f := cmd.Flags()
	f.StringVar(&c.Expire, "expire", "", "When it expires, after so long or then: `7d|TIME`.")
	f.Int64Var(&c.Max, "max", 0, "It may be followed `N` times.")
	f.Var(list{&c.Tag}, "tag", "A `TAG`; several are allowed.")
	f.StringVar(&c.Title, "title", "", "A `TITLE`, for the list.")
	f.IntVar(&c.Status, "status", 0, "HTTP `STATUS`: 301, 302, 303, 307 or 308.")
	f.BoolVar(&c.Reuse, "reuse", false,
		"Take a link that leads there already, if there is one.")
	c.linksClient.add(f)
	return cmd
}

// Run makes a link.
func (c *linksAddCmd) Run(p *program) error {
	doc := map[string]any{"url": c.URL}
	if c.Expire != "" {
		at, err := expiry(c.Expire, time.Now())
		if err != nil {
			return usageError{err}
		}
		doc["expires_at"] = at.UTC().Format(time.RFC3339)
	}
	for name, member := range map[string]struct {
		value any
		given bool
	}{
		"code": {c.Code, c.Code != ""}, "max_clicks": {c.Max, c.Max != 0},
		"tags": {c.Tag, len(c.Tag) > 0}, "title": {c.Title, c.Title != ""},
		"status": {c.Status, c.Status != 0}, "reuse": {true, c.Reuse},
	} {
		if member.given {
			doc[name] = member.value
		}
	}
	var made linkDocument
	text, err := c.ask(p, http.MethodPost, "links", doc, &made)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.print(p, text)
	}
	fmt.Fprintln(p.stdout, made.ShortURL)
	return nil
}

// expiry reads when a link expires: a duration, in which d is a day and w a
// week, or a time.
func expiry(text string, now time.Time) (time.Time, error) {
	units := map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour}
	for suffix, unit := range units {
		number, found := strings.CutSuffix(text, suffix)
		if n, err := strconv.ParseFloat(number, 64); found && err == nil && n > 0 && n < 1e5 {
			return now.Add(time.Duration(n * float64(unit))), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--expire %q is neither a duration (7d, 12h) nor a time "+
		"(2026-12-31, 2026-12-31T23:59:59Z)", text)
}

type linksListCmd struct {
	Search, Tag, Order string
	Limit              int

	linksClient
}

// linksListCommand returns hotrow links ls.
func linksListCommand(p *program) *cobra.Command {
	c := new(linksListCmd)
	cmd := p.command("ls", "List links.", c.Run,
		argument{"[<search>]", "What code, target or title has.", &c.Search})
	f := cmd.Flags()
	f.StringVar(&c.Tag, "tag", "", "Only those with this `TAG`.")
	f.Var(newOneOf(&c.Order, "-created_at", "-created_at", "-clicks", "code"), "order",
		"`ORDER` of the list: -created_at, -clicks or code.")
	f.IntVar(&c.Limit, "limit", 50, "How many; 0: all.")
	c.linksClient.add(f)
	return cmd
}

// Run lists links, page by page.
func (c *linksListCmd) Run(p *program) error {
	out := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	if !c.JSON {
		fmt.Fprintln(out, "CODE\tSTATE\tCLICKS\tBOTS\tLAST\tEXPIRES\tTARGET\tTITLE")
	}
	after, left := "", c.Limit
	for {
		n := 500
		if c.Limit > 0 {
			n = min(n, left)
		}
		q := url.Values{"order": {c.Order}, "limit": {strconv.Itoa(n)}}
		for name, value := range map[string]string{"q": c.Search, "tag": c.Tag, "after": after} {
			if value != "" {
				q.Set(name, value)
			}
		}
		var page struct {
			Links []json.RawMessage `json:"links"`
			Next  *string           `json:"next"`
		}
		if _, err := c.ask(p, http.MethodGet, "links?"+q.Encode(), nil, &page); err != nil {
			return err
		}
		for _, text := range page.Links {
			if err := c.line(p, out, text); err != nil {
				return err
			}
		}
		left -= len(page.Links)
		if page.Next == nil || *page.Next == "" || c.Limit > 0 && left <= 0 {
			break
		}
		after = *page.Next
	}
	return out.Flush()
}

// line prints one link.
func (c *linksListCmd) line(p *program, out io.Writer, text json.RawMessage) error {
	if c.JSON {
		return c.print(p, text)
	}
	var l linkDocument
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	last, expires := "-", "-"
	if l.LastClickAt != nil {
		last = l.LastClickAt.UTC().Format("2006-01-02 15:04")
	}
	if l.ExpiresAt != nil {
		expires = l.ExpiresAt.UTC().Format("2006-01-02 15:04")
	}
	_, err := fmt.Fprintf(out, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\n",
		l.Code, l.State, l.Clicks, l.Bots, last, expires, l.URL, l.Title)
	return err
}

type linksRemoveCmd struct {
	Code []string

	linksClient
}

// linksRemoveCommand returns hotrow links rm.
func linksRemoveCommand(p *program) *cobra.Command {
	c := new(linksRemoveCmd)
	cmd := p.command("rm", "Delete links.", c.Run, argument{"<code> ...", "The codes.", &c.Code})
	c.linksClient.add(cmd.Flags())
	return cmd
}

// Run deletes links. It goes on after one that cannot be deleted.
func (c *linksRemoveCmd) Run(p *program) error {
	var errs []error
	for _, code := range c.Code {
		_, err := c.ask(p, http.MethodDelete, "links/"+url.PathEscape(code), nil, nil)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", code, err))
		}
	}
	return errors.Join(errs...)
}

type linksStatsCmd struct {
	Code, Unit, From, To, By string

	linksClient
}

// linksStatsCommand returns hotrow links stats.
func linksStatsCommand(p *program) *cobra.Command {
	c := new(linksStatsCmd)
	cmd := p.command("stats", "Say how often a link was followed, and by whom.", c.Run,
		argument{"[<code>]", "The code; all links if not given.", &c.Code})
	f := cmd.Flags()
	f.Var(newOneOf(&c.Unit, "day", "hour", "day", "month"), "unit",
		"`UNIT` of the series: hour, day or month.")
	f.StringVar(&c.From, "from", "", "From this `TIME` on: a date or an RFC 3339 time.")
	f.StringVar(&c.To, "to", "", "Up to this `TIME`.")
	f.StringVar(&c.By, "by", "referrer,country,browser,os",
		"What to break the clicks down by: `WORD,...`.")
	c.linksClient.add(f)
	return cmd
}

// A linkStats is what the API says of a link's clicks.
type linkStats struct {
	Total struct {
		Clicks, Bots, Visitors int64
	}
	Series [][4]any
	By     map[string][][2]any
}

// Run prints the statistics of a link.
func (c *linksStatsCmd) Run(p *program) error {
	q := url.Values{"unit": {c.Unit}, "by": {c.By}}
	for name, value := range map[string]string{"from": c.From, "to": c.To} {
		if value != "" {
			q.Set(name, value)
		}
	}
	path := "stats"
	if c.Code != "" {
		path = "links/" + url.PathEscape(c.Code) + "/stats"
	}
	var s linkStats
	text, err := c.ask(p, http.MethodGet, path+"?"+q.Encode(), nil, &s)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.print(p, text)
	}
	s.print(p.stdout, c.Unit, strings.Split(c.By, ","))
	return nil
}

// print writes a table of the series, and one of each dimension.
func (s *linkStats) print(to io.Writer, unit string, dims []string) {
	fmt.Fprintf(to, "%d clicks, %d bots, %d visitors\n\n",
		s.Total.Clicks, s.Total.Bots, s.Total.Visitors)
	most := 1.0
	for _, b := range s.Series {
		n, _ := b[1].(float64)
		most = max(most, n)
	}
	out := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "%s\tclicks\tbots\tvisitors\t\n", unit)
	for _, b := range s.Series {
		n, _ := b[1].(float64)
		bar := strings.Repeat("█", int(n/most*40+0.5))
		fmt.Fprintf(out, "%v\t%v\t%v\t%v\t %s\n", b[0], b[1], b[2], b[3], bar)
	}
	_ = out.Flush() // run says what is lost
	for _, dim := range dims {
		if len(s.By[dim]) == 0 {
			continue
		}
		fmt.Fprintf(to, "\n%s\n", dim)
		for _, share := range s.By[dim] {
			fmt.Fprintf(to, "%10v  %v\n", share[1], share[0])
		}
	}
}
