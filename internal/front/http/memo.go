package httpfront

import (
	"context"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/row"
)

// A memo is what requests that are answered one after the other have in common: what
// headers of a handful of values mean, and memory to write in. An event loop has one;
// other goroutines take one while they answer.
type memo struct {
	encodings
	accepts map[string]*media // by Accept; nil: none fits

	tokens     map[string]*holder // by Authorization
	tokenBytes int                // of its keys
	grounds    grounds            // by which tokens was filled
	who        *holder            // of the request; nil: nobody, as far as that was looked up

	ctx context.Context // of the request; nil: of an event loop, where nothing may wait
	now time.Time       // of an event loop: when its wake-up began

	preferred []byte // the last Prefer of a GET that was not refused

	q     question
	list  listQuery       // of q, when it asks for a list
	docs  []*row.Document // that a list has found
	a     answer
	text  []byte // of the request, without its escapes
	head  []byte // of the answer: the header lines that many have in common
	lines []byte // and those of its own
	body  []byte
}

// memos are those that no goroutine uses.
var memos = sync.Pool{New: func() any { return new(memo) }}

// release gives a memo back. What was written in it is nobody's any more.
func (m *memo) release() {
	if cap(m.body) > front.ScratchBytes {
		m.body = nil
	}
	m.q, m.a, m.list = question{}, answer{}, listQuery{}
	m.who, m.ctx = nil, nil
	clear(m.docs)
	m.docs = m.docs[:0]
	memos.Put(m)
}

// encodings is what is remembered of Accept-Encoding headers. Often it is one that most
// connections send.
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

// of returns what header takes. It allocates when the header is new.
func (e *encodings) of(o *settings, header []byte) accepted {
	// Fast path: the header of the request before.
	if e.by == o && e.last != nil && e.last.text == string(header) { // does not allocate
		return e.last.accepted
	}

	// Slow path.
	if len(header) > front.EncodingBytes {
		return parseAccepted(row.Alias(header), o.Compression)
	}
	if e.by != o || len(e.known) >= front.Encodings {
		e.by, e.known = o, make(map[string]*encoding)
	}
	k, ok := e.known[string(header)]
	if !ok {
		k = &encoding{text: string(header)}
		k.accepted = parseAccepted(k.text, o.Compression)
		e.known[k.text] = k
	}
	e.last = k
	return k.accepted
}

// takes returns the codings in which a request lets be answered. For some only: see
// coding.go.
func (m *memo) takes(o *settings, r *request, private, noTransform bool) accepted {
	if r.AcceptEncoding == nil || len(o.Compression) == 0 {
		return plainOnly
	}
	a := m.encodings.of(o, r.AcceptEncoding)
	if private || noTransform {
		return accepted{mask: a.mask & plainOnly.mask}
	}
	return a
}

// media returns the representation that a request asks for. It allocates when its Accept
// header, or the spelling of its query, is new.
func (m *memo) media(r *request) (*media, error) {
	switch string(r.Query) { // does not allocate
	case "":
	case "format=json":
		return mediaOf[row.FormatJSON], nil
	case "format=msgpack":
		return mediaOf[row.FormatMsgPack], nil
	case "format=cbor":
		return mediaOf[row.FormatCBOR], nil
	default:
		format, err := onlyFormat(string(r.Query))
		if err != nil || format != "" {
			return mediaByName(format, err)
		}
	}
	return m.accept(r.Accept)
}

// accept returns the representation that an Accept header asks for.
func (m *memo) accept(header []byte) (*media, error) {
	// Fast path: what most programs send.
	switch string(header) {
	case "", "*/*", "application/json":
		return &documentMedia[0], nil
	}

	// Slow path: what browsers and SDKs send.
	if len(header) > front.AcceptBytes {
		return negotiateDocument(string(header))
	}
	one, known := m.accepts[string(header)] // does not allocate
	if !known {
		if m.accepts == nil || len(m.accepts) >= front.Accepts {
			m.accepts = make(map[string]*media)
		}
		text := string(header)
		one, _ = negotiateDocument(text)
		m.accepts[text] = one
	}
	if one == nil {
		return nil, problem{kind: kindNotAcceptable}
	}
	return one, nil
}
