package load

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// maxHead is how long the head of an answer, or a line of a chunked one, may be.
const maxHead = 64 << 10

// stage is which part of an answer comes next.
type stage uint8

const (
	inHead      stage = iota
	inBody            // left bytes of it
	inChunkLine       // the line that says how long a chunk is
	inChunk           // left bytes of it
	inChunkEnd        // the line end behind a chunk
	inTrailer         // lines, up to an empty one
	untilEnd          // all that comes until the server closes
	inReply           // a line of Redis
	inLine            // a line of memcached
	inValue           // left bytes of a value of theirs, with its line end
)

// A reader finds out where answers end and looks at little else. It does no
// I/O: it is given what has come, and consumes what it can.
type reader struct {
	protocol protocol
	batch    int // keys that a read asks for, of a key-value protocol

	stage  stage
	noBody bool  // the answer is one to HEAD
	keep   bool  // keep what a check wants to see; applies to the answer that begins
	status int   // of the answer at hand
	left   int64 // bytes to skip
	close  bool  // the server closes after this answer
	old    bool  // the answer is one of HTTP/1.0
	size   int   // bytes of the answer, head included

	// Of the key-value protocols.
	greeted bool   // the answer at hand is that of a request, not of the greeting
	due     int64  // parts of the answer that are yet to come
	values  int    // values that have come
	refusal []byte // a copy of a line that refuses

	etag   []byte // a copy, if keep
	body   []byte // the body, if keep: in copied, or where it has come as a whole
	copied []byte
}

var (
	crlf     = []byte("\r\n")
	crlfcrlf = []byte("\r\n\r\n")
)

// Errors of a reader: the connection is of no use any more.
var (
	errHeadTooLong = fmt.Errorf("a head of more than %d bytes", maxHead)
	errUpgrade     = errors.New("101: the server wants another protocol")
)

// step consumes bytes of one answer and reports whether it is complete. What is
// not consumed has to be given again, with more behind it.
func (r *reader) step(in []byte) (n int, done bool, err error) {
	for {
		used, done, err := r.part(in[n:])
		n += used
		r.size += used
		if done || err != nil {
			return n, done, err
		}
		if used == 0 || n == len(in) {
			return n, false, nil
		}
	}
}

// next makes the reader ready for the next answer.
func (r *reader) next() {
	r.stage, r.size, r.keep = r.protocol.begins(), 0, false
	if r.protocol != http1 {
		r.status = 200 // until it says something else
	}
	r.due, r.values, r.refusal = 1, 0, r.refusal[:0]
	r.etag, r.body, r.copied = r.etag[:0], nil, r.copied[:0]
}

// newReader returns a reader of the answers to reads of so many keys.
func newReader(p protocol, batch int) reader {
	r := reader{protocol: p, batch: batch}
	r.next()
	return r
}

// reset makes the reader ready for the first answer of a new connection.
func (r *reader) reset() {
	*r = reader{protocol: r.protocol, batch: r.batch, refusal: r.refusal, etag: r.etag,
		copied: r.copied}
	r.next()
}

// begun reports whether a part of an answer has been consumed.
func (r *reader) begun() bool { return r.stage != r.protocol.begins() || r.size > 0 }

// answer names the answer at hand, one that is no success.
func (r *reader) answer() string {
	switch {
	case len(r.refusal) > 0:
		return strconv.Quote(string(r.refusal))
	case r.protocol != http1:
		return "no value"
	}
	return "status " + strconv.Itoa(r.status)
}

// part consumes bytes of the part that comes next.
func (r *reader) part(in []byte) (n int, done bool, err error) {
	switch r.stage {
	case inHead:
		return r.head(in)
	case inChunkLine:
		return r.chunkLine(in)
	case inChunkEnd:
		return r.chunkEnd(in)
	case inTrailer:
		line, ok, err := lineOf(in)
		if !ok {
			return 0, false, err
		}
		return len(line) + 2, len(line) == 0, nil
	case untilEnd:
		r.copyBody(in)
		return len(in), false, nil
	case inReply:
		return r.redisLine(in)
	case inLine:
		return r.memcachedLine(in)
	}
	return r.skip(in)
}

// skip consumes bytes of a body or a chunk, of which there is one at least.
func (r *reader) skip(in []byte) (n int, done bool, err error) {
	n = int(min(r.left, int64(len(in))))
	last := r.stage == inBody || r.stage == inValue && r.protocol == redis && r.due <= 1
	if r.keep && last && r.values == 0 && int64(n) == r.left && len(r.copied) == 0 {
		r.body = in[:n] // Fast path: it is looked at before in is filled again.
	} else {
		r.copyBody(in[:n])
	}
	if r.left -= int64(n); r.left > 0 {
		return n, false, nil
	}
	switch r.stage {
	case inBody:
		return n, true, nil
	case inValue:
		return n, r.endValue(), nil
	}
	r.stage = inChunkEnd
	return n, false, nil
}

// chunkEnd consumes the line end behind a chunk.
func (r *reader) chunkEnd(in []byte) (n int, done bool, err error) {
	if len(in) < 2 {
		return 0, false, nil
	}
	if !bytes.HasPrefix(in, crlf) {
		return 0, false, errors.New("a chunk longer than it says")
	}
	r.stage = inChunkLine
	return 2, false, nil
}

// copyBody keeps bytes of a body if a check wants them.
func (r *reader) copyBody(in []byte) {
	if r.keep && r.values == 0 { // of several values the first is checked
		r.copied = append(r.copied, in...)
		r.body = r.copied
	}
}

// chunkLine consumes the line in front of a chunk.
func (r *reader) chunkLine(in []byte) (n int, done bool, err error) {
	line, ok, err := lineOf(in)
	if !ok {
		return 0, false, err
	}
	digits, _, _ := bytes.Cut(line, []byte(";"))
	digits = bytes.TrimRight(digits, " \t")
	if len(digits) == 0 || len(digits) > 15 {
		return 0, false, fmt.Errorf("chunk of size %.20q", digits)
	}
	r.left = 0
	for _, c := range digits {
		d := hexDigit(c)
		if d < 0 {
			return 0, false, fmt.Errorf("chunk of size %.20q", digits)
		}
		r.left = r.left<<4 + int64(d)
	}
	if r.stage = inTrailer; r.left > 0 {
		r.stage = inChunk
	}
	return len(line) + 2, false, nil
}

// hexDigit returns the value of a hexadecimal digit, or -1.
func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// lineOf returns the line that in begins with, without its end, if it is
// complete.
func lineOf(in []byte) (line []byte, ok bool, err error) {
	i := bytes.Index(in, crlf)
	switch {
	case i > maxHead || i < 0 && len(in) > maxHead:
		return nil, false, errHeadTooLong
	case i < 0:
		return nil, false, nil
	}
	return in[:i], true, nil
}

// head consumes a whole head.
func (r *reader) head(in []byte) (n int, done bool, err error) {
	end := bytes.Index(in, crlfcrlf)
	switch {
	case end > maxHead || end < 0 && len(in) > maxHead:
		return 0, false, errHeadTooLong
	case end < 0:
		return 0, false, nil
	}
	n = end + 4
	f, err := r.parseHead(in[:end+2])
	if err != nil {
		return 0, false, err
	}
	switch {
	case r.status == 101:
		return n, false, errUpgrade
	case f.chunked && r.old: // RFC 9112, 6.1: there is no telling where it ends
		return n, false, errors.New("chunks in an answer of HTTP/1.0")
	case r.status < 200: // 100 Continue and the like: the answer is yet to come
		return n, false, nil
	case r.noBody || r.status == 204 || r.status == 304 || f.length == 0 && !f.chunked:
		return n, true, nil
	case f.chunked:
		r.stage = inChunkLine
	case f.length > 0:
		r.stage, r.left = inBody, f.length
	default:
		r.stage, r.close = untilEnd, true
	}
	return n, false, nil
}

// framing is what a head says about where the body ends.
type framing struct {
	length  int64 // -1: not said
	chunked bool
}

// parseHead reads the lines of a head, each with its end.
func (r *reader) parseHead(head []byte) (framing, error) {
	f := framing{length: -1}
	line, rest := cutLine(head)
	if !r.parseStatus(line) {
		return f, fmt.Errorf("no HTTP/1 answer: %.40q", line)
	}
	for len(rest) > 0 {
		line, rest = cutLine(rest)
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			return f, fmt.Errorf("header line %.40q", line)
		}
		if err := r.parseHeader(&f, name, value); err != nil {
			return f, err
		}
	}
	return f, nil
}

// cutLine cuts text behind its first line and returns that without its end.
func cutLine(text []byte) (line, rest []byte) {
	i := bytes.IndexByte(text, '\n')
	if i < 1 || text[i-1] != '\r' {
		return text[:max(i, 0)], text[i+1:]
	}
	return text[:i-1], text[i+1:]
}

// parseStatus reads "HTTP/1.1 200 OK".
func (r *reader) parseStatus(line []byte) bool {
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[8] != ' ' {
		return false
	}
	r.status = 0
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return false
		}
		r.status = r.status*10 + int(c-'0')
	}
	r.old = line[7] == '0'
	r.close = r.old
	return r.status >= 100 && (len(line) == 12 || line[12] == ' ')
}

// parseHeader reads one header, if it is one that matters.
func (r *reader) parseHeader(f *framing, name, value []byte) error {
	switch {
	// Fast path: most names differ in their length.
	case len(name) == 14 && equalFold(name, "content-length"):
		n, ok := parseLength(bytes.Trim(value, " \t"))
		if !ok || f.length >= 0 && f.length != n {
			return fmt.Errorf("content-length:%.40q", value)
		}
		f.length = n
	case len(name) == 17 && equalFold(name, "transfer-encoding"):
		if !equalFold(bytes.Trim(value, " \t"), "chunked") {
			return fmt.Errorf("transfer-encoding:%.40q", value)
		}
		f.chunked = true
	case len(name) == 10 && equalFold(name, "connection"):
		r.connection(value)
	case r.keep && len(name) == 4 && equalFold(name, "etag"):
		r.etag = append(r.etag[:0], bytes.Trim(value, " \t")...)
	}
	return nil
}

// connection reads the list of the Connection header.
func (r *reader) connection(value []byte) {
	for option := range bytes.SplitSeq(value, []byte(",")) {
		switch option = bytes.Trim(option, " \t"); {
		case equalFold(option, "close"):
			r.close = true
		case equalFold(option, "keep-alive"):
			r.close = false
		}
	}
}

// parseLength reads digits and nothing else.
func parseLength(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// equalFold reports whether b is lower, a lower-case ASCII word, in any case.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
