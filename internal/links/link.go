// Package links keeps short links in a database: which targets and codes are
// allowed (Rules), and the rows themselves, their tags and their history
// (Store). Its subpackages hold the tables (schema), the API over HTTP (api),
// the log of clicks and what becomes of it (clicklog, clicks).
//
// It answers no redirect: a link is a row of the table links, which is a
// resource like any other, and fronts answer it from memory.
package links

import (
	"time"

	"github.com/hotrow/hotrow/internal/row"
)

// Table is the name of the table of links.
const Table = "links"

// A Link is one short link. Times are milliseconds since 1970, 0 for none; texts
// that may be missing are "" then.
type Link struct {
	ID         int64
	Code       string
	URL        string
	Status     int
	Enabled    bool
	PassQuery  bool
	PassPath   bool
	StartsAt   int64
	ExpiresAt  int64
	MaxClicks  int64 // 0: any number
	ExpiredURL string
	Title      string
	Owner      string
	Tags       []string // sorted
	CreatedAt  int64
	UpdatedAt  int64
	Version    int64

	Clicks, Bots int64 // counted so far
	LastClickAt  int64
}

// shape is a link in answers, and in the lines of an export.
var shape = row.NewShape([]row.Field{
	{Name: "code", Kind: row.Text}, {Name: "short_url", Kind: row.Text},
	{Name: "url", Kind: row.Text}, {Name: "status", Kind: row.Int},
	{Name: "title", Kind: row.Text}, {Name: "tags", Kind: row.Array},
	{Name: "enabled", Kind: row.Bool}, {Name: "pass_query", Kind: row.Bool},
	{Name: "pass_path", Kind: row.Bool}, {Name: "starts_at", Kind: row.DatetimeTZ},
	{Name: "expires_at", Kind: row.DatetimeTZ}, {Name: "expired_url", Kind: row.Text},
	{Name: "max_clicks", Kind: row.Int}, {Name: "created_at", Kind: row.DatetimeTZ},
	{Name: "updated_at", Kind: row.DatetimeTZ}, {Name: "clicks", Kind: row.Int},
	{Name: "bots", Kind: row.Int}, {Name: "last_click_at", Kind: row.DatetimeTZ},
	{Name: "owner", Kind: row.Text}, {Name: "state", Kind: row.Text},
})

// Shape returns the members of a link in answers, for fronts that frame them.
func Shape() *row.Shape { return shape }

// The states of a link: whether it leads to its target now, and why not.
const (
	StateOn        = "on"
	StateOff       = "off"       // switched off
	StateScheduled = "scheduled" // starts_at is still to come
	StateExpired   = "expired"   // expires_at has passed
	StateUsed      = "used"      // max_clicks have been
)

// State returns the state of l at a time in milliseconds since 1970.
func (l *Link) State(now int64) string {
	switch {
	case !l.Enabled:
		return StateOff
	case l.ExpiresAt != 0 && now >= l.ExpiresAt:
		return StateExpired
	case l.StartsAt != 0 && now < l.StartsAt:
		return StateScheduled
	case l.MaxClicks > 0 && l.Clicks >= l.MaxClicks:
		return StateUsed
	}
	return StateOn
}

// Values returns l in the order of Shape, with its state at now.
func (l *Link) Values(r *Rules, now int64) row.Values {
	tags := make([]row.Value, len(l.Tags))
	for i, t := range l.Tags {
		tags[i] = row.TextValue(row.Text, t)
	}
	most := row.Value{}
	if l.MaxClicks > 0 {
		most = row.IntValue(l.MaxClicks)
	}
	return row.Values{
		row.TextValue(row.Text, l.Code), row.TextValue(row.Text, r.ShortURL(l.Code)),
		row.TextValue(row.Text, l.URL), row.IntValue(int64(l.Status)),
		textOrNull(l.Title), row.ArrayValue(tags),
		row.BoolValue(l.Enabled), row.BoolValue(l.PassQuery), row.BoolValue(l.PassPath),
		timeOrNull(l.StartsAt), timeOrNull(l.ExpiresAt), textOrNull(l.ExpiredURL),
		most, timeOrNull(l.CreatedAt), timeOrNull(l.UpdatedAt),
		row.IntValue(l.Clicks), row.IntValue(l.Bots), timeOrNull(l.LastClickAt),
		textOrNull(l.Owner), row.TextValue(row.Text, l.State(now)),
	}
}

// Append appends l in a format, with its state at now, in milliseconds since 1970.
func (l *Link) Append(dst []byte, f row.Format, r *Rules, now int64) []byte {
	if f == row.FormatMsgPack {
		return shape.AppendMsgPack(dst, l.Values(r, now))
	}
	return shape.AppendJSON(dst, l.Values(r, now))
}

func textOrNull(s string) row.Value {
	if s == "" {
		return row.Value{}
	}
	return row.TextValue(row.Text, s)
}

// FormatTime writes milliseconds since 1970 as RFC 3339 in UTC.
func FormatTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.999Z07:00")
}

func timeOrNull(ms int64) row.Value {
	if ms == 0 {
		return row.Value{}
	}
	return row.TextValue(row.DatetimeTZ, FormatTime(ms))
}
