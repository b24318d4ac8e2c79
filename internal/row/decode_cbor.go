package row

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// DecodeCBOR reads the body of a write: one CBOR map (RFC 8949), whose members
// are those of the Shape. It is as strict as DecodeMsgPack, has its limits, and
// reads values as it does, with these differences:
//
//   - The keys of maps have to be texts. Lengths may be indefinite.
//   - A byte string is taken for Bytes only; a text for Bytes holds base64.
//   - A date and time (tag 0 or 1) is taken for a DatetimeTZ; one that is a float
//     is read to the microsecond. No other tag is taken, but the one that says
//     that CBOR follows (55799), before the map. So are no simple values beside
//     false, true and null.
//
// A length that the body declares is checked against the bytes that are left, and
// no more is allocated by it than room for a few elements. DecodeCBOR keeps no
// part of body.
func (s *Shape) DecodeCBOR(body []byte) (*Input, error) {
	p := cborParser{bodyReader{src: string(body), format: FormatCBOR}}
	if strings.HasPrefix(p.src, selfDescribed) {
		p.pos = len(selfDescribed)
	}
	return p.document(s, &p)
}

// selfDescribed is the tag that RFC 8949 3.4.6 has for the first bytes of a file.
const selfDescribed = "\xd9\xd9\xf7"

// A cborParser reads a CBOR text into nodes.
type cborParser struct{ bodyReader }

// indefinite is the length of what ends with a break.
const indefinite = math.MaxUint64

// head reads the first byte of a value and its argument. info is the lower five
// bits of the byte, for what is no number.
func (p *cborParser) head() (major, info byte, n uint64, err *DecodeError) {
	start := p.pos
	first, err := p.uint(1)
	major, info = byte(first)&^31, byte(first)&31
	switch n = uint64(info); {
	case err != nil || info < 24:
	case info < 28:
		n, err = p.uint(1 << (info - 24))
		if n == indefinite && (major >= CBORBytes && major <= CBORMap) {
			err = p.fail(start, "a length beyond all memory")
		}
	case info == 31 && major >= CBORBytes && major <= CBORMap:
		n = indefinite
	default:
		err = p.fail(start, fmt.Sprintf("0x%02x begins no value of CBOR", first))
	}
	return major, info, n, err
}

// value reads one value (see grammar).
func (p *cborParser) value(depth int) (node, *DecodeError) {
	n := node{offset: p.pos}
	if err := p.count(); err != nil {
		return n, err
	}
	major, info, v, err := p.head()
	if err != nil {
		return n, err
	}
	switch major {
	case CBORUint:
		n.kind, n.text = nodeNumber, strconv.FormatUint(v, 10)
	case CBORNegInt: // -1 - v
		n.kind, n.text = nodeNumber, "-18446744073709551616"
		if v < math.MaxUint64 {
			n.text = "-" + strconv.FormatUint(v+1, 10)
		}
	case CBORBytes:
		err = p.chunks(&n, nodeBytes, major, v)
	case CBORText:
		err = p.chunks(&n, nodeString, major, v)
	case CBORArray:
		err = p.nested(&n, nodeList, v, depth)
	case CBORMap:
		err = p.nested(&n, nodeMap, v, depth)
	case cborTag:
		err = p.tagged(&n, v, depth)
	default:
		err = p.simple(&n, info, v)
	}
	return n, err
}

// simple reads what has no length and is no integer.
func (p *cborParser) simple(n *node, info byte, v uint64) *DecodeError {
	n.kind = nodeNumber
	switch cborSimple | info {
	case CBORFalse, CBORTrue:
		n.kind, n.truth = nodeBool, cborSimple|info == CBORTrue
	case cborNull:
		n.kind = nodeNull
	case cborFloat16:
		n.setFloat(fromHalf(uint16(v)))
	case cborFloat32:
		n.setFloat(float64(math.Float32frombits(uint32(v))))
	case cborFloat64:
		n.setFloat(math.Float64frombits(v))
	default:
		return p.fail(n.offset, fmt.Sprintf("the simple value %d is not supported", v))
	}
	return nil
}

// chunks reads a text or bytes, which may come in pieces of a length each.
func (p *cborParser) chunks(n *node, kind nodeKind, major byte, length uint64) *DecodeError {
	if length != indefinite {
		return p.string(n, kind, length)
	}
	var b strings.Builder
	for !p.broke() {
		piece := node{offset: p.pos}
		m, _, length, err := p.head()
		switch {
		case err != nil:
			return err
		case m != major || length == indefinite:
			return p.fail(piece.offset, "a piece of another kind than the whole")
		}
		if err := p.string(&piece, kind, length); err != nil {
			return err
		}
		b.WriteString(piece.text)
	}
	n.kind, n.text = kind, b.String()
	return nil
}

// broke skips the break that ends an indefinite length, if it is here.
func (p *cborParser) broke() bool {
	if p.pos < len(p.src) && p.src[p.pos] == cborBreak {
		p.pos++
		return true
	}
	return false
}

// nested reads the elements of an array or map.
func (p *cborParser) nested(n *node, kind nodeKind, length uint64, depth int) *DecodeError {
	if length == indefinite {
		return p.elements(n, kind, 0, depth, p, p.broke)
	}
	return p.elements(n, kind, length, depth, p, nil)
}

// name reads the key of a map.
func (p *cborParser) name() (node, *DecodeError) {
	n := node{offset: p.pos}
	major, _, length, err := p.head()
	switch {
	case err != nil:
	case major != CBORText:
		err = p.fail(n.offset, "the key of a map is not a text")
	default:
		err = p.chunks(&n, nodeString, major, length)
	}
	return n, err
}

// tagged reads what a tag stands before, which has to be a date and time.
func (p *cborParser) tagged(n *node, tag uint64, depth int) *DecodeError {
	if tag > 1 {
		return p.fail(n.offset, fmt.Sprintf("tag %d is not supported", tag))
	}
	if depth > MaxDepth { // a tag before a tag before a tag
		return p.fail(n.offset, "nested too deeply")
	}
	v, err := p.value(depth + 1)
	if err != nil {
		return err
	}
	if tag == 0 && v.kind == nodeString {
		text, ok := canonicalDatetimeTZ(v.text, bodyFraction)
		if n.kind, n.text = nodeTime, text; ok {
			return nil
		}
	}
	if tag == 1 && v.kind == nodeNumber {
		if seconds, err := strconv.ParseInt(v.text, 10, 64); err == nil {
			return p.time(n, seconds, 0)
		}
		f, err := strconv.ParseFloat(v.text, 64)
		whole := math.Floor(f)
		if err == nil && math.Abs(f) <= maxUnix {
			micros := min(int64(math.Round((f-whole)*1e6)), 999_999)
			return p.time(n, int64(whole), micros*1000)
		}
	}
	return p.fail(n.offset, "a tag for a date and time before something else")
}
