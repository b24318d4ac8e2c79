package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/links/clicks"
)

// maxShares is how many values of a dimension an answer has.
const maxShares = 50

// stats answers with the clicks of a link over time; with code "" those of all.
func (c *call) stats(code string) error {
	if err := c.may(links.RoleRead, true); err != nil {
		return err
	}
	if err := c.known("from", "to", "unit", "by"); err != nil {
		return err
	}
	span, err := c.span(links.Day)
	if err != nil {
		return err
	}
	dims, err := c.dimensions()
	if err != nil {
		return err
	}
	id, members := clicks.All, []member(nil)
	if code != "" {
		l, err := c.o.Links.Get(c.r.Context(), code)
		if err != nil {
			return err
		}
		id, members = l.ID, append(members, member{"code", l.Code})
	}
	series, err := c.o.Stats.Series(c.r.Context(), id, span)
	if err != nil {
		return err
	}
	members = append(members, seriesMembers(series, span)...)
	if len(dims) > 0 {
		by, err := c.by(id, span, dims)
		if err != nil {
			return err
		}
		members = append(members, member{"by", by})
	}
	members = append(members, member{"as_of", links.FormatTime(series.AsOf.UnixMilli())})
	return c.answer(http.StatusOK, members...)
}

// by reads what the clicks of a link are made of.
func (c *call) by(link int64, span links.Span, names []string) (map[string][][2]any, error) {
	dims := make([]clicks.Dim, len(names))
	for i, name := range names {
		dims[i] = links.Dimensions[name]
	}
	shares, err := c.o.Stats.Shares(c.r.Context(), link, span, maxShares, dims...)
	if err != nil {
		return nil, err
	}
	by := make(map[string][][2]any, len(names))
	for i, name := range names {
		by[name] = sharesOf(shares[dims[i]])
	}
	return by, nil
}

// seriesMembers returns what an answer says of a series.
func seriesMembers(s *links.Series, span links.Span) []member {
	rows := make([][4]any, len(s.Buckets))
	for i, b := range s.Buckets {
		rows[i] = [4]any{s.Unit.Name(b.At), b.Clicks, b.Bots, b.Visitors}
	}
	name := func(t time.Time) string { return span.Unit.Name(t.UTC()) }
	return []member{{"from", name(span.From)}, {"to", name(span.To)}, {"unit", s.Unit},
		{"total", map[string]int64{"clicks": s.Total.Clicks, "bots": s.Total.Bots,
			"visitors": s.Total.Visitors}},
		{"series", rows}}
}

func sharesOf(shares []links.Share) [][2]any {
	out := make([][2]any, len(shares))
	for i, s := range shares {
		out[i] = [2]any{s.Value, s.Clicks}
	}
	return out
}

// dimensions reads by.
func (c *call) dimensions() ([]string, error) {
	if c.form.Get("by") == "" {
		return nil, nil
	}
	names := strings.Split(c.form.Get("by"), ",")
	for _, n := range names {
		if _, ok := links.Dimensions[n]; !ok || len(names) > len(links.Dimensions) {
			return nil, problem{kind: kindBadQuery,
				detail: "by is a list of referrer, country, browser, os and device"}
		}
	}
	return names, nil
}

// span reads unit, from and to. Without from it is the last day of hours, month
// of days, or year of months.
func (c *call) span(byDefault links.Unit) (links.Span, error) {
	span := links.Span{To: c.o.Now().UTC(), Unit: byDefault}
	if u := c.form.Get("unit"); u != "" {
		span.Unit = links.Unit(u)
	}
	back := map[links.Unit]time.Time{
		links.Hour: span.To.Add(-23 * time.Hour), links.Day: span.To.AddDate(0, 0, -29),
		links.Month: span.To.AddDate(0, -11, 0),
	}
	var ok bool
	if span.From, ok = back[span.Unit]; !ok {
		return span, problem{kind: kindBadQuery, detail: "unit is hour, day or month"}
	}
	for name, at := range map[string]*time.Time{"from": &span.From, "to": &span.To} {
		text := c.form.Get(name)
		if text == "" {
			continue
		}
		if *at, ok = parseTime(text); !ok {
			return span, problem{kind: kindBadQuery,
				detail: name + " is a date, or a time such as 2026-11-21T19:00:00Z"}
		}
	}
	if span.To.Before(span.From) {
		return span, problem{kind: kindBadQuery, detail: "from is after to"}
	}
	return span, nil
}

// parseTime reads a date or a time of the last and the next thousand years.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.DateOnly, time.RFC3339, "2006-01"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), t.Year() >= 1970 && t.Year() < 3000
		}
	}
	return time.Time{}, false
}

// orphans answers with what was asked for in vain, most often first; today's
// unless a span is given.
func (c *call) orphans() error {
	if err := c.may(links.RoleRead, false); err != nil {
		return err
	}
	if err := c.known("from", "to", "limit"); err != nil {
		return err
	}
	span, err := c.span(links.Day)
	if err != nil {
		return err
	}
	if c.form.Get("from") == "" {
		span.From = span.To
	}
	limit, err := c.number("limit", 100, 1000)
	if err != nil {
		return err
	}
	ctx := c.r.Context()
	all, err := c.o.Stats.Shares(ctx, clicks.Orphans, span, limit, clicks.DimPath)
	if err != nil {
		return err
	}
	shares := all[clicks.DimPath]
	type orphan struct {
		Path   string `json:"path"`
		Clicks int64  `json:"clicks"`
		Code   string `json:"code,omitempty"` // of the link that there is now
	}
	out := make([]orphan, len(shares))
	for i, s := range shares {
		out[i] = orphan{Path: s.Value, Clicks: s.Clicks}
		if out[i].Code, err = c.o.Links.AtPath(ctx, s.Value); err != nil {
			return err
		}
	}
	series, err := c.o.Stats.Series(ctx, clicks.Orphans, span)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK,
		append([]member{{"orphans", out}}, seriesMembers(series, span)...)...)
}
