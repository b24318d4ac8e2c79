package row

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

// maxNesting is how deep AppendMsgPack follows the JSON of a column. Databases
// hold deeper ones, but readers of MessagePack have limits of their own, and
// every level costs stack.
const maxNesting = 512

// appendMsgPackJSON appends the MessagePack of a JSON text, or the text itself
// as a str when it is not valid JSON.
func appendMsgPackJSON(dst []byte, text string) []byte {
	t := transcoder{scanner: scanner{src: text}, dst: dst}
	if t.value(0) && t.end() {
		return t.dst
	}
	return appendMsgPackString(dst, text)
}

// A transcoder turns JSON into MessagePack as it reads it.
type transcoder struct {
	scanner
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
			t.dst = appendMsgPackString(t.dst, t.src[start:t.pos])
			return true
		}
		return t.nested(c == '{', depth)
	case c == '"':
		return t.text()
	case c == 'n' && t.word("null"):
		t.dst = append(t.dst, mpNil)
	case c == 't' && t.word("true"):
		t.dst = append(t.dst, mpTrue)
	case c == 'f' && t.word("false"):
		t.dst = append(t.dst, mpFalse)
	default:
		text, ok := t.number()
		if ok {
			t.dst = appendMsgPackNumber(t.dst, text)
		}
		return ok
	}
	return true
}

// nested reads an object or array. How many elements there are is known only at
// its end, so room is made for the header then.
func (t *transcoder) nested(object bool, depth int) bool {
	start, n := len(t.dst), 0
	more, ok := t.open()
	for ; more && ok; n++ {
		if object && !(t.peek() == '"' && t.text() && t.colon()) {
			return false
		}
		if !t.value(depth + 1) {
			return false
		}
		more, ok = t.next(object)
	}
	if !ok {
		return false
	}
	var room [5]byte
	header := appendMsgPackArray(room[:0], n)
	if object {
		header = appendMsgPackMap(room[:0], n)
	}
	body := len(t.dst)
	t.dst = append(t.dst, header...)
	copy(t.dst[start+len(header):], t.dst[start:body])
	copy(t.dst[start:], header)
	return true
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
	t.dst = appendMsgPackString(t.dst, raw)
	return true
}

// appendMsgPackNumber appends a number in JSON's grammar.
func appendMsgPackNumber(dst []byte, text string) []byte {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return appendMsgPackInt(dst, n)
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return appendMsgPackUint(dst, n)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !strings.ContainsAny(text, ".eE") {
		return appendMsgPackString(dst, text)
	}
	return binary.BigEndian.AppendUint64(append(dst, mpFloat64), math.Float64bits(f))
}
