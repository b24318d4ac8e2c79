package row

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// A bodyReader is what the parsers of the binary formats have in common.
type bodyReader struct {
	src    string
	pos    int
	values int // so far
	format Format
}

// A grammar is how a format writes what bodies are made of.
type grammar interface {
	// value reads one value, which is at this depth if it is an array or map.
	value(depth int) (node, *DecodeError)
	// name reads the key of a map. It is no value of the body: it does not count.
	name() (node, *DecodeError)
}

// document reads a body, which is one value of g, as a document of s.
func (p *bodyReader) document(s *Shape, g grammar) (*Input, error) {
	root, err := g.value(1)
	if err != nil {
		return nil, err
	}
	if p.pos < len(p.src) {
		return nil, p.fail(p.pos, "there is more after the "+p.format.title()+" value")
	}
	return bind(s, &root, p.format, "")
}

func (p *bodyReader) fail(offset int, message string) *DecodeError {
	return &DecodeError{Offset: offset, Message: message}
}

// take returns the next n bytes.
func (p *bodyReader) take(n int) (string, *DecodeError) {
	if n > len(p.src)-p.pos {
		message := fmt.Sprintf("the %s ends too early: want %d bytes more", p.format.title(), n)
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
	if p.values++; p.values > MaxElements {
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

// roomFor is for how many elements room is made before they are read: few, for
// what a body declares need not be there.
const roomFor = 8

// elements reads the elements of an array or map (kind) of g: length of them, or
// if ends is given, as many as there are before it skips their end.
func (p *bodyReader) elements(
	n *node, kind nodeKind, length uint64, depth int, g grammar, ends func() bool,
) *DecodeError {
	n.kind = kind
	if err := p.room(n, length, depth); err != nil {
		return err
	}
	if length > 0 {
		n.items = make([]node, 0, min(length, roomFor))
	}
	names := members{node: n}
	for i := uint64(0); ends != nil || i < length; i++ {
		if ends != nil && ends() {
			return nil
		}
		var name node
		if kind == nodeMap {
			var err *DecodeError
			if name, err = g.name(); err != nil {
				return err
			}
		}
		v, err := g.value(depth + 1)
		if err != nil {
			return err.within(n, name.text)
		}
		v.name, v.nameOffset = name.text, name.offset
		if kind == nodeList {
			n.items = append(n.items, v)
		} else if !names.add(v) {
			return p.fail(name.offset, "member "+quote(name.text)+" comes twice in one map")
		}
	}
	return nil
}

// room checks what an array or map declares. Each of its elements takes a byte
// at least, two in a map, so a length beyond what is left is known to be wrong
// before anything is read.
func (p *bodyReader) room(n *node, length uint64, depth int) *DecodeError {
	need := length
	if n.kind == nodeMap {
		need *= 2
	}
	switch left := uint64(len(p.src) - p.pos); {
	case depth > MaxDepth:
		return p.fail(n.offset, "nested too deeply")
	case length > left || need > left:
		return p.fail(n.offset, fmt.Sprintf("it declares %d elements, %d bytes are left",
			length, left))
	case length > uint64(MaxElements-p.values):
		return p.fail(n.offset, "too many values in one body")
	}
	return nil
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
