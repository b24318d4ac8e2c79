package httpfront

import (
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

const (
	// maxEncoding is the longest Accept-Encoding that the lane reads.
	maxEncoding = 128

	// maxEncodings bounds what a loop remembers of them.
	maxEncodings = 64
)

// encodings is what a loop remembers of Accept-Encoding headers: a handful of
// values make up nearly all requests, whichever connections they come on, and
// often one of them does.
type encodings struct {
	known map[string]*encoding
	by    *settings // that known was filled by: a reload may change the offers
	last  *encoding
}

// encoding is one header and what it takes.
type encoding struct {
	text string
	accepted
}

// of returns what header takes; nil: the full road decides. It allocates when
// the header is new.
func (e *encodings) of(o *settings, header []byte) *accepted {
	// Fast path: the header of the request before.
	if e.by == o && e.last.text == string(header) { // does not allocate
		return &e.last.accepted
	}
	if len(header) > maxEncoding {
		return nil
	}
	if e.by != o || len(e.known) >= maxEncodings {
		e.by, e.known = o, make(map[string]*encoding)
	}
	k, ok := e.known[string(header)]
	if !ok {
		k = &encoding{text: string(header)}
		k.accepted = parseAccepted(k.text, o.Compression)
		e.known[k.text] = k
	}
	e.last = k
	return &k.accepted
}

// represent returns the representation of doc that r, which has an
// Accept-Encoding, takes, and whether the
// client holds one that is as good: then If-None-Match is its tag. It is not ok
// when the full road must decide.
func (s *scope) represent(
	r *http1.Request, res *laneResource, key []byte, doc *row.Document,
) (rep *row.Document, same, ok bool) {
	if len(s.live.Compression) == 0 {
		same, ok = laneMatch(r.IfNoneMatch, doc.ETag())
		return doc, same, ok
	}
	a := s.encodings.of(s.live, r.AcceptEncoding)
	switch {
	case a == nil, !res.public && !a.takes(row.Identity):
		return doc, false, false
	case !res.public: // see coding.go
		a = &plainOnly
	}
	if r.IfNoneMatch != nil {
		if _, ok = laneMatch(r.IfNoneMatch, doc.ETag()); !ok {
			return doc, false, false
		}
		if held, named := doc.TagCoding(row.Alias(r.IfNoneMatch)); named && a.takes(held) {
			return doc, true, true
		}
	}
	rep = a.coded(doc)
	if a.n > 0 && rep.Coding() != a.list[0] {
		res.AskCopy(row.Key(row.Alias(key)), doc, a.list[0])
	}
	return rep, false, rep != doc || a.takes(row.Identity)
}
