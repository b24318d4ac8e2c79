package row

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// The major types of CBOR (RFC 8949 3.1), in the high bits of the first byte.
const (
	CBORUint   = 0 << 5
	CBORNegInt = 1 << 5
	CBORBytes  = 2 << 5
	CBORText   = 3 << 5
	CBORArray  = 4 << 5
	CBORMap    = 5 << 5
	cborTag    = 6 << 5
	cborSimple = 7 << 5
)

// The first bytes of CBOR's values without a length.
const (
	CBORFalse   = 0xf4
	CBORTrue    = 0xf5
	cborNull    = 0xf6
	cborFloat16 = 0xf9
	cborFloat32 = 0xfa
	cborFloat64 = 0xfb
	cborBreak   = 0xff
)

// AppendCBORHead appends the shortest head of a major type and its argument.
func AppendCBORHead(dst []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n <= math.MaxUint8:
		return append(dst, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, major|27), n)
}

// AppendCBOR appends the document of one row as CBOR to dst and returns it, in
// the deterministic encoding of RFC 8949 4.2.1: the same row always gives the
// same bytes, whatever the order of its columns. It holds the members that
// AppendJSON writes, in the order of their encoded names, with these values:
//
//   - Bool, Int, Uint: in the shortest form that holds the number.
//   - Float, Float32: in the shortest of the floats of 16, 32 and 64 bits that
//     holds the value, NaN and the infinities included.
//   - Decimal: a text with the digits that JSON shows, because few readers know
//     CBOR's decimal fractions: "1.50", "NaN", "Infinity", "-Infinity".
//   - Text: a text, invalid UTF-8 replaced by U+FFFD as in JSON.
//   - Bytes: a byte string.
//   - JSON: the same value in CBOR, with the rules of AppendMsgPack for numbers
//     and depth; of members with one name the last.
//   - Date, Time, Datetime, DatetimeTZ, UUID: texts, the same as in JSON.
//   - Array, Rows: arrays. Row: a map.
func (s *Shape) AppendCBOR(dst []byte, v Values) []byte {
	s = s.compiled()
	n := len(s.order)
	for _, i := range s.order {
		if s.Fields[i].OmitNull && (i >= len(v) || v[i].kind == Null) {
			n--
		}
	}
	dst = AppendCBORHead(dst, CBORMap, uint64(n))
	for _, i := range s.order {
		f := &s.Fields[i]
		if i >= len(v) || v[i].kind == Null {
			if !f.OmitNull {
				dst = append(dst, s.heads[i].cbor...)
				dst = append(dst, cborNull)
			}
			continue
		}
		dst = append(dst, s.heads[i].cbor...)
		dst = appendCBORValue(dst, f, &v[i])
	}
	return dst
}

// appendCBORValue appends one value of f, or one element of f's array.
func appendCBORValue(dst []byte, f *Field, v *Value) []byte {
	switch v.kind {
	case Bool:
		return append(dst, CBORFalse+byte(v.num))
	case Int:
		return appendCBORInt(dst, int64(v.num))
	case Uint:
		return appendCBORUint(dst, v.num)
	case Float, Float32:
		return appendCBORFloat(dst, math.Float64frombits(v.num))
	case Decimal:
		return appendCBORText(dst, decimalText(v.text))
	case Text, Time, DatetimeTZ, UUID:
		return appendCBORText(dst, v.text)
	case Bytes:
		return append(AppendCBORHead(dst, CBORBytes, uint64(len(v.text))), v.text...)
	case Date, Datetime:
		zone := zoneOf(f, v)
		if zone == "" || !utf8.ValidString(v.text) {
			return appendCBORText(dst, v.text+zone)
		}
		dst = AppendCBORHead(dst, CBORText, uint64(len(v.text)+len(zone)))
		return append(append(dst, v.text...), zone...)
	case JSON:
		if v.text != "" {
			return packCBOR.transcode(dst, v.text)
		}
	case Array:
		list := v.List()
		dst = appendCBORArray(dst, len(list))
		for i := range list {
			dst = appendCBORValue(dst, f, &list[i])
		}
		return dst
	case Rows:
		if f.Shape != nil {
			rows := v.Rows()
			dst = appendCBORArray(dst, len(rows))
			for _, r := range rows {
				dst = f.Shape.AppendCBOR(dst, r)
			}
			return dst
		}
	case Row:
		if f.Shape != nil {
			return f.Shape.AppendCBOR(dst, v.more.rows[0])
		}
	}
	return append(dst, cborNull)
}

func appendCBORInt(dst []byte, n int64) []byte {
	if n >= 0 {
		return AppendCBORHead(dst, CBORUint, uint64(n))
	}
	return AppendCBORHead(dst, CBORNegInt, ^uint64(n)) // -1 - n
}

func appendCBORBelow(dst []byte, n uint64) []byte { return AppendCBORHead(dst, CBORNegInt, n) }

func appendCBORUint(dst []byte, n uint64) []byte { return AppendCBORHead(dst, CBORUint, n) }

func appendCBORArray(dst []byte, n int) []byte {
	return AppendCBORHead(dst, CBORArray, uint64(n))
}

func appendCBORMap(dst []byte, n int) []byte { return AppendCBORHead(dst, CBORMap, uint64(n)) }

// appendCBORText appends a text, which CBOR wants in UTF-8 as JSON does.
func appendCBORText(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s)) // U+FFFD for each wrong byte
	}
	return append(AppendCBORHead(dst, CBORText, uint64(len(s))), s...)
}

// appendCBORFloat appends the shortest float that holds f. There is one NaN.
func appendCBORFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) {
		return append(dst, cborFloat16, 0x7e, 0)
	}
	short := float32(f)
	if float64(short) != f {
		return binary.BigEndian.AppendUint64(append(dst, cborFloat64), math.Float64bits(f))
	}
	if half, ok := toHalf(short); ok {
		return binary.BigEndian.AppendUint16(append(dst, cborFloat16), half)
	}
	return binary.BigEndian.AppendUint32(append(dst, cborFloat32), math.Float32bits(short))
}

// toHalf returns f, which is no NaN, as a float of 16 bits (IEEE 754 binary16),
// false when none is equal to it.
func toHalf(f float32) (uint16, bool) {
	bits := math.Float32bits(f)
	sign := uint16(bits >> 16 & 0x8000)
	exponent, fraction := int(bits>>23&0xff)-127, bits&(1<<23-1)
	switch {
	case exponent == 128: // infinity
		return sign | 0x7c00, true
	case bits<<1 == 0:
		return sign, true
	case exponent > 15 || exponent < -24:
		return 0, false
	case exponent >= -14:
		return sign | uint16(exponent+15)<<10 | uint16(fraction>>13), fraction&(1<<13-1) == 0
	}
	drop := -exponent - 1 // of the 24 bits of the significand, those of a subnormal half stay
	fraction |= 1 << 23
	return sign | uint16(fraction>>drop), fraction&(1<<drop-1) == 0
}

// fromHalf returns the value of a float of 16 bits.
func fromHalf(h uint16) float64 {
	sign, exponent, fraction := 1.0, int(h>>10&31), float64(h&0x3ff)
	if h&0x8000 != 0 {
		sign = -1
	}
	switch {
	case exponent == 31 && fraction != 0:
		return math.NaN()
	case exponent == 31:
		return math.Inf(int(sign))
	case exponent == 0:
		return sign * math.Ldexp(fraction, -24)
	}
	return sign * math.Ldexp(fraction+1024, exponent-25)
}

// packCBOR turns the JSON of a column into CBOR.
var packCBOR = packing{
	null: cborNull, no: CBORFalse, yes: CBORTrue,
	int: appendCBORInt, uint: appendCBORUint, less: appendCBORBelow, float: appendCBORFloat,
	string: appendCBORText, array: appendCBORArray, object: appendCBORMap, sorted: true,
}
