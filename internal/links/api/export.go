package api

import (
	"bufio"
	"encoding/csv"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/links/transfer"
	"github.com/hotrow/hotrow/internal/row"
)

// streamStep is how long a client may take for a part of a stream. The server's
// own bounds are those of small answers.
const streamStep = 30 * time.Second

// extend gives the connection so long for what comes next. A writer that is no
// connection needs none.
func (c *call) extend() {
	rc := http.NewResponseController(c.w)
	_ = rc.SetWriteDeadline(time.Now().Add(streamStep))
	_ = rc.SetReadDeadline(time.Now().Add(streamStep))
}

// export writes all links that q finds.
func (c *call) export(q links.Query, mediaType string) error {
	head := c.w.Header()
	head.Set("Content-Type", mediaType)
	name := "links.ndjson"
	if mediaType == typeCSV {
		head.Set("Content-Type", "text/csv; charset=utf-8")
		name = "links.csv"
	}
	if head.Get("Content-Disposition") == "" {
		head.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	}
	head.Add("Vary", "Accept")
	out := bufio.NewWriterSize(c.w, 64<<10)
	each, end := c.ndjson(out), out.Flush
	if mediaType == typeCSV {
		each, end = c.csv(out)
	}
	n := 0
	err := c.o.Links.Each(c.r.Context(), q, func(l *links.Link) error {
		if n%links.MaxPage == 0 {
			c.extend()
		}
		n++
		c.sent = true
		return each(l)
	})
	if err != nil {
		return err
	}
	if n == 0 { // an export of no links may have no bytes
		c.w.WriteHeader(http.StatusOK)
	}
	c.sent = true
	return end()
}

// ndjson writes links one a line.
func (c *call) ndjson(out *bufio.Writer) func(*links.Link) error {
	var line []byte
	now := c.now()
	return func(l *links.Link) error {
		line = append(l.Append(line[:0], row.FormatJSON, c.o.Links.Rules, now), '\n')
		_, err := out.Write(line)
		return err
	}
}

// csvColumns are the columns of an export.
var csvColumns = []string{"code", "short_url", "url", "status", "title", "tags", "enabled",
	"pass_query", "pass_path", "starts_at", "expires_at", "expired_url", "max_clicks", "created_at",
	"updated_at", "clicks", "bots", "last_click_at", "owner"}

// csv writes links as a table, which end completes: its heading is there without links.
func (c *call) csv(w io.Writer) (each func(*links.Link) error, end func() error) {
	out := csv.NewWriter(w)
	first := true
	heading := func() error {
		if !first {
			return nil
		}
		first = false
		return out.Write(csvColumns)
	}
	each = func(l *links.Link) error {
		if err := heading(); err != nil {
			return err
		}
		most := ""
		if l.MaxClicks > 0 {
			most = strconv.FormatInt(l.MaxClicks, 10)
		}
		cells := []string{l.Code, c.o.Links.Rules.ShortURL(l.Code), l.URL, strconv.Itoa(l.Status),
			l.Title, transfer.JoinTags(l.Tags), strconv.FormatBool(l.Enabled),
			strconv.FormatBool(l.PassQuery), strconv.FormatBool(l.PassPath), cellTime(l.StartsAt),
			cellTime(l.ExpiresAt), l.ExpiredURL, most, cellTime(l.CreatedAt), cellTime(l.UpdatedAt),
			strconv.FormatInt(l.Clicks, 10), strconv.FormatInt(l.Bots, 10), cellTime(l.LastClickAt),
			l.Owner}
		for i := range cells {
			cells[i] = transfer.Guard(cells[i])
		}
		return out.Write(cells)
	}
	return each, func() error {
		if err := heading(); err != nil {
			return err
		}
		out.Flush()
		return out.Error()
	}
}

func cellTime(ms int64) string {
	if ms == 0 {
		return ""
	}
	return links.FormatTime(ms)
}
