// Package transfer reads the links that other shorteners export: Bitly, YOURLS,
// Shlink, Kutt, golink, any CSV file with a heading, and hotrow's own export. It
// turns every entry into a Link in the terms of hotrow's API, or into a Refusal
// that says what cannot be taken over and why. Whether a target or a code is
// allowed is for the server to say; nothing here talks to one.
package transfer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
)

// A Link is one link as the API takes it. What a file does not say stays zero,
// and is left to the server's defaults.
type Link struct {
	Line int `json:"-"` // of the file; of a JSON document the number of the entry

	Code       string     `json:"code,omitempty"`
	URL        string     `json:"url"`
	Status     int        `json:"status,omitempty"`
	Title      string     `json:"title,omitempty"`
	Tags       []string   `json:"tags,omitempty"`
	Enabled    *bool      `json:"enabled,omitempty"`
	PassQuery  *bool      `json:"pass_query,omitempty"`
	PassPath   *bool      `json:"pass_path,omitempty"`
	StartsAt   *time.Time `json:"starts_at,omitempty"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty"`
	ExpiredURL string     `json:"expired_url,omitempty"`
	MaxClicks  int64      `json:"max_clicks,omitempty"`
	CreatedAt  *time.Time `json:"created_at,omitempty"`
	Owner      string     `json:"owner,omitempty"` // kept if the key of the import is an admin's
	Clicks     int64      `json:"-"`               // what the other shortener counted; not imported

	// Domain is what the code is a code of, where a file has several name spaces.
	Domain string `json:"-"`

	// Lost are what else the file says of the link, and nothing here can hold: each as a
	// sentence.
	Lost []string `json:"-"`
}

// A Refusal says why an entry of a file is left out. Reading goes on after it.
type Refusal struct {
	Line   int    `json:"line"`
	Code   string `json:"code,omitempty"`
	Reason string `json:"reason"`
}

// A Loss says what a file has, and nobody takes over: of one link, or of the whole file. It
// refuses no link. Reading goes on after it.
type Loss Refusal

// Error returns the loss in one line.
func (l *Loss) Error() string { return (*Refusal)(l).Error() }

// Error returns the refusal in one line.
func (r *Refusal) Error() string {
	if r.Code == "" {
		return fmt.Sprintf("line %d: %s", r.Line, r.Reason)
	}
	return fmt.Sprintf("line %d: %s: %s", r.Line, r.Code, r.Reason)
}

// A Format is what a file was exported from.
type Format string

// The formats. CSV is any table with a heading.
const (
	Auto   Format = ""
	Bitly  Format = "bitly"
	YOURLS Format = "yourls"
	Shlink Format = "shlink"
	Kutt   Format = "kutt"
	Golink Format = "golink"
	CSV    Format = "csv"
	Hotrow Format = "hotrow"

	// Shortcut has users and clicks, too: MoveShortcut takes it over, not Read.
	Shortcut Format = "shortcut"
)

// ParseFormat reads the name of a format; "auto" is Auto.
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case "auto", Auto:
		return Auto, nil
	case Bitly, YOURLS, Shlink, Kutt, Golink, CSV, Hotrow, Shortcut:
		return f, nil
	}
	return "", fmt.Errorf("%q is not a format: want auto, bitly, yourls, shlink, kutt, golink, "+
		"shortcut, csv and hotrow", name)
}

// sniffed is how much of a file is looked at to tell what it is.
const sniffed = 4096

// Read returns the links of a file in their order. The error beside a link is a
// *Refusal of that entry alone; any other error is the last thing that is
// returned, but for a *Loss, which is of the file. The format Auto goes by what the file
// looks like.
func Read(r io.Reader, format Format) iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		head, err := in.Peek(sniffed)
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			yield(Link{}, fmt.Errorf("read the file: %w", err))
			return
		}
		if bytes.HasPrefix(head, utf8Mark) {
			_, _ = in.Discard(len(utf8Mark)) // cannot fail: it has been peeked at
			head = head[len(utf8Mark):]
		}
		switch looksLike(head) {
		case shapeJSON:
			readJSON(in, format, head, yield)
		case shapeSQL:
			readSQL(in, yield)
		case shapeTable:
			readTable(in, format, head, yield)
		case shapeNothing:
			yield(Link{}, fmt.Errorf("the file is empty"))
		}
	}
}

// utf8Mark is what some programs put before UTF-8 text.
var utf8Mark = []byte("\xef\xbb\xbf")

// A shape is how a file is written, whoever wrote it.
type shape int

const (
	shapeNothing shape = iota
	shapeJSON
	shapeSQL
	shapeTable
)

// looksLike tells the shape of a file by how it begins.
func looksLike(head []byte) shape {
	text := bytes.TrimLeft(head, " \t\r\n")
	if len(text) == 0 {
		return shapeNothing
	}
	if text[0] == '{' || text[0] == '[' {
		return shapeJSON
	}
	upper := strings.ToUpper(string(text))
	for _, begin := range []string{
		"--", "/*", "#", "INSERT INTO", "CREATE TABLE", "SET ", "DROP TABLE", "LOCK TABLES",
		"START TRANS",
	} {
		if strings.HasPrefix(upper, begin) {
			return shapeSQL
		}
	}
	return shapeTable
}

// truth returns a pointer, for members whose absence means something else than
// false.
func truth(b bool) *bool { return &b }

// codeOf returns the code of a short URL: what follows its host, without query
// and surrounding slashes. Something that is no URL is a code already, unless it
// begins with a host: bit.ly/2Xy9.
func codeOf(short string) string {
	short, _, _ = strings.Cut(strings.TrimSpace(short), "|") // of several, the first
	if _, rest, isURL := strings.Cut(short, "://"); isURL {
		_, short, _ = strings.Cut(rest, "/")
	} else if host, rest, ok := strings.Cut(short, "/"); ok && strings.Contains(host, ".") {
		short = rest
	}
	if i := strings.IndexAny(short, "?#"); i >= 0 {
		short = short[:i]
	}
	return strings.Trim(short, "/")
}

// layouts are the ways in which exporters write a time. One without a zone is
// taken as UTC.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05", "2006-01-02 15:04:05 UTC", "2006-01-02T15:04:05", "2006-01-02 15:04",
	"2006-01-02",
}

// parseTime reads a time; nil without an error is none.
func parseTime(text string) (*time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "0000-00-00 00:00:00" || strings.EqualFold(text, "null") {
		return nil, nil
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			t = t.UTC()
			return &t, nil
		}
	}
	return nil, fmt.Errorf("%q is not a time that is understood (2026-11-22T19:00:00Z is)",
		clip(text))
}

// clip shortens a text of a file that goes into a message.
func clip(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
