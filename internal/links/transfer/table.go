package transfer

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
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
	"title": "title", "description": "title", "name": "title",
	"tags": "tags", "tag": "tags",
	"status": "status", "enabled": "enabled", "banned": "banned", "archived": "archived",
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
}

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
		f := fields{line: line, format: format, own: own, of: map[string]string{}}
		for i, cell := range cells {
			if i < len(columns) && columns[i] != "" && f.of[columns[i]] == "" {
				f.of[columns[i]] = unguard(cell)
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

// tableColumns reads the heading and returns which member each column is, and whether
// it is one of hotrow's own.
func tableColumns(rows *csv.Reader, format Format) (columns []string, own bool, err error) {
	first, err := rows.Read()
	if err != nil {
		return nil, false, fmt.Errorf("read the heading: %w", err)
	}
	columns = make([]string, len(first))
	known := map[string]bool{}
	named := func(name string) bool { return slices.Contains(first, name) }
	for i, heading := range first {
		columns[i] = headings[normal(heading)]
		known[columns[i]] = true
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
		clip(strings.Join(first, string(rows.Comma))))
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

// fields are the members of one entry as texts.
type fields struct {
	line   int
	format Format
	own    bool // it is hotrow's: its texts are what they are to be again
	of     map[string]string
	tags   []string
	refuse string // why it cannot be taken over, whatever the fields say
}

// link returns the link that the fields describe.
func (f *fields) link() (Link, error) {
	l := Link{
		Line: f.line, Code: strings.Trim(f.of["code"], " /"), URL: f.of["url"],
		Title: f.of["title"], ExpiredURL: f.of["expired_url"],
	}
	if !f.own {
		l.Title = oneLine(l.Title)
	}
	if l.Code == "" || strings.Contains(l.Code, "/") {
		// Bitly: a link that was given a name keeps the one that was made for it;
		// what people have printed is the name.
		if short := cmp.Or(f.of["custom"], f.of["short"]); short != "" {
			l.Code = codeOf(short)
		}
	}
	refuse := func(reason string) (Link, error) {
		return l, &Refusal{Line: l.Line, Code: l.Code, Reason: reason}
	}
	if f.refuse != "" {
		return refuse(f.refuse)
	}
	if l.URL == "" {
		return refuse("there is no target")
	}
	if p := f.of["password"]; isYes(p) {
		return refuse("it asks for a password, which hotrow does not: anybody could follow it")
	}
	for _, tag := range f.tags {
		if tag = strings.TrimSpace(tag); tag != "" {
			l.Tags = append(l.Tags, tag)
		}
	}
	for _, read := range []func(*Link) error{f.switches, f.times, f.numbers} {
		if err := read(&l); err != nil {
			return refuse(err.Error())
		}
	}
	return l, nil
}

// maxTitle is how many characters of a title the server takes.
const maxTitle = 300

// oneLine makes a title one that the server takes: what others keep of a page's
// title may be long and have line breaks, and no link is to be lost for that.
func oneLine(title string) string {
	title = strings.Join(strings.FieldsFunc(title, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)
	}), " ")
	if runes := []rune(title); len(runes) > maxTitle {
		return string(runes[:maxTitle])
	}
	return title
}

// isTagSeparator: Shlink writes a|b, others a,b or a;b.
func isTagSeparator(r rune) bool { return r == '|' || r == ',' || r == ';' }

// switches reads what is on or off.
func (f *fields) switches(l *Link) error {
	for _, s := range []struct {
		name string
		to   **bool
	}{{"enabled", &l.Enabled}, {"pass_query", &l.PassQuery}, {"pass_path", &l.PassPath}} {
		text := strings.TrimSpace(f.of[s.name])
		if text == "" {
			continue
		}
		*s.to = truth(isYes(text))
	}
	if isYes(f.of["banned"]) || isYes(f.of["archived"]) && f.format == Bitly {
		l.Enabled = truth(false)
	}
	return nil
}

// isYes reads a truth value.
func isYes(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", "0", "false", "no", "off", "null", "f", "n":
		return false
	}
	return true
}

// times reads the moments.
func (f *fields) times(l *Link) (err error) {
	if l.StartsAt, err = parseTime(f.of["starts_at"]); err != nil {
		return err
	}
	if l.ExpiresAt, err = parseTime(f.of["expires_at"]); err != nil {
		return err
	}
	// A creation time that cannot be read loses nothing but itself.
	l.CreatedAt, _ = parseTime(f.of["created_at"])
	return nil
}

// numbers reads the counts and the status.
func (f *fields) numbers(l *Link) error {
	l.Clicks, _ = strconv.ParseInt(strings.TrimSpace(f.of["clicks"]), 10, 64)
	if text := strings.TrimSpace(f.of["max_clicks"]); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a limit of clicks", clip(text))
		}
		l.MaxClicks = n
	}
	// Other exporters call other things status, so only a redirect's is one.
	if n, err := strconv.Atoi(strings.TrimSpace(f.of["status"])); err == nil && n/100 == 3 {
		l.Status = n
	}
	return nil
}
