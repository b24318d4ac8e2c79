package rows

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/row"
)

// ErrPayload is wrapped by the error of a payload that cannot be read.
var ErrPayload = errors.New("not a payload of this message")

func appendUint(dst []byte, n uint64) []byte {
	return row.AppendCBORHead(dst, row.CBORUint, n)
}

func appendArray(dst []byte, n int) []byte {
	return row.AppendCBORHead(dst, row.CBORArray, uint64(n))
}

func appendText(dst []byte, s string) []byte {
	return append(row.AppendCBORHead(dst, row.CBORText, uint64(len(s))), s...)
}

func appendBytes(dst, b []byte) []byte {
	return append(row.AppendCBORHead(dst, row.CBORBytes, uint64(len(b))), b...)
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, row.CBORTrue)
	}
	return append(dst, row.CBORFalse)
}

// lastFormat is the last of the formats that travel: their numbers are row's.
const lastFormat = row.FormatCBOR

// A reader reads CBOR. Its first problem stays; what is read after it is zero.
type reader struct {
	b       []byte
	pos     int
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

// head reads a head of the major type and returns its argument.
func (r *reader) head(major byte, what string) uint64 {
	if r.problem != "" {
		return 0
	}
	if r.pos >= len(r.b) {
		r.fail("it ends too early")
		return 0
	}
	first := r.b[r.pos]
	if first&^31 != major {
		r.fail("want " + what)
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
	n := r.head(row.CBORArray, "an array")
	if r.problem == "" && (n < uint64(least) || n > uint64(most)) {
		r.fail(fmt.Sprintf("want an array of %d to %d elements", least, most))
		return 0
	}
	return int(n)
}

// string reads the bytes of a text or byte string.
func (r *reader) string(major byte, what string) []byte {
	n := r.head(major, what)
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

// text reads a text of at most most bytes. It aliases the payload.
func (r *reader) text(most int) string {
	s := r.string(row.CBORText, "a text")
	switch {
	case len(s) > most:
		r.fail("a text that is too long")
	case !utf8.Valid(s):
		r.fail("a text that is not UTF-8")
	}
	if r.problem != "" {
		return ""
	}
	return row.Alias(s)
}

// texts reads an array of texts, nil when it is empty.
func (r *reader) texts(most int) []string {
	var list []string
	for range r.array(0, most) {
		list = append(list, r.text(maxText))
	}
	return list
}

func (r *reader) bytes() []byte { return r.string(row.CBORBytes, "a byte string") }

func (r *reader) uint(most uint64) uint64 {
	n := r.head(row.CBORUint, "a number")
	if n > most {
		r.fail("a number that is too large")
		return 0
	}
	return n
}

func (r *reader) uint32() uint32 { return uint32(r.uint(math.MaxUint32)) }

func (r *reader) format() row.Format {
	return row.Format(r.uint(uint64(lastFormat)))
}

func (r *reader) flags(known Flags) Flags {
	f := Flags(r.uint(allFlags))
	if f&^known != 0 {
		r.fail("a flag that is not known here")
		return 0
	}
	return f
}

func (r *reader) bool() bool {
	if r.problem != "" {
		return false
	}
	if r.pos >= len(r.b) || r.b[r.pos] != row.CBORTrue && r.b[r.pos] != row.CBORFalse {
		r.fail("want true or false")
		return false
	}
	r.pos++
	return r.b[r.pos-1] == row.CBORTrue
}
