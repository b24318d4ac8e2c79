// Package rows is the payloads of the messages that carry rows over the wire
// protocol: what a client asks for, and what it is answered. The reference page
// of the protocol lists them with vectors.
//
// A payload is one CBOR array (RFC 8949) of definite length. Appenders leave
// out what is zero at the end of a request; decoders take any of them left out,
// and refuse what they do not know. Decoded texts alias the payload: they are
// good while the payload is.
//
// The package does no I/O and knows neither frames nor documents.
package rows

import (
	"github.com/hotrow/hotrow/client/wire/cbor"
)

// The ids of the messages. A request is answered with the id of the request, or
// with an error message.
const (
	IDGet      = 1 // Get -> Answer
	IDGetMulti = 2 // GetMulti -> Answers, in the order of the keys
	IDPut      = 3 // Write -> Written; replaces the document, or makes it
	IDDelete   = 4 // Write -> Written
	IDWatch    = 5 // a stream: Watch, then an Event in each message
	IDQuery    = 6 // Query -> Page
	IDPatch    = 7 // Write -> Written; changes the members that the body has
	IDInfo     = 8 // an empty array -> Info
	IDCreate   = 9 // Write -> Written; the key may be empty
)

// The bounds of what decoders take. The length of a payload is bounded by the
// protocol beneath.
const (
	MaxName = 256  // bytes of a resource's name
	MaxKeys = 1000 // of one GetMulti
	MaxTags = 64   // of one Write
	MaxKey  = 2048 // bytes of a key, and of any other text
	maxText = MaxKey

	// maxFilter is the longest query.
	maxFilter = 16 << 10
)

// Format is the representation of a document.
type Format uint8

// The formats. The server's Format has the same numbers.
const (
	JSON Format = iota
	MsgPack
	CBOR
)

// Flags are what a request asks for besides.
type Flags uint32

// The flags of requests.
const (
	NoCache      Flags = 1 << iota // read the database now
	OnlyIfCached                   // never read the database
	Minimal                        // of a write: answer without the document
	allFlags     = 1<<iota - 1
)

// State is what an Answer says of the document.
type State uint8

// The states.
const (
	Found       State = iota // Body is the document
	Absent                   // there is no row
	NotModified              // the document is the one of the request's IfNoneMatch
	numStates
)

// Origin says where an answer came from.
type Origin uint8

// The origins, in the words of an HTTP answer's Cache-Status.
const (
	HitMemory Origin = iota // hit; detail=mem
	Stored                  // fwd=uri-miss; stored
	Unstored                // fwd=uri-miss
	Collapsed               // fwd=uri-miss; collapsed
	Requested               // fwd=request
	Stale                   // fwd=stale
	Bypassed                // fwd=bypass
	HitDisk                 // hit; detail=disk
	numOrigins
)

// A Get asks for one document.
type Get struct {
	Resource, Key string
	Format        Format
	Flags         Flags
	Min           string // position that the answer must include; "": any
	Wait          uint32 // milliseconds to wait for Min; 0: 100
	IfNoneMatch   string // entity tag, with its quotes; "": answer with the document
}

// Append appends the payload of g.
func (g *Get) Append(dst []byte) []byte {
	n := 2
	switch {
	case g.IfNoneMatch != "":
		n = 7
	case g.Wait != 0:
		n = 6
	case g.Min != "":
		n = 5
	case g.Flags != 0:
		n = 4
	case g.Format != 0:
		n = 3
	}
	dst = cbor.AppendText(cbor.AppendText(cbor.AppendArray(dst, n), g.Resource), g.Key)
	for i := 3; i <= n; i++ {
		switch i {
		case 3:
			dst = cbor.AppendUint(dst, uint64(g.Format))
		case 4:
			dst = cbor.AppendUint(dst, uint64(g.Flags))
		case 5:
			dst = cbor.AppendText(dst, g.Min)
		case 6:
			dst = cbor.AppendUint(dst, uint64(g.Wait))
		case 7:
			dst = cbor.AppendText(dst, g.IfNoneMatch)
		}
	}
	return dst
}

// Decode reads the payload of a Get. It allocates nothing unless it fails.
func (g *Get) Decode(b []byte) error {
	*g = Get{}
	r := newReader(b)
	n := r.Array(2, 7)
	g.Resource = r.Text(MaxName)
	g.Key = r.Text(maxText)
	if n > 2 {
		g.Format = r.format()
	}
	if n > 3 {
		g.Flags = r.flags(NoCache | OnlyIfCached)
	}
	if n > 4 {
		g.Min = r.Text(maxText)
	}
	if n > 5 {
		g.Wait = r.uint32()
	}
	if n > 6 {
		g.IfNoneMatch = r.Text(maxText)
	}
	return r.end("get")
}

// A GetMulti asks for documents of one resource.
type GetMulti struct {
	Resource string
	Keys     []string
	Format   Format
	Flags    Flags
	Min      string
	Wait     uint32 // milliseconds
}

// Append appends the payload of g.
func (g *GetMulti) Append(dst []byte) []byte {
	dst = cbor.AppendText(cbor.AppendArray(dst, 6), g.Resource)
	dst = cbor.AppendArray(dst, len(g.Keys))
	for _, k := range g.Keys {
		dst = cbor.AppendText(dst, k)
	}
	dst = cbor.AppendUint(cbor.AppendUint(dst, uint64(g.Format)), uint64(g.Flags))
	return cbor.AppendUint(cbor.AppendText(dst, g.Min), uint64(g.Wait))
}

// Decode reads the payload of a GetMulti. It keeps the memory of Keys.
func (g *GetMulti) Decode(b []byte) error {
	*g = GetMulti{Keys: g.Keys[:0]}
	r := newReader(b)
	n := r.Array(2, 6)
	g.Resource = r.Text(MaxName)
	for range r.Array(0, MaxKeys) {
		g.Keys = append(g.Keys, r.Text(maxText))
	}
	if n > 2 {
		g.Format = r.format()
	}
	if n > 3 {
		g.Flags = r.flags(NoCache | OnlyIfCached)
	}
	if n > 4 {
		g.Min = r.Text(maxText)
	}
	if n > 5 {
		g.Wait = r.uint32()
	}
	return r.end("get of several")
}

// A Query asks for the documents that follow a key, in the order of the key.
type Query struct {
	Resource string
	After    string // key; "": from the beginning
	Limit    uint32 // 0: 100
	Format   Format
	Filter   string // the query of a URL, which then says it all: After is "", Limit 0
}

// Append appends the payload of q.
func (q *Query) Append(dst []byte) []byte {
	n := 4
	if q.Filter != "" {
		n = 5
	}
	dst = cbor.AppendText(cbor.AppendText(cbor.AppendArray(dst, n), q.Resource), q.After)
	dst = cbor.AppendUint(cbor.AppendUint(dst, uint64(q.Limit)), uint64(q.Format))
	if n == 5 {
		dst = cbor.AppendText(dst, q.Filter)
	}
	return dst
}

// Decode reads the payload of a Query.
func (q *Query) Decode(b []byte) error {
	*q = Query{}
	r := newReader(b)
	n := r.Array(1, 5)
	q.Resource = r.Text(MaxName)
	if n > 1 {
		q.After = r.Text(maxText)
	}
	if n > 2 {
		q.Limit = r.uint32()
	}
	if n > 3 {
		q.Format = r.format()
	}
	if n > 4 {
		q.Filter = r.Text(maxFilter)
	}
	return r.end("query")
}

// A Write changes one document: the message's id says how.
type Write struct {
	Resource, Key string
	Body          []byte // aliases the payload when decoded; nothing for a delete
	BodyFormat    Format
	Format        Format // of the answer
	Flags         Flags
	// IfMatch are entity tags of which the document must have one, IfNoneMatch
	// those of which it must have none; "*": any. nil: no condition.
	IfMatch, IfNoneMatch []string
}

// Append appends the payload of w.
func (w *Write) Append(dst []byte) []byte {
	dst = cbor.AppendText(cbor.AppendText(cbor.AppendArray(dst, 8), w.Resource), w.Key)
	dst = cbor.AppendUint(cbor.AppendBytes(dst, w.Body), uint64(w.BodyFormat))
	dst = cbor.AppendUint(cbor.AppendUint(dst, uint64(w.Format)), uint64(w.Flags))
	for _, tags := range [][]string{w.IfMatch, w.IfNoneMatch} {
		dst = cbor.AppendArray(dst, len(tags))
		for _, t := range tags {
			dst = cbor.AppendText(dst, t)
		}
	}
	return dst
}

// Decode reads the payload of a Write.
func (w *Write) Decode(b []byte) error {
	*w = Write{}
	r := newReader(b)
	n := r.Array(2, 8)
	w.Resource = r.Text(MaxName)
	w.Key = r.Text(maxText)
	if n > 2 {
		w.Body = r.Bytes()
	}
	if n > 3 {
		w.BodyFormat = r.format()
	}
	if n > 4 {
		w.Format = r.format()
	}
	if n > 5 {
		w.Flags = r.flags(Minimal)
	}
	if n > 6 {
		w.IfMatch = r.texts(MaxTags)
	}
	if n > 7 {
		w.IfNoneMatch = r.texts(MaxTags)
	}
	return r.end("write")
}

// DecodeEmpty reads the payload of a request that says nothing: an Info.
func DecodeEmpty(b []byte) error {
	r := newReader(b)
	r.Array(0, 0)
	return r.end("info")
}

// AppendEmpty appends the payload of a request that says nothing.
func AppendEmpty(dst []byte) []byte { return cbor.AppendArray(dst, 0) }
