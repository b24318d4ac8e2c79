package transfer

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// headings maps the headings that exporters use, without case, blanks, hyphens
// and underscores, to the members of a Link.
var headings = map[string]string{
	// Shlink's importer and web client, YOURLS, Bitly, Kutt, spreadsheets
	"longurl": "url", "url": "url", "target": "url", "destination": "url",
	"destinationurl": "url", "originalurl": "url", "long": "url", "targeturl": "url",
	"code": "code", "shortcode": "code", "keyword": "code", "address": "code", "slug": "code",
	"backhalf": "code", "custombackhalf": "code", "alias": "code", "key": "code", "short": "code",
	"shorturl": "short", "link": "short", "bitlink": "short", "shortlink": "short",
	"customlink": "custom", "custombitlink": "custom", "custombitlinks": "custom",
	"title": "title", "description": "title", "name": "title", "pagetitle": "title",
	"tags": "tags", "tag": "tags",
	"status": "status", "redirecttype": "status", "redirectstatus": "status", "httpcode": "status",
	"enabled": "enabled", "isenabled": "enabled", "active": "enabled", "isactive": "enabled",
	"disabled": "off", "isdisabled": "off", "inactive": "off", "paused": "off", "blocked": "off",
	"banned": "off", "deleted": "off", "isdeleted": "off",
	"archived": "archived", "isarchived": "archived",
	"owner": "owner", "creator": "owner", "domain": "domain", "secretkey": "secret",
	"passquery": "pass_query", "passpath": "pass_path",
	"startsat": "starts_at", "validsince": "starts_at",
	"expiresat": "expires_at", "validuntil": "expires_at", "expirein": "expires_at",
	"expiry": "expires_at", "expires": "expires_at", "expirationdate": "expires_at",
	"expiredurl": "expired_url",
	"maxclicks":  "max_clicks", "maxvisits": "max_clicks",
	"createdat": "created_at", "created": "created_at", "timestamp": "created_at",
	"datecreated": "created_at", "createddate": "created_at", "creationdate": "created_at",
	"clicks": "clicks", "visits": "clicks", "visitcount": "clicks", "totalclicks": "clicks",
	"engagements": "clicks", "totalengagements": "clicks", "password": "password",
	"passwordprotected": "password", "haspassword": "password",
	"crawlable": "crawlable", "hasredirectrules": "rules", "redirectrules": "rules",
	"devicelongurls": "devices",

	// What means nothing outside the program that wrote it.
	"id": unused, "uuid": unused, "linkid": unused, "ip": unused, "updatedat": unused,
	"lastedit": unused, "modified": unused, "lastclickat": unused, "bots": unused,
	"visitssummary": unused, "visitscount": unused, "meta": unused, "forwardquery": unused,
	"longurlhash": unused, "iscustom": unused, "isapi": unused, "clientid": unused,
	"references": unused, "reuse": unused, "state": unused, "urlhash": unused,
}

// unused is the member of headings that say nothing of a link here.
const unused = "-"

// normal returns a heading as the keys of headings are written.
func normal(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == ' ' || r == '_' || r == '-':
			return -1
		}
		return r
	}, strings.TrimSpace(heading))
}

// readTable reads a CSV file whose first line names the columns. A YOURLS table
// without a heading has its columns in the order of YOURLS's own table.
func readTable(in *bufio.Reader, format Format, head []byte, yield func(Link, error) bool) {
	rows := csv.NewReader(in)
	rows.Comma = separator(head)
	rows.FieldsPerRecord = -1
	rows.LazyQuotes = true
	rows.ReuseRecord = true
	columns, own, err := tableColumns(rows, format)
	if err != nil {
		yield(Link{}, err)
		return
	}
	unknown := make(strangers)
	for {
		cells, err := rows.Read()
		if err == io.EOF {
			return
		}
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			if !yield(Link{}, &Refusal{Line: bad.StartLine, Reason: bad.Err.Error()}) {
				return
			}
			continue
		}
		if err != nil {
			yield(Link{}, fmt.Errorf("read the table: %w", err))
			return
		}
		line, _ := rows.FieldPos(0)
		f := fields{line: line, format: format, own: own, of: map[string]string{}, unknown: unknown}
		for i, cell := range cells {
			if i < len(columns) {
				f.put(columns[i], unguard(cell))
			}
		}
		if own {
			f.tags = parseTags(f.of["tags"])
		} else {
			f.tags = strings.FieldsFunc(f.of["tags"], isTagSeparator)
		}
		if !yield(f.link()) {
			return
		}
	}
}

// yourlsColumns is the order of the columns in YOURLS's table of links.
var yourlsColumns = []string{"keyword", "url", "title", "timestamp", "ip", "clicks"}

// tableColumns reads the heading and returns its columns, and whether it is one of
// hotrow's own.
func tableColumns(rows *csv.Reader, format Format) (columns []string, own bool, err error) {
	first, err := rows.Read()
	if err != nil {
		return nil, false, fmt.Errorf("read the heading: %w", err)
	}
	columns = slices.Clone(first) // which the next row takes
	known := map[string]bool{}
	named := func(name string) bool { return slices.Contains(columns, name) }
	for _, heading := range columns {
		known[headings[normal(heading)]] = true
	}
	if known["url"] {
		return columns, isOwn(format, named), nil
	}
	if format == YOURLS {
		return nil, false, fmt.Errorf("the first line names no columns: put %q before it",
			strings.Join(yourlsColumns, ","))
	}
	return nil, false, fmt.Errorf("no column for the target in the heading %q: one must be called "+
		"url, long_url, target or destination, and code or short_url says the code",
		clip(strings.Join(columns, string(rows.Comma))))
}

// separator returns which of , ; and tab divides the heading.
func separator(head []byte) rune {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	best, most := ',', bytes.Count(line, []byte(","))
	for _, c := range ";\t" {
		if n := bytes.Count(line, []byte(string(c))); n > most {
			best, most = c, n
		}
	}
	return best
}

// maxTitle is how many characters of a title the server takes.
const maxTitle = 300

// oneLine makes a title one that the server takes: what others keep of a page's
// title may be long and have line breaks, and no link is to be lost for that.
func oneLine(title string) string {
	title = strings.Join(strings.FieldsFunc(title, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)
	}), " ")
	return title
}

// cutTitle cuts a title to what the server takes.
func cutTitle(title string) string {
	if runes := []rune(title); len(runes) > maxTitle {
		return string(runes[:maxTitle])
	}
	return title
}

// isTagSeparator: Shlink writes a|b, others a,b or a;b.
func isTagSeparator(r rune) bool { return r == '|' || r == ',' || r == ';' }

// isYes reads a truth value.
func isYes(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", "0", "false", "no", "off", "null", "f", "n":
		return false
	}
	return true
}
