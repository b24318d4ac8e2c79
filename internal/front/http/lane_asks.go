package httpfront

import (
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// isPicky reports whether a request makes demands on the answer beside its format and
// coding: how fresh it is, or which version.
func isPicky(r *http1.Request) bool {
	return r.CacheControl != nil || r.MinPosition != nil || r.IfMatch != nil
}

// grants reports whether what memory has at a moment, doc (nil: nothing, or that there
// is no row), meets the demands of such a request for a document of source beyond
// doubt. The Handler decides where it does not.
func grants(
	r *http1.Request, source string, doc *row.Document, at *resource.Moment,
) bool {
	if doc == nil {
		return false
	}
	if r.CacheControl != nil {
		d := parseDirectives(row.Alias(r.CacheControl))
		if d.noCache || d.exceeds(at.Lag) || d.noTransform && r.AcceptEncoding != nil {
			return false
		}
	}
	if r.IfMatch != nil && (r.AcceptEncoding != nil || string(r.IfMatch) != doc.ETag()) {
		return false
	}
	if r.MinPosition == nil {
		return true
	}
	least, err := minPosition(source, row.Alias(r.MinPosition))
	return err == nil && (least.IsZero() || at.Fresh && at.Token.Includes(least))
}

// appendRequestID echoes the value of X-Request-Id as the Handler does.
func appendRequestID(out, id []byte) []byte {
	if id == nil || requestID(row.Alias(id)) == "" {
		return out
	}
	return append(append(append(out, "X-Request-Id: "...), id...), "\r\n"...)
}

const (
	// maxAccept is the longest Accept header that the loop reads.
	maxAccept = 256

	// maxAccepts bounds what a loop remembers of them.
	maxAccepts = 64
)

// accepts is what a loop remembers of Accept headers: the format that each is answered
// in. One that the loop does not answer is remembered too.
type accepts struct{ formats map[string]media }

// format returns the representation that a request asks for, if the loop answers it:
// under the name that documents are stored with.
func (s *scope) format(r *http1.Request) (row.Format, bool) {
	switch string(r.Query) { // does not allocate
	case "":
	case "format=json":
		return row.FormatJSON, true
	case "format=msgpack":
		return row.FormatMsgPack, true
	case "format=cbor":
		return row.FormatCBOR, true
	default:
		return 0, false
	}

	// Fast path: what most programs send.
	switch string(r.Accept) {
	case "", "*/*", "application/json":
		return row.FormatJSON, true
	}

	// Slow path: what browsers and SDKs send.
	return s.accepts.format(r.Accept)
}

// format returns the representation that an Accept header asks for. It allocates when
// the header is new.
func (a *accepts) format(accept []byte) (row.Format, bool) {
	if len(accept) > maxAccept {
		return 0, false
	}
	m, known := a.formats[string(accept)] // does not allocate
	if !known {
		if a.formats == nil || len(a.formats) >= maxAccepts {
			a.formats = make(map[string]media)
		}
		text := string(accept)
		m, _ = negotiateDocument(map[string][]string{"Accept": {text}}, "")
		a.formats[text] = m
	}
	return m.format, m.name == m.format.MediaType()
}
