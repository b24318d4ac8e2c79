package exchange

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The major types of CBOR (RFC 8949 3.1), in the high bits of the first byte.
const (
	majorUint  = 0 << 5
	majorBytes = 2 << 5
	majorArray = 4 << 5
	cborNull   = 0xf6
)

// appendHead appends the shortest head of a major type and its argument.
func appendHead(dst []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n <= math.MaxUint8:
		return append(dst, major|24, byte(n))
	case n <= math.MaxUint16:
		return append(dst, major|25, byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, major|27), n)
}

func appendBytes(dst, b []byte) []byte {
	return append(appendHead(dst, majorBytes, uint64(len(b))), b...)
}

// appendMethod appends a method, as a number if it has one.
func appendMethod(dst, method []byte) []byte {
	for i := range methods {
		if string(method) == string(methods[i]) {
			return appendHead(dst, majorUint, uint64(i))
		}
	}
	return appendBytes(dst, method)
}

// appendFields appends an array of pairs.
func appendFields(dst []byte, fields []Field) []byte {
	dst = appendHead(dst, majorArray, uint64(len(fields)))
	for i := range fields {
		f := &fields[i]
		dst = append(dst, majorArray|2)
		if n, ok := numbers[string(f.Name)]; ok {
			dst = appendHead(dst, majorUint, uint64(n))
		} else {
			dst = appendBytes(dst, f.Name)
		}
		dst = appendBytes(dst, f.Value)
	}
	return dst
}

// A reader reads CBOR. Its first problem stays; what is read after it is zero.
type reader struct {
	b       []byte
	pos     int
	text    int // bytes of the head so far
	problem string
}

func (r *reader) fail(problem string) {
	if r.problem == "" {
		r.problem = problem
	}
}

// end returns the problem, if there is one or there are bytes left.
func (r *reader) end(what string) error {
	if r.problem == "" && r.pos < len(r.b) {
		r.problem = "there is more after its end"
	}
	if r.problem == "" {
		return nil
	}
	return fmt.Errorf("%s: %w: %s (byte %d)", what, ErrPayload, r.problem, r.pos)
}

// is reports whether the next item is of the major type.
func (r *reader) is(major byte) bool {
	return r.problem == "" && r.pos < len(r.b) && r.b[r.pos]&^31 == major
}

// head reads a head of the major type and returns its argument.
func (r *reader) head(major byte, what string) uint64 {
	if r.problem != "" {
		return 0
	}
	if !r.is(major) {
		r.fail("want " + what)
		return 0
	}
	n := uint64(r.b[r.pos] & 31)
	if n < 24 {
		r.pos++
		return n
	}
	size := 1 << (n - 24)
	switch {
	case n > 27:
		r.fail("an indefinite or reserved length")
		return 0
	case len(r.b)-r.pos-1 < size:
		r.fail("it ends too early")
		return 0
	}
	n = 0
	for _, c := range r.b[r.pos+1 : r.pos+1+size] {
		n = n<<8 | uint64(c)
	}
	r.pos += 1 + size
	return n
}

// array reads the head of an array of least to most elements.
func (r *reader) array(least, most int) int {
	n := r.head(majorArray, "an array")
	if r.problem == "" && (n < uint64(least) || n > uint64(most)) {
		r.fail("an array with too few or too many elements")
		return 0
	}
	return int(n)
}

func (r *reader) uint(most uint64) uint64 {
	n := r.head(majorUint, "a number")
	if n > most {
		r.fail("a number that is too large")
		return 0
	}
	return n
}

// null reads a null, if the next item is one.
func (r *reader) null() bool {
	if r.problem != "" || r.pos >= len(r.b) || r.b[r.pos] != cborNull {
		return false
	}
	r.pos++
	return true
}

func (r *reader) bytes() []byte {
	n := r.head(majorBytes, "a byte string")
	if r.problem != "" {
		return nil
	}
	if n > uint64(len(r.b)-r.pos) {
		r.fail("it ends too early")
		return nil
	}
	s := r.b[r.pos : r.pos+int(n) : r.pos+int(n)]
	r.pos += int(n)
	return s
}

// count bounds what heads may have together.
func (r *reader) count(s []byte) []byte {
	if r.text += len(s); r.text > MaxHead {
		r.fail("a head that is too large")
	}
	return s
}

// visible reads a byte string without blanks and controls.
func (r *reader) visible() []byte {
	s := r.count(r.bytes())
	for _, c := range s {
		if c <= ' ' || c == 0x7f {
			r.fail("a blank or control byte where none may be")
		}
	}
	return s
}

// status reads the status of an answer.
func (r *reader) status() int {
	n := r.uint(599)
	if n < 100 {
		r.fail("a status that is none")
	}
	return int(n)
}

// method reads a method: a number or its name.
func (r *reader) method() []byte {
	if r.is(majorUint) {
		return methods[r.uint(uint64(len(methods)-1))]
	}
	s := r.visible()
	if len(s) == 0 {
		r.fail("an empty method")
	}
	return s
}

// fields reads an array of pairs and appends them.
func (r *reader) fields(dst []Field) []Field {
	for range r.array(0, MaxFields) {
		r.array(2, 2)
		var f Field
		if r.is(majorUint) {
			f.Name = names[r.uint(uint64(len(names)-1))]
			r.count(f.Name)
		} else {
			f.Name = r.visible()
		}
		f.Value = r.count(r.bytes())
		if r.problem == "" {
			r.checkField(f)
		}
		if r.problem != "" {
			return dst
		}
		dst = append(dst, f)
	}
	return dst
}

// checkField refuses what would not stay one field when it is written as a line.
func (r *reader) checkField(f Field) {
	if len(f.Name) == 0 || Hop(f.Name) {
		r.fail("a field that is not carried")
	}
	for _, c := range f.Name {
		if c == ':' {
			r.fail("a field's name that is none")
		}
	}
	for _, c := range f.Value {
		if c < ' ' && c != '\t' || c == 0x7f {
			r.fail("a control byte in a field")
		}
	}
}
