package rows

import (
	"errors"
	"math"

	"github.com/hotrow/hotrow/client/wire/cbor"
)

// ErrPayload is wrapped by the error of a payload that cannot be read.
var ErrPayload = errors.New("not a payload of this message")

// A reader reads the payload of a row message.
type reader struct{ cbor.Reader }

func newReader(b []byte) reader { return reader{cbor.NewReader(b)} }

// end returns the problem, if there is one or there are bytes left.
func (r *reader) end(what string) error { return r.End(what, ErrPayload) }

// texts reads an array of texts, nil when it is empty.
func (r *reader) texts(most int) []string {
	var list []string
	for range r.Array(0, most) {
		list = append(list, r.Text(maxText))
	}
	return list
}

func (r *reader) uint32() uint32 { return uint32(r.Uint(math.MaxUint32)) }

func (r *reader) format() Format {
	return Format(r.Uint(uint64(CBOR)))
}

func (r *reader) flags(known Flags) Flags {
	f := Flags(r.Uint(allFlags))
	if f&^known != 0 {
		r.Fail("a flag that is not known here")
		return 0
	}
	return f
}
