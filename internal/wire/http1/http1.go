// Package http1 reads the unambiguous part of HTTP/1: messages whose every
// byte means the same to everybody (RFC 9112).
//
// For a server, Request.Parse says whether a request can be answered from
// memory, is broken or belongs to a complete implementation; Frame says where
// it ends. Whatever they accept, net/http reads as the same request of the same
// length. For a relay, RequestHead and ResponseHead read any head and how its
// body is framed, and Chunked the chunked coding. The appenders write heads.
//
// The package does no I/O and copies no body, and keeps nothing of the bytes it
// is given: what it returns points into them.
package http1

import "bytes"

// The limits of a request.
const (
	MaxHead        = 16 << 10 // bytes of request line and headers together
	MaxRequestLine = 8 << 10  // bytes of the request line
	MaxHeaders     = 100      // header lines
	maxMethod      = 16       // bytes of the method's name
)

// A Verdict is what Parse thinks of the bytes it was given.
type Verdict uint8

const (
	// Complete: a GET or HEAD without a body that may be answered by Request
	// alone.
	Complete Verdict = iota
	// NeedMore: so far so good, but the head has not ended.
	NeedMore
	// HandOver: well framed, but something in it is for a complete
	// implementation: another method, a body (see Body), a header that may change
	// the answer.
	HandOver
	// Bad: refuse with 400 and close. Nothing after it can be trusted.
	Bad
	// TooLarge: refuse with 431 and close.
	TooLarge
	// LongLine: the request line is too long. Refuse with 414 and close.
	LongLine
	// OtherVersion: a version of HTTP other than 1. Refuse with 505 and close.
	OtherVersion
)

// String returns the verdict's name.
func (v Verdict) String() string {
	return [...]string{"complete", "need more", "hand over", "bad", "too large", "long line",
		"other version"}[v]
}

// A Request is the head of one request. Its slices point into the bytes that
// were parsed and are good for as long as those. A header that was not sent is
// nil; one that was sent without a value is handed over.
type Request struct {
	Path  []byte // begins with "/"; escapes are as they were sent, and well formed
	Query []byte // what follows "?", nil if there is none

	Host           []byte
	Accept         []byte
	AcceptEncoding []byte
	IfMatch        []byte
	IfNoneMatch    []byte
	Authorization  []byte
	APIKey         []byte // apikey: as clients of Supabase say who they are
	CacheControl   []byte
	MinPosition    []byte // Hotrow-Min-Position
	RequestID      []byte // X-Request-Id
	Prefer         []byte
	Range          []byte
	IfRange        []byte
	Profile        []byte // Accept-Profile or Content-Profile
	Origin         []byte // of the page that has sent it; of two of them ","
	LastEventID    []byte // of who watches, and comes again: nothing is watched over HTTP/1 yet

	ContentType     []byte // of what Body returns
	ContentEncoding []byte

	Method string // GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS; "": another one
	Head   bool   // HEAD: the answer has no body
	HTTP10 bool   // else HTTP/1.1, or a later HTTP/1, which is read as that
	Close  bool   // the client wants the connection closed after the answer

	framing
}

// framing is what decides where a request ends and whose it is.
type framing struct {
	authority []byte // of a target in absolute form
	length    int64  // of the body, by Content-Length
	head      int    // bytes of the head, once it has ended
	headers   int
	known     bool // the method is one whose framing is beyond doubt
	hosts     bool // a Host header was seen, and so on
	lengths   bool
	chunked   bool
	upgrade   bool
	expect    bool
	connects  bool
	persists  bool // Connection: keep-alive
	writes    bool // the method is one that changes something
	options   bool // the method is OPTIONS
	asks      bool // Access-Control-Request-Method was seen
	names     bool // Access-Control-Request-Headers was seen
	unclear   bool // one of the two was seen twice
	page      bool // a page in a browser may have sent it
	bodies    bool // something about the body is for a complete implementation,
	other     bool // or about anything else
}

// Parse reads the request at the beginning of b into r, whatever r held
// before. n is the length of a Complete request, else 0. It never looks beyond
// the end of the first head, and may say Bad before all of it has arrived.
func (r *Request) Parse(b []byte) (n int, v Verdict) {
	n, v = r.scan(b)
	if v != Complete {
		n = 0
	}
	return n, v
}

// Frame returns the length of the message at the beginning of b, head and
// body, when it is certain: the head is complete in b, the method is a common
// one of HTTP/1, and one plain Content-Length or none ends it. A request to
// upgrade is never certain: its connection may speak another protocol next.
func Frame(b []byte) (n int64, certain bool) {
	var r Request
	head, v := r.scan(b)
	if v != Complete && v != HandOver {
		return 0, false
	}
	if !r.known || r.chunked || r.upgrade {
		return 0, false
	}
	return int64(head) + r.length, true
}

// Body returns the body of a POST, PUT, PATCH or DELETE, which Parse hands over, and the
// length of the whole message, if all of it is in b and needs no complete implementation:
// one Content-Length or none ends it, nobody waits for 100 Continue, it is from no page
// in a browser, which sends Origin or Sec-Fetch-Site, and has no digest of the body and no
// condition by a date.
func (r *Request) Body(b []byte) (body []byte, n int, ok bool) {
	if r.page {
		return nil, 0, false
	}
	return r.PageBody(b)
}

// PageBody is Body for a request that a page may have sent, where that is looked at by itself.
func (r *Request) PageBody(b []byte) (body []byte, n int, ok bool) {
	if !r.writes || r.other || r.bodies || r.HTTP10 || r.chunked || r.upgrade || r.expect ||
		len(r.Host) == 0 || r.head == 0 || int64(len(b)-r.head) < r.length {
		return nil, 0, false
	}
	n = r.head + int(r.length)
	return b[r.head:n], n, true
}

// Preflight returns the length of an OPTIONS by which a browser asks whether a page of another
// origin may send a request (Fetch, CORS-preflight request), which Parse hands over, if all of
// it is in b and needs no complete implementation.
func (r *Request) Preflight(b []byte) (n int, ok bool) {
	if !r.options || r.Origin == nil || !r.asks || r.unclear || r.other || r.HTTP10 ||
		r.length > 0 || r.chunked || r.upgrade || r.expect || len(r.Host) == 0 || r.head == 0 {
		return 0, false
	}
	return r.head, len(b) >= r.head
}

// SkipEmptyLine returns how many bytes of an empty line are at the beginning
// of b. It says NeedMore when b may become one.
func SkipEmptyLine(b []byte) (n int, v Verdict) {
	switch {
	case len(b) >= 2 && b[0] == '\r' && b[1] == '\n':
		return 2, Complete
	case len(b) == 1 && b[0] == '\r':
		return 0, NeedMore
	}
	return 0, Complete
}

// A Gap is what comes between the requests of one connection: nothing, or one
// empty line, which old clients send behind a body (RFC 9112 2.2).
type Gap struct {
	passed bool // over an empty line, and nothing has come behind it yet
}

// Skip is SkipEmptyLine where a request is to begin. It passes over one empty
// line before each request, in whatever pieces they come: a second is left to
// Parse, which refuses it. While a request is incomplete b begins with it.
func (g *Gap) Skip(b []byte) (n int, v Verdict) {
	if len(b) == 0 || g.passed && b[0] == '\r' {
		return 0, Complete
	}
	n, v = SkipEmptyLine(b)
	g.passed = n > 0 && n == len(b)
	return n, v
}

// scan is Parse, but n is the length of the head for HandOver too.
func (r *Request) scan(b []byte) (n int, v Verdict) {
	*r = Request{}
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return 0, unfinishedLine(b)
	}
	if end > MaxRequestLine {
		return 0, unfinishedLine(b[:end])
	}
	if end == 0 || b[end-1] != '\r' {
		return 0, Bad
	}
	if v = r.requestLine(b[:end-1]); v != Complete {
		return 0, v
	}
	for n = end + 1; ; n = end + 1 {
		length := bytes.IndexByte(b[n:], '\n')
		if length < 0 {
			if len(b) > MaxHead {
				return 0, TooLarge
			}
			return 0, NeedMore
		}
		end = n + length
		if length == 0 || b[end-1] != '\r' {
			return 0, Bad
		}
		if end >= MaxHead {
			return 0, TooLarge
		}
		if length == 1 {
			if v = r.judge(); v != Bad {
				r.head = end + 1
			}
			return end + 1, v
		}
		if r.headers++; r.headers > MaxHeaders {
			return 0, TooLarge
		}
		if !r.header(b[n : end-1]) {
			return 0, Bad
		}
	}
}

// unfinishedLine judges a request line whose end has not come, or too late.
// What cannot become one is refused at once: a TLS handshake, another protocol.
func unfinishedLine(b []byte) Verdict {
	for i, c := range b {
		switch {
		case c == ' ' && i > 0 && len(b) > MaxRequestLine:
			return LongLine
		case c == ' ' && i > 0:
			return NeedMore
		case !isToken[c] || i >= maxMethod:
			return Bad
		}
	}
	return NeedMore
}

// judge draws the conclusion when the head has ended.
func (r *Request) judge() Verdict {
	if r.chunked && (r.lengths || r.HTTP10) {
		return Bad
	}
	switch {
	case r.hosts && !validHost(r.Host), !r.hosts && !r.HTTP10:
		return Bad
	case r.authority != nil && !bytes.EqualFold(r.authority, r.Host):
		return Bad
	}
	if r.HTTP10 {
		r.Close = !r.persists
	}
	if r.other || r.writes || r.options || r.lengths || r.chunked || r.upgrade || r.expect ||
		len(r.Host) == 0 {
		return HandOver
	}
	return Complete
}

// requestLine reads "GET /path HTTP/1.1" without its end. It says Complete
// unless the line is to be refused.
func (r *Request) requestLine(line []byte) Verdict {
	const version = " HTTP/1.1"
	space := bytes.IndexByte(line, ' ')
	if space <= 0 || space > maxMethod || len(line) < space+2+len(version) {
		return Bad
	}
	cut := len(line) - len(version)
	major, ok := r.version(line[cut:])
	if !ok || !r.method(line[:space]) {
		return Bad
	}
	if major != '1' {
		return OtherVersion
	}
	if !r.target(line[space+1 : cut]) {
		return Bad
	}
	return Complete
}

// version reads " HTTP/1.1", which has one digit on each side of the dot. A
// later version of HTTP/1 is framed as HTTP/1.1 is (RFC 9110 2.5).
func (r *Request) version(v []byte) (major byte, ok bool) {
	const name = " HTTP/"
	major, minor := v[len(name)], v[len(name)+2]
	if string(v[:len(name)]) != name || v[len(name)+1] != '.' ||
		!isDigit(major) || !isDigit(minor) {
		return 0, false
	}
	r.HTTP10 = minor == '0'
	return major, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// method notes the method. Names are case-sensitive.
func (r *Request) method(name []byte) bool {
	switch string(name) {
	case "GET":
		r.Method = "GET"
	case "HEAD":
		r.Method, r.Head = "HEAD", true
	case "POST":
		r.Method, r.writes = "POST", true
	case "PUT":
		r.Method, r.writes = "PUT", true
	case "PATCH":
		r.Method, r.writes = "PATCH", true
	case "DELETE":
		r.Method, r.writes = "DELETE", true
	case "OPTIONS":
		r.Method, r.options = "OPTIONS", true
	default:
		r.other = true
		return allToken(name)
	}
	r.known = true
	return true
}

// target reads the request target.
func (r *Request) target(t []byte) bool {
	if t[0] != '/' {
		return r.otherTarget(t)
	}
	i := pathLength(t)
	r.Path = t[:i]
	if i < len(t) && t[i] == '?' {
		r.Query = t[i+1:]
		i += 1 + queryLength(r.Query)
	}
	if i == len(t) && (len(t) < 2 || t[1] != '/') {
		return true
	}
	// Bytes that do not belong there, a bad escape, or "//", which some read
	// as the beginning of a host: only a control byte or a space makes the
	// framing doubtful.
	r.other = true
	return !hasBlankOrControl(t[i:])
}

// otherTarget reads a target in absolute form ("http://host/path", as sent to
// proxies) or asterisk form, or the authority of CONNECT.
func (r *Request) otherTarget(t []byte) bool {
	r.other = true
	if hasBlankOrControl(t) {
		return false
	}
	if string(t) == "*" {
		return true
	}
	rest, ok := cutScheme(t)
	if !ok { // "host:port" is right for CONNECT, which nobody here serves
		return !r.known && bytes.IndexByte(t, ':') > 0
	}
	if i := bytes.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	r.authority = rest
	return len(rest) > 0
}

// cutScheme removes "http://" or "https://".
func cutScheme(t []byte) ([]byte, bool) {
	for _, scheme := range [...]string{"http://", "https://"} {
		if len(t) > len(scheme) && isName(t[:len(scheme)], scheme) {
			return t[len(scheme):], true
		}
	}
	return nil, false
}
