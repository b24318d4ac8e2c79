package row

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// AppendMsgPack appends the document of one row as MessagePack to dst and
// returns it. It holds the members that AppendJSON writes, in the same order,
// with these values:
//
//   - Bool, Int, Uint: in the shortest form that holds the number.
//   - Float, Float32: float 64 and float 32, NaN and the infinities included.
//   - Decimal: a str with the digits that JSON shows, because MessagePack has no
//     decimal numbers: "1.50", "NaN", "Infinity", "-Infinity".
//   - Text: a str, invalid UTF-8 replaced by U+FFFD as in JSON.
//   - Bytes: a bin.
//   - JSON: the same value in MessagePack, members in their order. Integers of
//     64 bits stay integers; other numbers are float 64, save integers beyond 64
//     bits and what no float 64 can hold, which are strs with their digits. What
//     is nested deeper than 512 levels is a str that holds its JSON text, and so
//     is the whole when it is not valid JSON.
//   - Date, Time, Datetime, DatetimeTZ, UUID: strs, the same as in JSON.
//   - Array, Rows: arrays. Row: a map.
func (s *Shape) AppendMsgPack(dst []byte, v Values) []byte {
	s = s.compiled()
	n := len(s.Fields)
	for i := range s.Fields {
		if s.Fields[i].OmitNull && (i >= len(v) || v[i].kind == Null) {
			n--
		}
	}
	dst = appendMsgPackMap(dst, n)
	for i := range s.Fields {
		f := &s.Fields[i]
		if i >= len(v) || v[i].kind == Null {
			if !f.OmitNull {
				dst = append(dst, s.heads[i].msgpack...)
				dst = append(dst, mpNil)
			}
			continue
		}
		dst = append(dst, s.heads[i].msgpack...)
		dst = appendMsgPackValue(dst, f, &v[i])
	}
	return dst
}

// appendMsgPackValue appends one value of f, or one element of f's array.
func appendMsgPackValue(dst []byte, f *Field, v *Value) []byte {
	switch v.kind {
	case Bool:
		return append(dst, mpFalse+byte(v.num))
	case Int:
		return appendMsgPackInt(dst, int64(v.num))
	case Uint:
		return appendMsgPackUint(dst, v.num)
	case Float:
		return appendMsgPackFloat(dst, math.Float64frombits(v.num))
	case Float32:
		bits := math.Float32bits(float32(math.Float64frombits(v.num)))
		return binary.BigEndian.AppendUint32(append(dst, mpFloat32), bits)
	case Decimal:
		return appendMsgPackString(dst, decimalText(v.text))
	case Text, Time, DatetimeTZ, UUID:
		return appendMsgPackString(dst, v.text)
	case Bytes:
		return append(appendMsgPackBin(dst, len(v.text)), v.text...)
	case Date, Datetime:
		zone := zoneOf(f, v)
		if zone == "" || !utf8.ValidString(v.text) {
			return appendMsgPackString(dst, v.text+zone)
		}
		dst = appendMsgPackStr(dst, len(v.text)+len(zone))
		return append(append(dst, v.text...), zone...)
	case JSON:
		if v.text != "" {
			return packMsgPack.transcode(dst, v.text)
		}
	case Array:
		list := v.List()
		dst = appendMsgPackArray(dst, len(list))
		for i := range list {
			dst = appendMsgPackValue(dst, f, &list[i])
		}
		return dst
	case Rows:
		if f.Shape != nil {
			rows := v.Rows()
			dst = appendMsgPackArray(dst, len(rows))
			for _, r := range rows {
				dst = f.Shape.AppendMsgPack(dst, r)
			}
			return dst
		}
	case Row:
		if f.Shape != nil {
			return f.Shape.AppendMsgPack(dst, v.more.rows[0])
		}
	}
	return append(dst, mpNil)
}

// decimalText returns a Decimal's text as JSON shows it, without quotes.
func decimalText(text string) string {
	if isJSONNumber(text) {
		return text
	}
	if name := namedNumber(text); name != "" {
		return name
	}
	if n, ok := parseNumber(text); ok {
		return string(n.appendText(nil))
	}
	return text
}

// The first bytes of MessagePack's forms, as its specification names them.
const (
	mpFixMap   = 0x80
	mpFixArray = 0x90
	mpFixStr   = 0xa0
	mpNil      = 0xc0
	mpFalse    = 0xc2
	mpTrue     = 0xc3
	mpBin8     = 0xc4
	mpExt8     = 0xc7
	mpFloat32  = 0xca
	mpFloat64  = 0xcb
	mpUint8    = 0xcc
	mpInt8     = 0xd0
	mpFixExt1  = 0xd4
	mpStr8     = 0xd9
	mpArray16  = 0xdc
	mpMap16    = 0xde
	mpNegative = 0xe0
)

func appendMsgPackInt(dst []byte, n int64) []byte {
	switch {
	case n >= 0:
		return appendMsgPackUint(dst, uint64(n))
	case n >= -32:
		return append(dst, byte(n))
	case n >= math.MinInt8:
		return append(dst, mpInt8, byte(n))
	case n >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(dst, mpInt8+1), uint16(n))
	case n >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(dst, mpInt8+2), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, mpInt8+3), uint64(n))
}

func appendMsgPackUint(dst []byte, n uint64) []byte {
	switch {
	case n <= math.MaxInt8:
		return append(dst, byte(n))
	case n <= math.MaxUint8:
		return append(dst, mpUint8, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, mpUint8+1), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, mpUint8+2), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, mpUint8+3), n)
}

// appendMsgPackString appends a str. MessagePack wants UTF-8 as JSON does.
func appendMsgPackString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s)) // U+FFFD for each wrong byte
	}
	return append(appendMsgPackStr(dst, len(s)), s...)
}

// The four functions below append the header of a form of n bytes or elements.

func appendMsgPackStr(dst []byte, n int) []byte {
	if n < 32 {
		return append(dst, mpFixStr|byte(n))
	}
	return appendMsgPackLen(dst, mpStr8, n)
}

func appendMsgPackBin(dst []byte, n int) []byte { return appendMsgPackLen(dst, mpBin8, n) }

func appendMsgPackArray(dst []byte, n int) []byte {
	if n < 16 {
		return append(dst, mpFixArray|byte(n))
	}
	return appendMsgPackLen(dst, mpArray16-1, n) // there is no array 8
}

func appendMsgPackMap(dst []byte, n int) []byte {
	if n < 16 {
		return append(dst, mpFixMap|byte(n))
	}
	return appendMsgPackLen(dst, mpMap16-1, n) // there is no map 8
}

// appendMsgPackLen appends the first byte of the form with the shortest length,
// and the length. form is the code with a length of one byte; the codes with two
// and four bytes follow it.
func appendMsgPackLen(dst []byte, form byte, n int) []byte {
	has8 := form == mpStr8 || form == mpBin8
	switch {
	case has8 && n <= math.MaxUint8:
		return append(dst, form, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, form+1), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, form+2), uint32(n))
}

func appendMsgPackFloat(dst []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, mpFloat64), math.Float64bits(f))
}

// packMsgPack turns the JSON of a column into MessagePack.
var packMsgPack = packing{
	null: mpNil, no: mpFalse, yes: mpTrue,
	int: appendMsgPackInt, uint: appendMsgPackUint, float: appendMsgPackFloat,
	string: appendMsgPackString, array: appendMsgPackArray, object: appendMsgPackMap,
}
