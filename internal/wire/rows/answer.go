package rows

import (
	"math"

	"github.com/hotrow/hotrow/internal/row"
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
	dst = appendUint(appendUint(appendArray(dst, 7), uint64(a.State)), uint64(a.Origin))
	dst = appendText(appendText(appendText(dst, a.Key), a.ETag), a.Position)
	return appendBytes(appendUint(dst, a.Lag), a.Body)
}

// AppendAsOf appends the part of an Answer that is the same for all that one
// source gives at one time: the position and the lag. See AppendHitHead.
func AppendAsOf(dst, position []byte, lag uint64) []byte {
	dst = append(row.AppendCBORHead(dst, row.CBORText, uint64(len(position))), position...)
	return appendUint(dst, lag)
}

// AppendHitHead appends an Answer from memory whose key is the one that was
// asked for, up to its body, which follows and has that many bytes. asOf is what
// AppendAsOf has made.
func AppendHitHead(dst []byte, s State, etag string, asOf []byte, body int) []byte {
	dst = append(dst, row.CBORArray|7, byte(s), byte(HitMemory), row.CBORText)
	dst = append(appendText(dst, etag), asOf...)
	return row.AppendCBORHead(dst, row.CBORBytes, uint64(body))
}

// Decode reads the payload of an Answer. The body aliases it.
func (a *Answer) Decode(b []byte) error {
	r := reader{b: b}
	a.read(&r)
	return r.end("answer")
}

func (a *Answer) read(r *reader) {
	r.array(7, 7)
	*a = Answer{
		State:    State(r.uint(uint64(numStates) - 1)),
		Origin:   Origin(r.uint(uint64(numOrigins) - 1)),
		Key:      r.text(maxText),
		ETag:     r.text(maxText),
		Position: r.text(maxText),
		Lag:      r.uint(math.MaxUint64),
		Body:     r.bytes(),
	}
}

// maxAnswers bounds a list of answers: what Resource.MaxLimit may be at most.
const maxAnswers = 1 << 20

// AppendAnswersHead appends the head of n answers, which follow it.
func AppendAnswersHead(dst []byte, n int) []byte { return appendArray(dst, n) }

// DecodeAnswers reads the payload of the answer to a GetMulti.
func DecodeAnswers(b []byte) ([]Answer, error) {
	r := reader{b: b}
	list := r.answers()
	return list, r.end("answers")
}

// answers reads an array of answers. What it allocates grows with what it has
// read, not with what the payload declares.
func (r *reader) answers() []Answer {
	var list []Answer
	for range r.array(0, maxAnswers) {
		var a Answer
		if a.read(r); r.problem != "" {
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
}

// AppendPageHead appends the head of a Page of n answers, which follow it.
func AppendPageHead(dst []byte, more bool, n int) []byte {
	return appendArray(appendBool(appendArray(dst, 2), more), n)
}

// Decode reads the payload of a Page.
func (p *Page) Decode(b []byte) error {
	r := reader{b: b}
	r.array(2, 2)
	p.More = r.bool()
	p.Answers = r.answers()
	return r.end("page")
}

// Written is the answer to a Write.
type Written struct {
	Created bool
	Answer  Answer // the document after the write; no Body when Minimal
}

// Append appends w.
func (w *Written) Append(dst []byte) []byte {
	return w.Answer.Append(appendBool(appendArray(dst, 2), w.Created))
}

// Decode reads the payload of a Written.
func (w *Written) Decode(b []byte) error {
	r := reader{b: b}
	r.array(2, 2)
	w.Created = r.bool()
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
	dst = appendUint(appendText(appendArray(dst, 5), i.Server), i.MaxMessage)
	dst = appendUint(appendUint(dst, i.MaxKeys), i.MaxList)
	dst = appendArray(dst, len(i.Resources))
	for n := range i.Resources {
		res := &i.Resources[n]
		dst = appendUint(appendText(appendArray(dst, 5), res.Name), uint64(res.Does))
		dst = appendArray(appendUint(dst, res.MaxLimit), len(res.Key))
		for _, k := range res.Key {
			dst = appendText(dst, k)
		}
		dst = appendText(dst, res.Position)
	}
	return dst
}

// Decode reads the payload of an Info.
func (i *Info) Decode(b []byte) error {
	r := reader{b: b}
	r.array(5, 5)
	*i = Info{
		Server: r.text(maxText), MaxMessage: r.uint(math.MaxUint64),
		MaxKeys: r.uint(math.MaxUint64), MaxList: r.uint(math.MaxUint64),
	}
	for range r.array(0, maxAnswers) {
		r.array(5, 5)
		res := ResourceInfo{
			Name: r.text(MaxName), Does: Does(r.uint(allDoes)), MaxLimit: r.uint(math.MaxUint64),
			Key: r.texts(maxColumns), Position: r.text(maxText),
		}
		if r.problem != "" {
			break
		}
		i.Resources = append(i.Resources, res)
	}
	return r.end("info")
}
