package http2

import (
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2/hpack"
)

// MaxHead bounds the fields of one request, as RFC 9113 6.5.2 counts them.
const MaxHead = 16 << 10

// A Head collects the fields of a request, as an hpack.Decoder emits them, and is then a
// head of HTTP/1.1. Use Reset first.
type Head struct {
	Large bool // there are more fields than MaxHead allows

	method, scheme, authority, path, host string

	lines    []byte // the fields that go on
	cookies  []byte // what all Cookie fields say together
	length   int64  // Content-Length; -1: none
	size     int
	regular  bool // a field that is not a pseudo-header has come
	trailers bool // the fields come behind a body: none goes on
	token    bool // there is an Authorization, or an apikey
	expects  bool // there is an Expect
	wrong    string
}

// tableSize is how much of a peer's header blocks is remembered, in bytes (RFC 7541 4.2).
const tableSize = 4 << 10

// A Decoder decodes the header blocks of one connection, each by Write for its parts and
// Close at its end.
type Decoder = hpack.Decoder

// NewDecoder returns one whose fields h collects.
func NewDecoder(h *Head) *Decoder {
	d := hpack.NewDecoder(tableSize, h.Field)
	d.SetMaxStringLength(MaxHead)
	return d
}

// Reset forgets the fields. trailers says that those to come are trailers.
func (h *Head) Reset(trailers bool) {
	*h = Head{lines: h.lines[:0], cookies: h.cookies[:0], length: -1, trailers: trailers}
}

// Wrong returns what makes the fields malformed, "" if nothing does.
func (h *Head) Wrong() string { return h.wrong }

// Length returns Content-Length, -1 if there is none.
func (h *Head) Length() int64 { return h.length }

// IsHead reports whether the method is HEAD.
func (h *Head) IsHead() bool { return h.method == "HEAD" }

// HasToken reports whether the request says who asks.
func (h *Head) HasToken() bool { return h.token }

// Waits reports whether a client may wait for an answer before it sends a body.
func (h *Head) Waits() bool { return h.expects || h.method == "CONNECT" }

// Field takes one field.
func (h *Head) Field(f hpack.HeaderField) {
	if h.size += int(f.Size()); h.size > MaxHead {
		h.Large = true
	}
	switch {
	case h.Large, h.wrong != "":
	case strings.HasPrefix(f.Name, ":"):
		h.pseudo(f.Name, f.Value)
	default:
		h.regular = true
		h.field(f.Name, f.Value)
	}
}

func (h *Head) pseudo(name, value string) {
	var to *string
	switch name {
	case ":method":
		to = &h.method
	case ":scheme":
		to = &h.scheme
	case ":authority":
		to = &h.authority
	case ":path":
		to = &h.path
	}
	switch {
	case to == nil:
		h.wrong = "an unknown pseudo-header"
	case h.trailers, h.regular, *to != "":
		h.wrong = "a pseudo-header is repeated, or stands behind another field"
	case value == "" || !visible(value):
		h.wrong = name + " is empty or has blanks"
	default:
		*to = value
	}
}

// visible reports whether s may stand between the blanks of a request line.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return true
}

func (h *Head) field(name, value string) {
	if !lowerToken(name) || !httpguts.ValidHeaderFieldValue(value) {
		h.wrong = "a malformed field"
		return
	}
	switch name {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		h.wrong = name + " is a field of HTTP/1.1 connections"
		return
	case "te":
		if value != "trailers" {
			h.wrong = "te has more than trailers"
		}
		return
	}
	if h.trailers {
		return
	}
	h.token = h.token || name == "authorization" || name == "apikey"
	h.expects = h.expects || name == "expect"
	switch name {
	case "host":
		if h.host != "" || value == "" || !visible(value) {
			h.wrong = "host is repeated or malformed"
		}
		h.host = value
	case "content-length":
		h.setLength(value)
	case "cookie": // RFC 9113 8.2.3: one field in HTTP/1.1
		if len(h.cookies) > 0 {
			h.cookies = append(h.cookies, "; "...)
		}
		h.cookies = append(h.cookies, value...)
	default:
		h.lines = appendLine(h.lines, name, value)
	}
}

func (h *Head) setLength(value string) {
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil || value[0] == '+' || h.length >= 0 && h.length != int64(n) {
		h.wrong = "content-length is malformed or repeated"
		return
	}
	h.length = int64(n)
}

// lowerToken reports whether s may be the name of a field.
func lowerToken(s string) bool {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' || !httpguts.IsTokenRune(rune(s[i])) {
			return false
		}
	}
	return s != ""
}

func appendLine(dst []byte, name, value string) []byte {
	dst = append(append(dst, name...), ": "...)
	return append(append(dst, value...), "\r\n"...)
}

// Check says what makes the whole head of a request malformed. end says that there is no
// body.
func (h *Head) Check(end bool) string {
	switch {
	case h.wrong != "":
		return h.wrong
	case h.method == "" || !httpguts.ValidHeaderFieldName(h.method):
		return ":method is missing or malformed"
	case h.authority == "" && h.host == "":
		return ":authority is missing"
	case h.authority != "" && h.host != "" && !strings.EqualFold(h.authority, h.host):
		return "host is not :authority"
	case h.method == "CONNECT":
		if h.scheme != "" || h.path != "" {
			return "CONNECT has :scheme or :path"
		}
		return ""
	case h.scheme != "https" && h.scheme != "http", h.path == "":
		return ":scheme is neither http nor https, or :path is missing"
	case h.path[0] != '/' && (h.path != "*" || h.method != "OPTIONS"):
		return ":path does not begin with /"
	case end && h.length > 0:
		return "there is no body of content-length"
	}
	return ""
}

// Append appends the head as one of HTTP/1.1, if Check says nothing. end says that there is no
// body; if there is one, AppendLength ends the head.
func (h *Head) Append(dst []byte, end bool) []byte {
	authority := h.authority
	if authority == "" {
		authority = h.host
	}
	target := h.path
	if h.method == "CONNECT" {
		target = authority
	}
	dst = append(append(dst, h.method...), ' ')
	dst = append(append(dst, target...), " HTTP/1.1\r\n"...)
	dst = appendLine(dst, "host", authority)
	dst = append(dst, h.lines...)
	if len(h.cookies) > 0 {
		dst = append(append(append(dst, "cookie: "...), h.cookies...), "\r\n"...)
	}
	switch {
	case !end:
		return dst
	case h.length >= 0, h.method != "GET" && h.method != "HEAD":
		return AppendLength(dst, 0)
	}
	return append(dst, "\r\n"...)
}

// AppendLength ends a head of HTTP/1.1 by how long the body is; -1: it is chunked.
func AppendLength(dst []byte, n int64) []byte {
	if n < 0 {
		return append(dst, "transfer-encoding: chunked\r\n\r\n"...)
	}
	dst = strconv.AppendInt(append(dst, "content-length: "...), n, 10)
	return append(dst, "\r\n\r\n"...)
}
