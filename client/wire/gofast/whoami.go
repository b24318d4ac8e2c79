package gofast

import (
	"encoding/binary"
	"math"

	"github.com/fxamacker/cbor/v2"
)

// Feature is a set of what two peers may agree upon besides gofast's protocol.
type Feature uint64

// The features, each a bit.
const (
	FeatureErrors    Feature = 1   // ERROR in place of an answer
	FeatureDeadlines Feature = 2   // a deadline and metadata with a message
	FeatureCancel    Feature = 4   // CANCEL
	FeatureCredit    Feature = 8   // CREDIT
	FeatureGoAway    Feature = 16  // GOAWAY
	FeatureFragments Feature = 32  // messages in several frames
	FeatureBatch     Feature = 64  // many documents in one request
	FeatureHTTP      Feature = 128 // HTTP requests to upstreams
	FeatureLimits    Feature = 256 // LIMITS
	FeatureAuth      Feature = 512 // AUTH

	// SessionFeatures are those that a Session speaks by itself.
	SessionFeatures = FeatureErrors | FeatureDeadlines | FeatureCancel | FeatureCredit |
		FeatureGoAway | FeatureFragments | FeatureLimits | FeatureAuth
)

// WireVersion is the version of the extension.
const WireVersion = 1

// A Whoami is what each end tells of itself.
type Whoami struct {
	Name    string
	Version uint64
	Buffer  uint64 // the longest packet that it accepts
	Tags    string // the compressions that it reads, with commas
	// Ext is what it offers beyond gofast, nil for a gofast peer.
	Ext *Extension
}

// An Extension is the map behind a whoami, as is. Fields that are 0 are not
// sent.
type Extension struct {
	Wire       uint64   `cbor:"0,keyasint,omitempty"`
	Features   Feature  `cbor:"1,keyasint,omitempty"`
	MaxMessage uint64   `cbor:"2,keyasint,omitempty"` // bytes that it accepts
	Credit     uint64   `cbor:"3,keyasint,omitempty"` // bytes of a new stream
	Exchanges  uint64   `cbor:"4,keyasint,omitempty"` // open at once, that it accepts
	Opaques    []uint64 `cbor:"5,keyasint,omitempty"` // its own: the least, the greatest
	Tags       []string `cbor:"6,keyasint,omitempty"` // compressions beyond Whoami.Tags
	Token      []byte   `cbor:"7,keyasint,omitempty"`
	Instance   string   `cbor:"8,keyasint,omitempty"` // of the server
	// Window is how many bytes of all streams together it takes before it gives
	// credit to opaque 0; without it there is no such bound.
	Window uint64 `cbor:"9,keyasint,omitempty"`
}

// maxExtension is how long an extension may be: a token of some size, no more.
const maxExtension = 16 << 10

// cborModes are how maps and arrays are written and read, made once.
type cborModes struct {
	enc cbor.EncMode
	dec cbor.DecMode
}

// strict reads what RFC 8949 calls valid, of little depth and size.
var strict = newModes()

func newModes() cborModes {
	enc, err := cbor.EncOptions{
		Sort: cbor.SortBytewiseLexical, OmitEmpty: cbor.OmitEmptyCBORValue,
	}.EncMode()
	if err != nil {
		panic("BUG: CBOR encoder: " + err.Error())
	}
	dec, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden,
		TagsMd: cbor.TagsForbidden, MaxNestedLevels: 8,
		MaxArrayElements: 64, MaxMapPairs: 64,
	}.DecMode()
	if err != nil {
		panic("BUG: CBOR decoder: " + err.Error())
	}
	return cborModes{enc, dec}
}

// AppendWhoami appends the data of a whoami message. A name longer than 255
// bytes and tags longer than 65,535 are cut.
func AppendWhoami(dst []byte, w *Whoami) []byte {
	name := w.Name[:min(len(w.Name), math.MaxUint8)]
	tags := w.Tags[:min(len(w.Tags), math.MaxUint16)]
	dst = append(append(dst, byte(len(name))), name...)
	dst = appendHead(dst, majorUint, w.Version)
	dst = binary.BigEndian.AppendUint64(dst, w.Buffer)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(tags)))
	dst = append(dst, tags...)
	if w.Ext == nil {
		return dst
	}
	ext, err := strict.enc.Marshal(w.Ext)
	if err != nil {
		panic("BUG: encode an extension: " + err.Error())
	}
	return append(dst, ext...)
}

// ParseWhoami reads the data of a whoami message. Bytes behind the tags that
// are not a map are ignored, as every gofast does; a map must be readable.
// The result keeps nothing of b.
func ParseWhoami(b []byte) (Whoami, error) {
	var w Whoami
	name, b, ok := readSized(b, 1)
	if !ok {
		return w, ErrWhoami
	}
	version, h := readHead(b, majorUint)
	if h < 1 || len(b) < h+8 {
		return w, ErrWhoami
	}
	w.Name, w.Version = string(name), version
	w.Buffer = binary.BigEndian.Uint64(b[h:])
	tags, b, ok := readSized(b[h+8:], 2)
	if !ok || w.Buffer < minBuffer {
		return w, ErrWhoami
	}
	w.Tags = string(tags)
	if len(b) == 0 || b[0]>>5 != 5 {
		return w, nil
	}
	ext := new(Extension)
	if len(b) > maxExtension || strict.dec.Unmarshal(b, ext) != nil {
		return w, ErrExtension
	}
	if ext.Wire == 0 {
		return w, nil // a map, but not ours
	}
	w.Ext = ext
	return w, ext.check()
}

// check refuses values that have no meaning.
func (e *Extension) check() error {
	if n := len(e.Opaques); n != 0 && (n != 2 || e.Opaques[0] > e.Opaques[1]) {
		return ErrExtension
	}
	if e.MaxMessage > math.MaxInt32 {
		e.MaxMessage = math.MaxInt32
	}
	e.Credit = min(e.Credit, math.MaxInt32)
	e.Window = min(e.Window, math.MaxInt32)
	e.Exchanges = min(e.Exchanges, math.MaxInt32)
	return nil
}

// readSized returns what a length of that many bytes says, and what follows.
func readSized(b []byte, size int) (s, rest []byte, ok bool) {
	if len(b) < size {
		return nil, nil, false
	}
	n := int(b[0])
	if size == 2 {
		n = int(binary.BigEndian.Uint16(b))
	}
	if b = b[size:]; len(b) < n {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}
