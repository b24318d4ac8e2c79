package row

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// DecodeMsgPack reads the body of a write: one MessagePack map, whose members are
// those of the Shape. It is as strict as DecodeJSON, has its limits, and reads
// values by their Field's Kind as it does, with these differences:
//
//   - The keys of maps have to be strs, and strs valid UTF-8.
//   - A bin is taken for Bytes only; a str for Bytes holds base64.
//   - A float of MessagePack stands for the fewest digits that give it back in 64
//     bits; NaN and the infinities are taken for Float, Float32 and Decimal.
//   - A timestamp (extension type -1) is taken for a DatetimeTZ. No other
//     extension is taken.
//   - For a column of kind JSON the value becomes JSON text: a bin as base64, a
//     timestamp as RFC 3339, NaN and the infinities as strings.
//
// A length that the body declares is checked against the bytes that are left, and
// no more is allocated by it than room for a few elements. DecodeMsgPack keeps no
// part of body.
func (s *Shape) DecodeMsgPack(body []byte) (*Input, error) {
	p := msgPackParser{bodyReader{src: string(body), format: FormatMsgPack}}
	return p.document(s, &p)
}

// A msgPackParser reads a MessagePack text into nodes.
type msgPackParser struct{ bodyReader }

// value reads one value (see grammar).
func (p *msgPackParser) value(depth int) (node, *DecodeError) {
	n := node{offset: p.pos}
	if err := p.count(); err != nil {
		return n, err
	}
	first, err := p.uint(1)
	if err != nil {
		return n, err
	}
	switch c := byte(first); {
	case c < mpFixMap:
		n.kind, n.text = nodeNumber, strconv.Itoa(int(c))
	case c >= mpNegative:
		n.kind, n.text = nodeNumber, strconv.Itoa(int(int8(c)))
	case c < mpFixArray:
		err = p.nested(&n, nodeMap, uint64(c-mpFixMap), depth)
	case c < mpFixStr:
		err = p.nested(&n, nodeList, uint64(c-mpFixArray), depth)
	case c < mpNil:
		err = p.string(&n, nodeString, uint64(c-mpFixStr))
	case c == mpNil:
	case c == mpFalse, c == mpTrue:
		n.kind, n.truth = nodeBool, c == mpTrue
	case c >= mpFixExt1 && c < mpStr8:
		err = p.extension(&n, 1<<(c-mpFixExt1))
	case c >= mpFloat32 && c < mpFixExt1:
		err = p.numeric(&n, c)
	default:
		err = p.sized(&n, c, depth)
	}
	return n, err
}

// sized reads a form that declares its length.
func (p *msgPackParser) sized(n *node, c byte, depth int) *DecodeError {
	var size int
	switch {
	case c >= mpBin8 && c < mpExt8:
		size = 1 << (c - mpBin8)
	case c >= mpExt8 && c < mpFloat32:
		size = 1 << (c - mpExt8)
	case c >= mpStr8 && c < mpArray16:
		size = 1 << (c - mpStr8)
	case c >= mpArray16 && c < mpMap16:
		size = 2 << (c - mpArray16)
	case c >= mpMap16 && c < mpNegative:
		size = 2 << (c - mpMap16)
	default:
		return p.fail(n.offset, "0xc1 is not used in MessagePack")
	}
	length, err := p.uint(size)
	switch {
	case err != nil:
		return err
	case c < mpExt8:
		return p.string(n, nodeBytes, length)
	case c < mpFloat32:
		return p.extension(n, length)
	case c < mpArray16:
		return p.string(n, nodeString, length)
	}
	if c >= mpMap16 {
		return p.nested(n, nodeMap, length, depth)
	}
	return p.nested(n, nodeList, length, depth)
}

// numeric reads a float, or an integer that is not in its first byte.
func (p *msgPackParser) numeric(n *node, c byte) *DecodeError {
	n.kind = nodeNumber
	switch {
	case c == mpFloat32:
		bits, err := p.uint(4)
		n.setFloat(float64(math.Float32frombits(uint32(bits))))
		return err
	case c == mpFloat64:
		bits, err := p.uint(8)
		n.setFloat(math.Float64frombits(bits))
		return err
	case c < mpInt8:
		v, err := p.uint(1 << (c - mpUint8))
		n.text = strconv.FormatUint(v, 10)
		return err
	}
	size := 1 << (c - mpInt8)
	v, err := p.uint(size)
	unused := 64 - 8*size
	n.text = strconv.FormatInt(int64(v<<unused)>>unused, 10)
	return err
}

func (n *node) setFloat(f float64) {
	if name := notFinite(f); name != "" {
		n.kind, n.text = nodeNamed, name
		return
	}
	n.text = string(appendFloat(nil, f, 64))
}

// nested reads the elements of an array or map.
func (p *msgPackParser) nested(n *node, kind nodeKind, length uint64, depth int) *DecodeError {
	return p.elements(n, kind, length, depth, p, nil)
}

// name reads the key of a map.
func (p *msgPackParser) name() (node, *DecodeError) {
	n := node{offset: p.pos}
	c, err := p.uint(1)
	if err != nil {
		return n, err
	}
	var length uint64
	switch c := byte(c); {
	case c >= mpFixStr && c < mpNil:
		length = uint64(c - mpFixStr)
	case c >= mpStr8 && c < mpArray16:
		if length, err = p.uint(1 << (c - mpStr8)); err != nil {
			return n, err
		}
	default:
		return n, p.fail(n.offset, "the key of a map is not a str")
	}
	err = p.string(&n, nodeString, length)
	return n, err
}

// extension reads an extension, of which only the timestamp is known.
func (p *msgPackParser) extension(n *node, length uint64) *DecodeError {
	kind, err := p.uint(1)
	if err != nil {
		return err
	}
	if int8(kind) != -1 {
		return p.fail(n.offset, fmt.Sprintf("extension type %d is not supported", int8(kind)))
	}
	var seconds, nanos int64
	switch length {
	case 4, 8, 12:
		s, err := p.take(int(length))
		if err != nil {
			return err
		}
		seconds, nanos = timestamp([]byte(s))
	default:
		return p.fail(n.offset, fmt.Sprintf("a timestamp of %d bytes", length))
	}
	return p.time(n, seconds, nanos)
}

// timestamp takes apart the three forms of a timestamp: 32 bits of seconds; 30 of
// nanoseconds and 34 of seconds; 32 of nanoseconds and 64 of seconds.
func timestamp(b []byte) (seconds, nanos int64) {
	switch len(b) {
	case 4:
		return int64(binary.BigEndian.Uint32(b)), 0
	case 8:
		n := binary.BigEndian.Uint64(b)
		return int64(n & (1<<34 - 1)), int64(n >> 34)
	}
	return int64(binary.BigEndian.Uint64(b[4:])), int64(binary.BigEndian.Uint32(b))
}
