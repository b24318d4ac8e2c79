package row

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxNesting is how deep AppendMsgPack and AppendCBOR follow the JSON of a
// column. Databases hold deeper ones, but readers of both have limits of their
// own, and every level costs stack.
const maxNesting = 512

// A packing is how a binary format writes what JSON has.
type packing struct {
	null, no, yes byte
	int           func(dst []byte, n int64) []byte
	uint          func(dst []byte, n uint64) []byte
	less          func(dst []byte, n uint64) []byte // -1 - n; nil: n is at most 1<<63 - 1
	float         func(dst []byte, f float64) []byte
	string        func(dst []byte, s string) []byte
	array         func(dst []byte, n int) []byte // the head of n elements
	object        func(dst []byte, n int) []byte // the head of n members
	sorted        bool                           // members by their encoded names, each once
}

// transcode appends a JSON text in another format, or the text itself as a
// string when it is not valid JSON.
func (p *packing) transcode(dst []byte, text string) []byte {
	t := transcoder{scanner: scanner{src: text}, to: p, dst: dst}
	if t.value(0) && t.end() {
		return t.dst
	}
	return p.string(dst, text)
}

// number appends a number in JSON's grammar.
func (p *packing) number(dst []byte, text string) []byte {
	if text == "-0" {
		return p.float(dst, math.Copysign(0, -1))
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return p.int(dst, n)
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return p.uint(dst, n)
	}
	if n, ok := below(text); ok && p.less != nil {
		return p.less(dst, n)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !strings.ContainsAny(text, ".eE") {
		return p.string(dst, text)
	}
	return p.float(dst, f)
}

// below returns n of a text that is -1 - n.
func below(text string) (n uint64, ok bool) {
	const least = "-18446744073709551616"
	if text == least {
		return math.MaxUint64, true
	}
	digits, negative := strings.CutPrefix(text, "-")
	n, err := strconv.ParseUint(digits, 10, 64)
	return n - 1, negative && err == nil && n > 0
}

// A transcoder turns JSON into another format as it reads it.
type transcoder struct {
	scanner
	to  *packing
	dst []byte
}

// value reads one value within depth arrays and objects. It reports false when
// the text is not valid JSON.
func (t *transcoder) value(depth int) bool {
	switch c := t.peek(); {
	case c == '{' || c == '[':
		if depth == maxNesting {
			start := t.pos
			if !t.skipNested() {
				return false
			}
			t.dst = t.to.string(t.dst, t.src[start:t.pos])
			return true
		}
		return t.nested(c == '{', depth)
	case c == '"':
		return t.text()
	case c == 'n' && t.word("null"):
		t.dst = append(t.dst, t.to.null)
	case c == 't' && t.word("true"):
		t.dst = append(t.dst, t.to.yes)
	case c == 'f' && t.word("false"):
		t.dst = append(t.dst, t.to.no)
	default:
		text, ok := t.number()
		if ok {
			t.dst = t.to.number(t.dst, text)
		}
		return ok
	}
	return true
}

// nested reads an object or array. How many elements there are is known only at
// its end, so room is made for the header then.
func (t *transcoder) nested(object bool, depth int) bool {
	start, n := len(t.dst), 0
	var list []span
	more, ok := t.open()
	for ; more && ok; n++ {
		s := span{from: len(t.dst)}
		if object && !(t.peek() == '"' && t.text() && t.colon()) {
			return false
		}
		s.name = len(t.dst)
		if !t.value(depth + 1) {
			return false
		}
		if s.to = len(t.dst); object && t.to.sorted {
			list = append(list, s)
		}
		more, ok = t.next(object)
	}
	if !ok {
		return false
	}
	if len(list) > 1 {
		n = t.sort(start, list)
	}
	var room [9]byte
	header := t.to.array(room[:0], n)
	if object {
		header = t.to.object(room[:0], n)
	}
	body := len(t.dst)
	t.dst = append(t.dst, header...)
	copy(t.dst[start+len(header):], t.dst[start:body])
	copy(t.dst[start:], header)
	return true
}

// A span is where a member is in dst: its name, and then its value.
type span struct{ from, name, to int }

// sort brings the members of an object, which begin at start, into the order of
// their encoded names, and returns how many there are: of those with one name
// the last stays, as JSON's readers have it.
func (t *transcoder) sort(start int, list []span) int {
	name := func(s span) []byte { return t.dst[s.from:s.name] }
	slices.SortStableFunc(list, func(a, b span) int { return bytes.Compare(name(a), name(b)) })
	n, sorted := 0, make([]byte, 0, len(t.dst)-start)
	for i, s := range list {
		if i+1 < len(list) && bytes.Equal(name(s), name(list[i+1])) {
			continue
		}
		sorted = append(sorted, t.dst[s.from:s.to]...)
		n++
	}
	t.dst = append(t.dst[:start], sorted...)
	return n
}

// text reads a string. A surrogate without its other half becomes U+FFFD.
func (t *transcoder) text() bool {
	raw, escaped, problem := t.str()
	if problem != "" {
		return false
	}
	if escaped {
		text, _ := unescape(raw)
		raw = text
	}
	t.dst = t.to.string(t.dst, raw)
	return true
}
