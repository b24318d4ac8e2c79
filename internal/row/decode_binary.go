package row

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// A bodyReader is what the parsers of the binary formats have in common.
type bodyReader struct {
	src      string
	pos      int
	elements int
	format   string // its name, for errors
}

func (p *bodyReader) fail(offset int, message string) *DecodeError {
	return &DecodeError{Offset: offset, Message: message}
}

// take returns the next n bytes.
func (p *bodyReader) take(n int) (string, *DecodeError) {
	if n > len(p.src)-p.pos {
		message := fmt.Sprintf("the %s ends too early: want %d bytes more", p.format, n)
		return "", p.fail(p.pos, message)
	}
	s := p.src[p.pos : p.pos+n]
	p.pos += n
	return s, nil
}

// uint reads a big-endian number of size bytes.
func (p *bodyReader) uint(size int) (uint64, *DecodeError) {
	s, err := p.take(size)
	var n uint64
	for i := range len(s) {
		n = n<<8 | uint64(s[i])
	}
	return n, err
}

// count counts a value that begins here.
func (p *bodyReader) count() *DecodeError {
	if p.elements++; p.elements > MaxElements {
		return p.fail(p.pos, "too many values in one body")
	}
	return nil
}

// string reads the bytes of a text or of bytes.
func (p *bodyReader) string(n *node, kind nodeKind, length uint64) *DecodeError {
	n.kind = kind
	start := p.pos
	if length > uint64(len(p.src)-p.pos) {
		return p.fail(n.offset, fmt.Sprintf("it declares %d bytes, %d are left", length,
			len(p.src)-p.pos))
	}
	n.text, _ = p.take(int(length))
	if kind == nodeString && !utf8.ValidString(n.text) {
		return p.fail(start, "invalid UTF-8 in a text")
	}
	return nil
}

// room checks what an array or map declares. Each of its elements takes a byte
// at least, so a length beyond what is left is known to be wrong before anything
// is read. need is how many bytes they take at least.
func (p *bodyReader) room(n *node, length, need uint64, depth int) *DecodeError {
	switch left := uint64(len(p.src) - p.pos); {
	case depth > MaxDepth:
		return p.fail(n.offset, "nested too deeply")
	case length > left || need > left:
		return p.fail(n.offset, fmt.Sprintf("it declares %d elements, %d bytes are left",
			length, left))
	case length > uint64(MaxElements-p.elements):
		return p.fail(n.offset, "too many values in one body")
	}
	return nil
}

// twice says that a map has two members of one name.
func (p *bodyReader) twice(name *node) *DecodeError {
	return p.fail(name.offset, "member "+quote(name.text)+" comes twice in one map")
}

// The seconds of the years 0 to 9999, which RFC 3339 can write.
const (
	minUnix = -62167219200
	maxUnix = 253402300799
)

// time makes n a date and time.
func (p *bodyReader) time(n *node, seconds, nanos int64) *DecodeError {
	if nanos > 999_999_999 || seconds < minUnix || seconds > maxUnix {
		return p.fail(n.offset, "a timestamp out of range")
	}
	t := time.Unix(seconds, nanos).UTC()
	n.kind, n.text = nodeTime, t.Format(time.RFC3339Nano)
	return nil
}
