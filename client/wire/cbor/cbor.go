// Package cbor is the part of CBOR (RFC 8949) that the payloads of the wire
// protocol are made of: numbers, byte strings, texts, arrays, true, false and
// null, of definite length. It does no I/O. Server and client share it.
package cbor

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
	"unsafe"
)

// The major types (RFC 8949 3.1), in the high bits of the first byte.
const (
	MajorUint  = 0 << 5
	MajorBytes = 2 << 5
	MajorText  = 3 << 5
	MajorArray = 4 << 5
)

// The first bytes of values without a length.
const (
	falseByte = 0xf4
	trueByte  = 0xf5
	null      = 0xf6
)

// appendHead appends the shortest head of a major type and its argument.
func appendHead(dst []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n <= math.MaxUint8:
		return append(dst, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, major|27), n)
}

// AppendUint appends a number.
func AppendUint(dst []byte, n uint64) []byte { return appendHead(dst, MajorUint, n) }

// AppendArray appends the head of an array of n elements, which follow it.
func AppendArray(dst []byte, n int) []byte {
	return appendHead(dst, MajorArray, uint64(n))
}

// AppendText appends a text, which has to be UTF-8.
func AppendText[T string | []byte](dst []byte, s T) []byte {
	return append(appendHead(dst, MajorText, uint64(len(s))), s...)
}

// AppendBytesHead appends the head of a byte string of n bytes, which follow it.
func AppendBytesHead(dst []byte, n int) []byte {
	return appendHead(dst, MajorBytes, uint64(n))
}

// AppendBytes appends a byte string.
func AppendBytes(dst, b []byte) []byte { return append(AppendBytesHead(dst, len(b)), b...) }

// AppendBool appends true or false.
func AppendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, trueByte)
	}
	return append(dst, falseByte)
}

// AppendNull appends null.
func AppendNull(dst []byte) []byte { return append(dst, null) }

// A Reader reads a payload. Its first problem stays; what is read after it is
// zero. What it returns aliases the payload.
type Reader struct {
	b       []byte
	pos     int
	problem string
}

// NewReader returns a reader of b.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Fail makes problem the reader's, if there was none before.
func (r *Reader) Fail(problem string) {
	if r.problem == "" {
		r.problem = problem
	}
}

// OK reports whether there was no problem so far.
func (r *Reader) OK() bool { return r.problem == "" }

// Rest returns what was not read yet.
func (r *Reader) Rest() []byte { return r.b[r.pos:] }

// End returns the problem of what was to be read, which wraps kind, if there is
// one or there are bytes left.
func (r *Reader) End(what string, kind error) error {
	if r.problem == "" && r.pos == len(r.b) {
		return nil // Fast path: small enough to be inlined.
	}
	return r.failure(what, kind)
}

// failure returns the problem; that there are bytes left is one.
func (r *Reader) failure(what string, kind error) error {
	r.Fail("there is more after its end")
	return fmt.Errorf("%s: %w: %s (byte %d)", what, kind, r.problem, r.pos)
}

// is reports whether the next item is of the major type.
func (r *Reader) is(major byte) bool {
	return r.problem == "" && r.pos < len(r.b) && r.b[r.pos]&^31 == major
}

// IsUint reports whether the next item is a number.
func (r *Reader) IsUint() bool { return r.is(MajorUint) }

// IsBytes reports whether the next item is a byte string.
func (r *Reader) IsBytes() bool { return r.is(MajorBytes) }

// IsArray reports whether the next item is an array.
func (r *Reader) IsArray() bool { return r.is(MajorArray) }

// head reads a head of the major type and returns its argument.
func (r *Reader) head(major byte, what string) uint64 {
	if r.problem != "" {
		return 0
	}
	if r.pos >= len(r.b) {
		r.Fail("it ends too early")
		return 0
	}
	first := r.b[r.pos]
	if first&^31 != major {
		r.Fail("want " + what)
		return 0
	}
	n := uint64(first & 31)
	if n < 24 {
		r.pos++
		return n
	}
	size := 1 << (n - 24)
	switch {
	case n > 27:
		r.Fail("an indefinite or reserved length")
		return 0
	case len(r.b)-r.pos-1 < size:
		r.Fail("it ends too early")
		return 0
	}
	n = 0
	for _, c := range r.b[r.pos+1 : r.pos+1+size] {
		n = n<<8 | uint64(c)
	}
	r.pos += 1 + size
	return n
}

// Array reads the head of an array of least to most elements.
func (r *Reader) Array(least, most int) int {
	n := r.head(MajorArray, "an array")
	if r.problem == "" && (n < uint64(least) || n > uint64(most)) {
		r.Fail(fmt.Sprintf("want an array of %d to %d elements", least, most))
		return 0
	}
	return int(n)
}

// string reads the bytes of a text or byte string.
func (r *Reader) string(major byte, what string) []byte {
	n := r.head(major, what)
	if r.problem != "" {
		return nil
	}
	if n > uint64(len(r.b)-r.pos) {
		r.Fail("it ends too early")
		return nil
	}
	s := r.b[r.pos : r.pos+int(n) : r.pos+int(n)]
	r.pos += int(n)
	return s
}

// Bytes reads a byte string.
func (r *Reader) Bytes() []byte { return r.string(MajorBytes, "a byte string") }

// Text reads a text of at most most bytes.
func (r *Reader) Text(most int) string {
	s := r.string(MajorText, "a text")
	switch {
	case len(s) > most:
		r.Fail("a text that is too long")
	case !utf8.Valid(s):
		r.Fail("a text that is not UTF-8")
	}
	if r.problem != "" {
		return ""
	}
	return unsafe.String(unsafe.SliceData(s), len(s))
}

// Uint reads a number of at most most.
func (r *Reader) Uint(most uint64) uint64 {
	n := r.head(MajorUint, "a number")
	if n > most {
		r.Fail("a number that is too large")
		return 0
	}
	return n
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	if r.problem != "" {
		return false
	}
	if r.pos >= len(r.b) || r.b[r.pos] != trueByte && r.b[r.pos] != falseByte {
		r.Fail("want true or false")
		return false
	}
	r.pos++
	return r.b[r.pos-1] == trueByte
}

// Null reads a null, if the next item is one.
func (r *Reader) Null() bool {
	if r.problem != "" || r.pos >= len(r.b) || r.b[r.pos] != null {
		return false
	}
	r.pos++
	return true
}
