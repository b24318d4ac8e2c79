// Package exchange is the payloads of the messages that carry HTTP exchanges
// over the wire protocol, between a proxy and its far end. The reference page of
// the protocol lists them.
//
// A payload is one CBOR item (RFC 8949) of definite length: a request, an answer,
// or a part of a stream. Common methods and names of fields are small numbers of
// a static table, so that nothing is learned from one exchange for the next.
// What is for one hop alone (Connection, Host, Transfer-Encoding) is not carried.
//
// Decoded slices alias the payload: they are good while the payload is. The
// package does no I/O, and knows neither frames nor HTTP/1.
package exchange

import (
	"errors"

	"github.com/hotrow/hotrow/client/wire/cbor"
)

// ID is the id of the messages: a request, or a stream of parts whose first one
// is a request without its body, or the number of an answer that goes on.
const ID = 10

// The bounds of what decoders take, and of what encoders may be given. The
// length of a payload is bounded by the protocol beneath.
const (
	MaxFields = 200      // of a head, or of the trailers
	MaxHead   = 64 << 10 // bytes of method, authority, path, names and values
	MaxBody   = 64 << 10 // bytes of a body that goes with its head
	MaxPart   = 32 << 10 // bytes of a body in one part of a stream, at best
)

// ErrPayload is wrapped by the error of a payload that cannot be read.
var ErrPayload = errors.New("not a payload of an HTTP exchange")

// A Scheme says how the upstream is spoken to.
type Scheme uint8

// The schemes.
const (
	Unnamed Scheme = iota // the request names no upstream: Authority is its Host
	HTTP
	HTTPS
	numSchemes
)

// A Field is one field of a head, or one trailer.
type Field struct{ Name, Value []byte }

// A Request is a request: [method, scheme, authority, path, fields, body]. The
// body is null when it follows as parts of the stream.
type Request struct {
	Method    []byte
	Scheme    Scheme
	Authority []byte
	Path      []byte // begins with "/", or is "*"; empty for CONNECT
	Fields    []Field
	Body      []byte
	Streamed  bool // the body follows
}

// Append appends the payload of r.
func (r *Request) Append(dst []byte) []byte {
	dst = appendMethod(cbor.AppendArray(dst, 6), r.Method)
	dst = cbor.AppendUint(dst, uint64(r.Scheme))
	dst = appendFields(cbor.AppendBytes(cbor.AppendBytes(dst, r.Authority), r.Path), r.Fields)
	if r.Streamed {
		return cbor.AppendNull(dst)
	}
	return cbor.AppendBytes(dst, r.Body)
}

// Decode reads the payload of a Request. It keeps the memory of Fields.
func (r *Request) Decode(b []byte) error {
	*r = Request{Fields: r.Fields[:0]}
	d := newReader(b)
	d.Array(6, 6)
	r.Method = d.method()
	r.Scheme = Scheme(d.Uint(uint64(numSchemes) - 1))
	r.Authority, r.Path = d.visible(), d.visible()
	r.Fields = d.fields(r.Fields)
	if r.Streamed = d.Null(); !r.Streamed {
		r.Body = d.Bytes()
	}
	return d.end("request")
}

// An Answer is what a Request that is no stream is answered with: [status,
// fields, body], [status, fields, body, trailers], or [status, fields, body, [],
// number] when there is more: the number opens the stream with the rest.
type Answer struct {
	Status   int // may be an interim one if there is more
	Fields   []Field
	Body     []byte // or its beginning
	Trailers []Field
	Rest     uint64 // number of the stream with the rest; 0: this is all
}

// Append appends the payload of a.
func (a *Answer) Append(dst []byte) []byte {
	n := 3
	if a.Rest != 0 {
		n = 5
	} else if len(a.Trailers) > 0 {
		n = 4
	}
	dst = cbor.AppendUint(cbor.AppendArray(dst, n), uint64(a.Status))
	dst = cbor.AppendBytes(appendFields(dst, a.Fields), a.Body)
	if n > 3 {
		dst = appendFields(dst, a.Trailers)
	}
	if n > 4 {
		dst = cbor.AppendUint(dst, a.Rest)
	}
	return dst
}

// Decode reads the payload of an Answer. It keeps the memory of Fields and
// Trailers.
func (a *Answer) Decode(b []byte) error {
	*a = Answer{Fields: a.Fields[:0], Trailers: a.Trailers[:0]}
	d := newReader(b)
	n := d.Array(3, 5)
	a.Status = d.status()
	a.Fields = d.fields(a.Fields)
	a.Body = d.Bytes()
	if n > 3 {
		a.Trailers = d.fields(a.Trailers)
	}
	if n > 4 {
		a.Rest = d.Uint(1<<63 - 1)
	}
	return d.end("answer")
}

// A Kind is what a part of a stream is.
type Kind uint8

// The kinds of parts.
const (
	Head     Kind = iota // [status, fields]: of an answer, interim or final
	Data                 // bytes of the body
	Trailers             // [fields]: behind the body
	Number               // opens the stream with the rest of an Answer
)

// A Part is one message of a stream behind the request.
type Part struct {
	Kind   Kind
	Status int
	Fields []Field
	Data   []byte
	Number uint64
}

// AppendData appends the payload of a part with bytes of the body.
func AppendData(dst, data []byte) []byte { return cbor.AppendBytes(dst, data) }

// AppendAnswerHead appends the payload of a part with the head of an answer.
func AppendAnswerHead(dst []byte, status int, fields []Field) []byte {
	dst = cbor.AppendUint(cbor.AppendArray(dst, 2), uint64(status))
	return appendFields(dst, fields)
}

// AppendTrailers appends the payload of a part with trailers.
func AppendTrailers(dst []byte, fields []Field) []byte {
	return appendFields(cbor.AppendArray(dst, 1), fields)
}

// AppendNumber appends the payload that opens the rest of an answer.
func AppendNumber(dst []byte, n uint64) []byte { return cbor.AppendUint(dst, n) }

// Decode reads the payload of a part. It keeps the memory of Fields.
func (p *Part) Decode(b []byte) error {
	*p = Part{Fields: p.Fields[:0]}
	d := newReader(b)
	switch {
	case d.IsBytes():
		p.Kind, p.Data = Data, d.Bytes()
	case d.IsUint():
		p.Kind, p.Number = Number, d.Uint(1<<63-1)
	case d.Array(1, 2) == 1:
		p.Kind, p.Fields = Trailers, d.fields(p.Fields)
	default:
		p.Status = d.status()
		p.Fields = d.fields(p.Fields)
	}
	return d.end("part")
}
