package rows

import (
	"math"

	"github.com/hotrow/hotrow/client/wire/cbor"
)

// An Answer is one document, or the knowledge that there is none, with where it
// came from.
type Answer struct {
	State    State
	Origin   Origin
	Key      string // canonical; "": the one that was asked for
	ETag     string // with its quotes; "" when there is no document
	Position string // every change up to here is in the answer; "": nobody knows
	Lag      uint64 // milliseconds since the feed was known to be complete
	Body     []byte // in the format that was asked for; nothing unless State is Found
}

// Append appends a.
func (a *Answer) Append(dst []byte) []byte {
	dst = cbor.AppendUint(cbor.AppendArray(dst, 7), uint64(a.State))
	dst = cbor.AppendUint(dst, uint64(a.Origin))
	dst = cbor.AppendText(cbor.AppendText(cbor.AppendText(dst, a.Key), a.ETag), a.Position)
	return cbor.AppendBytes(cbor.AppendUint(dst, a.Lag), a.Body)
}

// AppendAsOf appends the part of an Answer that is the same for all that one
// source gives at one time: the position and the lag. See AppendHitHead.
func AppendAsOf(dst, position []byte, lag uint64) []byte {
	return cbor.AppendUint(cbor.AppendText(dst, position), lag)
}

// AppendHitHead appends an Answer from memory whose key is the one that was
// asked for, up to its body, which follows and has that many bytes. asOf is what
// AppendAsOf has made.
func AppendHitHead(dst []byte, s State, etag string, asOf []byte, body int) []byte {
	dst = append(dst, cbor.MajorArray|7, byte(s), byte(HitMemory), cbor.MajorText)
	dst = append(cbor.AppendText(dst, etag), asOf...)
	return cbor.AppendBytesHead(dst, body)
}

// Decode reads the payload of an Answer. The body aliases it.
func (a *Answer) Decode(b []byte) error {
	r := newReader(b)
	a.read(&r)
	return r.end("answer")
}

func (a *Answer) read(r *reader) {
	r.Array(7, 7)
	*a = Answer{
		State:    State(r.Uint(uint64(numStates) - 1)),
		Origin:   Origin(r.Uint(uint64(numOrigins) - 1)),
		Key:      r.Text(maxText),
		ETag:     r.Text(maxText),
		Position: r.Text(maxText),
		Lag:      r.Uint(math.MaxUint64),
		Body:     r.Bytes(),
	}
}

// maxAnswers bounds a list of answers: what Resource.MaxLimit may be at most.
const maxAnswers = 1 << 20

// AppendAnswersHead appends the head of n answers, which follow it.
func AppendAnswersHead(dst []byte, n int) []byte { return cbor.AppendArray(dst, n) }

// DecodeAnswers reads the payload of the answer to a GetMulti.
func DecodeAnswers(b []byte) ([]Answer, error) {
	r := newReader(b)
	list := r.answers()
	return list, r.end("answers")
}

// answers reads an array of answers. What it allocates grows with what it has
// read, not with what the payload declares.
func (r *reader) answers() []Answer {
	var list []Answer
	for range r.Array(0, maxAnswers) {
		var a Answer
		if a.read(r); !r.OK() {
			return nil
		}
		list = append(list, a)
	}
	return list
}

// A Page is the answer to a Query.
type Page struct {
	More    bool     // there are documents after these
	Answers []Answer // each with its Key
	Next    string   // of a Query with a Filter: that of the page that follows
}

// Append appends the payload of p.
func (p *Page) Append(dst []byte) []byte {
	n := 2
	if p.Next != "" {
		n = 3
	}
	dst = cbor.AppendBool(cbor.AppendArray(dst, n), p.More)
	dst = cbor.AppendArray(dst, len(p.Answers))
	for i := range p.Answers {
		dst = p.Answers[i].Append(dst)
	}
	if n == 3 {
		dst = cbor.AppendText(dst, p.Next)
	}
	return dst
}

// Decode reads the payload of a Page.
func (p *Page) Decode(b []byte) error {
	r := newReader(b)
	n := r.Array(2, 3)
	*p = Page{More: r.Bool()}
	if p.Answers = r.answers(); n > 2 {
		p.Next = r.Text(maxFilter)
	}
	return r.end("page")
}

// Written is the answer to a Write.
type Written struct {
	Created bool
	Answer  Answer // the document after the write; no Body when Minimal
}

// Append appends w.
func (w *Written) Append(dst []byte) []byte {
	return w.Answer.Append(cbor.AppendBool(cbor.AppendArray(dst, 2), w.Created))
}

// Decode reads the payload of a Written.
func (w *Written) Decode(b []byte) error {
	r := newReader(b)
	r.Array(2, 2)
	w.Created = r.Bool()
	w.Answer.read(&r)
	return r.end("written")
}

// An Info says what is served.
type Info struct {
	Server     string // name and version
	MaxMessage uint64 // bytes of a message that the server accepts
	MaxKeys    uint64 // of one GetMulti
	MaxList    uint64 // bytes of the documents of one answer
	Resources  []ResourceInfo
}

// A ResourceInfo is a resource that the one who asks may read.
type ResourceInfo struct {
	Name     string
	Does     Does
	MaxLimit uint64   // of a Query
	Key      []string // the members that make the key
	Position string   // up to which changes are known; "" without a feed
}

// Does are the operations that a resource offers.
type Does uint32

// The operations of a resource.
const (
	DoesCreate Does = 1 << iota
	DoesPut
	DoesPatch
	DoesDelete
	DoesWatch
	allDoes = 1<<iota - 1
)

// maxColumns bounds the columns of a key.
const maxColumns = 64

// Append appends i.
func (i *Info) Append(dst []byte) []byte {
	dst = cbor.AppendUint(cbor.AppendText(cbor.AppendArray(dst, 5), i.Server), i.MaxMessage)
	dst = cbor.AppendUint(cbor.AppendUint(dst, i.MaxKeys), i.MaxList)
	dst = cbor.AppendArray(dst, len(i.Resources))
	for n := range i.Resources {
		res := &i.Resources[n]
		dst = cbor.AppendUint(cbor.AppendText(cbor.AppendArray(dst, 5), res.Name), uint64(res.Does))
		dst = cbor.AppendArray(cbor.AppendUint(dst, res.MaxLimit), len(res.Key))
		for _, k := range res.Key {
			dst = cbor.AppendText(dst, k)
		}
		dst = cbor.AppendText(dst, res.Position)
	}
	return dst
}

// Decode reads the payload of an Info.
func (i *Info) Decode(b []byte) error {
	r := newReader(b)
	r.Array(5, 5)
	*i = Info{
		Server: r.Text(maxText), MaxMessage: r.Uint(math.MaxUint64),
		MaxKeys: r.Uint(math.MaxUint64), MaxList: r.Uint(math.MaxUint64),
	}
	for range r.Array(0, maxAnswers) {
		r.Array(5, 5)
		res := ResourceInfo{
			Name: r.Text(MaxName), Does: Does(r.Uint(allDoes)), MaxLimit: r.Uint(math.MaxUint64),
			Key: r.texts(maxColumns), Position: r.Text(maxText),
		}
		if !r.OK() {
			break
		}
		i.Resources = append(i.Resources, res)
	}
	return r.end("info")
}
