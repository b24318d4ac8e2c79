package linksfront

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/row"
)

// A Preparer makes of a row of links the head of its redirect, with what has to
// be looked at before it is sent. It is a resource.Preparer.
type Preparer struct {
	// MaxAge is how long browsers may keep a permanent redirect. Without a
	// bound they keep it for ever: its target could not be changed, and who
	// follows it again would not be seen.
	MaxAge time.Duration
}

// What a prepared redirect says of its link. A link without any is answered
// as it is.
const (
	isDisabled = 1 << iota
	isBroken   // its target cannot be sent
	hasStart
	hasExpiry
	hasLimit
	hasExpiredURL
	passesQuery
	passesPath
)

// needsRules are the flags of a link whose answer is not always the same.
const needsRules = isDisabled | isBroken | hasStart | hasExpiry | hasLimit

// The layout of a prepared redirect: numbers, the status line, the other lines
// up to the empty one, the target for those who come too late.
const (
	atFlags   = 0  // uint16
	atStatus  = 2  // uint16
	atLine    = 4  // uint16: bytes of the status line
	atURL     = 6  // uint16: bytes of the target
	atRest    = 8  // uint16: bytes of the other lines, the target among them
	atID      = 16 // int64, and so on
	atStarts  = 24
	atExpires = 32
	atLimit   = 40
	atText    = 48
)

// prefix is what stands in front of the target.
const prefix = "Location: "

// prepared is the body of a document of row.FormatPrepared.
type prepared []byte

func (p prepared) flags() uint16  { return binary.LittleEndian.Uint16(p[atFlags:]) }
func (p prepared) status() int    { return int(binary.LittleEndian.Uint16(p[atStatus:])) }
func (p prepared) id() int64      { return int64(binary.LittleEndian.Uint64(p[atID:])) }
func (p prepared) starts() int64  { return int64(binary.LittleEndian.Uint64(p[atStarts:])) }
func (p prepared) expires() int64 { return int64(binary.LittleEndian.Uint64(p[atExpires:])) }
func (p prepared) limit() int64   { return int64(binary.LittleEndian.Uint64(p[atLimit:])) }

func (p prepared) length(at int) int { return int(binary.LittleEndian.Uint16(p[at:])) }

// line returns the status line with its end.
func (p prepared) line() []byte { return p[atText : atText+p.length(atLine)] }

// rest returns the lines behind Date and Connection, and the empty one.
func (p prepared) rest() []byte {
	from := atText + p.length(atLine)
	return p[from : from+p.length(atRest)]
}

// url returns the target.
func (p prepared) url() []byte { return p.rest()[len(prefix) : len(prefix)+p.length(atURL)] }

// tail returns what follows the target in rest.
func (p prepared) tail() []byte { return p.rest()[len(prefix)+p.length(atURL):] }

// expiredURL returns where those are sent who come too late.
func (p prepared) expiredURL() []byte {
	return p[atText+p.length(atLine)+p.length(atRest):]
}

// AppendPrepared implements resource.Preparer.
func (pr *Preparer) AppendPrepared(dst []byte, shape *row.Shape, v row.Values) []byte {
	l := linkOf(shape, v)
	var b [atText]byte
	p := prepared(b[:])
	line := statusLine(l.status)
	put := binary.LittleEndian
	put.PutUint16(p[atStatus:], uint16(l.status))
	put.PutUint16(p[atLine:], uint16(len(line)))
	put.PutUint64(p[atID:], uint64(l.id))
	put.PutUint64(p[atStarts:], uint64(l.starts))
	put.PutUint64(p[atExpires:], uint64(l.expires))
	put.PutUint64(p[atLimit:], uint64(l.limit))
	if !sendable(l.url) {
		l.flags |= isBroken
		l.url = ""
	}
	if !sendable(l.expiredURL) {
		l.flags &^= hasExpiredURL
		l.expiredURL = ""
	}
	rest := append(append([]byte(prefix), l.url...), "\r\n"...)
	rest = append(rest, pr.lines(l.status, l.flags)...)
	put.PutUint16(p[atFlags:], l.flags)
	put.PutUint16(p[atURL:], uint16(len(l.url)))
	put.PutUint16(p[atRest:], uint16(len(rest)))
	dst = append(append(append(dst, p...), line...), rest...)
	return append(dst, l.expiredURL...)
}

// lines returns what stands behind the target in an answer. Where redirects are
// counted off, one that a browser follows from its memory would be one too many.
func (pr *Preparer) lines(status int, flags uint16) string {
	text := "X-Robots-Tag: noindex\r\n"
	switch {
	case status != 301 && status != 308:
	case flags&hasLimit != 0:
		text += "Cache-Control: private, no-store\r\n"
	default:
		text += "Cache-Control: private, " + maxAge +
			strconv.Itoa(int(pr.MaxAge/time.Second)) + "\r\n"
	}
	return text + "Content-Length: 0\r\n\r\n"
}

// maxAge is what stands in front of how long a browser may keep a redirect.
const maxAge = "max-age="

// appendTail appends tail, with so many milliseconds as a redirect is followed at all
// in place of a longer time that it may be kept.
func (p prepared) appendTail(dst []byte, left int64) []byte {
	tail := p.tail()
	from := bytes.Index(tail, []byte(maxAge))
	if from < 0 {
		return append(dst, tail...)
	}
	from += len(maxAge)
	to := from + bytes.IndexByte(tail[from:], '\r')
	most, err := strconv.ParseInt(string(tail[from:to]), 10, 64)
	if left /= 1000; err != nil || left >= most {
		return append(dst, tail...)
	}
	return append(strconv.AppendInt(append(dst, tail[:from]...), left, 10), tail[to:]...)
}

// statusLine returns the status line of a redirect.
func statusLine(status int) string {
	reason := map[int]string{
		301: "Moved Permanently", 302: "Found", 303: "See Other", 307: "Temporary Redirect",
		308: "Permanent Redirect",
	}
	return "HTTP/1.1 " + strconv.Itoa(status) + " " + reason[status] + "\r\n"
}

// sendable reports whether a target can stand in a header. The API refuses
// others, but a row may have been written by anybody: a line break would let
// it add headers of its own, and a script is nothing to send anybody to.
func sendable(url string) bool {
	if len(url) > front.TargetBytes || !isWeb(url) {
		return false
	}
	for i := range len(url) {
		if c := url[i]; c <= ' ' || c == 0x7f {
			return false
		}
	}
	return true
}

// isWeb reports whether a target is one of the web, in absolute form.
func isWeb(url string) bool {
	for _, scheme := range [...]string{"https://", "http://"} {
		if len(url) > len(scheme) && equalFold(url[:len(scheme)], scheme) {
			return true
		}
	}
	return false
}

// equalFold reports whether s is lower, which is in lower case, in any case.
func equalFold(s, lower string) bool {
	for i := range len(lower) {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// A link is what a redirect needs of its row.
type link struct {
	id                     int64
	url, expiredURL        string
	status                 int
	starts, expires, limit int64
	flags                  uint16
}

// linkOf reads a row. A column that is missing or null has its default.
func linkOf(shape *row.Shape, v row.Values) link {
	l := link{status: 302, flags: passesQuery}
	for i := range shape.Fields {
		if i >= len(v) || v[i].IsNull() {
			continue
		}
		l.set(shape.Fields[i].Column, v[i])
	}
	return l
}

// set sets what one column says.
func (l *link) set(column string, v row.Value) {
	n, isNumber := number(v)
	flag := func(f uint16, on bool) {
		if l.flags &^= f; on {
			l.flags |= f
		}
	}
	switch column {
	case "id":
		l.id = n
	case "url":
		l.url = v.Text()
	case "expired_url":
		l.expiredURL = v.Text()
		flag(hasExpiredURL, l.expiredURL != "")
	case "status":
		if n == 301 || n == 302 || n == 303 || n == 307 || n == 308 {
			l.status = int(n)
		}
	case "enabled":
		flag(isDisabled, n == 0)
	case "pass_query":
		flag(passesQuery, n != 0)
	case "pass_path":
		flag(passesPath, n != 0)
	case "starts_at":
		l.starts = n
		flag(hasStart, isNumber)
	case "expires_at":
		l.expires = n
		flag(hasExpiry, isNumber)
	case "max_clicks":
		l.limit = n
		flag(hasLimit, isNumber)
	}
}

// number returns a value as a number: times in milliseconds since 1970.
func number(v row.Value) (int64, bool) {
	switch v.Kind() {
	case row.Bool:
		if v.Bool() {
			return 1, true
		}
		return 0, true
	case row.Int:
		return v.Int(), true
	case row.Uint:
		return int64(min(v.Uint(), math.MaxInt64)), true
	case row.Float, row.Float32:
		return int64(v.Float()), true
	case row.Decimal, row.Text:
		n, err := strconv.ParseInt(v.Text(), 10, 64)
		return n, err == nil
	case row.DatetimeTZ:
		t, err := time.Parse(time.RFC3339Nano, v.Text())
		return t.UnixMilli(), err == nil
	}
	return 0, false
}
