package row

import (
	"encoding/base64"
	"math"
	"strconv"
)

// AppendJSON appends the document of one row as JSON (RFC 8259) to dst and
// returns it. It allocates only when dst has to grow. The same row always gives
// the same bytes: this is the canonical document of which Hash is taken.
//
// Members come in the order of the Shape's fields. A row with fewer values than
// fields has Null for the rest. Values are written so:
//
//   - Int, Uint: exactly, also beyond 2^53.
//   - Float, Float32: with the fewest digits that give the value back, in 64 and
//     32 bits, as ECMAScript and encoding/json write numbers.
//   - Decimal: as a number with every digit that the database gave ("1.50" stays
//     1.50). Forms that JSON lacks are mended: ".5", "+1", "1.", "007" are 0.5, 1,
//     1, 7. What is no number (money's "$1.00") is a string.
//   - NaN and the infinities of all three: the strings "NaN", "Infinity",
//     "-Infinity", as JSON has no such numbers.
//   - Text: invalid UTF-8 is replaced by U+FFFD, a character for each byte.
//     Escapes are those of encoding/json without its HTML escapes.
//   - Bytes: base64 with padding (RFC 4648 section 4).
//   - JSON: as it is, white space and all.
//   - Date, Time, Datetime, DatetimeTZ, UUID: strings. With Field.RFC3339 a Date
//     is "1981-06-09T00:00:00Z" and a Datetime ends with Z.
//   - Array, Rows: arrays. Row: an object.
func (s *Shape) AppendJSON(dst []byte, v Values) []byte {
	s = s.compiled()
	start := len(dst)
	for i := range s.Fields {
		f := &s.Fields[i]
		if i >= len(v) || v[i].kind == Null {
			if !f.OmitNull {
				dst = append(dst, s.heads[i].json...)
				dst = append(dst, "null"...)
			}
			continue
		}
		dst = append(dst, s.heads[i].json...)
		dst = appendJSONValue(dst, f, &v[i])
	}
	if len(dst) == start {
		return append(dst, "{}"...)
	}
	dst[start] = '{' // instead of the first member's comma
	return append(dst, '}')
}

// appendJSONValue appends one value of f, or one element of f's array.
func appendJSONValue(dst []byte, f *Field, v *Value) []byte {
	switch v.kind {
	case Bool:
		return strconv.AppendBool(dst, v.num != 0)
	case Int:
		return strconv.AppendInt(dst, int64(v.num), 10)
	case Uint:
		return strconv.AppendUint(dst, v.num, 10)
	case Float, Float32:
		return appendJSONFloat(dst, v)
	case Decimal:
		return appendJSONDecimal(dst, v.text)
	case Text, Time, DatetimeTZ, UUID:
		return appendJSONString(dst, v.text)
	case Bytes:
		return appendJSONBytes(dst, v.text)
	case Date, Datetime:
		dst = appendJSONString(dst, v.text)
		if zone := zoneOf(f, v); zone != "" {
			dst = append(append(dst[:len(dst)-1], zone...), '"')
		}
		return dst
	case JSON:
		if v.text != "" {
			return append(dst, v.text...)
		}
	case Array:
		return appendJSONArray(dst, f, v.List())
	case Rows:
		if f.Shape != nil {
			return appendJSONRows(dst, f.Shape, v.Rows())
		}
	case Row:
		if f.Shape != nil {
			return f.Shape.AppendJSON(dst, v.more.rows[0])
		}
	}
	return append(dst, "null"...)
}

// AppendPlain appends one value of the ith field as it is: texts without quotes, bytes
// without base64, all else as in JSON.
func (s *Shape) AppendPlain(dst []byte, i int, v *Value) []byte {
	f := &s.Fields[i]
	switch v.kind {
	case Text, Bytes, Time, DatetimeTZ, UUID:
		return append(dst, v.text...)
	case Date, Datetime:
		return append(append(dst, v.text...), zoneOf(f, v)...)
	case Float, Float32, Decimal:
		start := len(dst)
		dst = appendJSONValue(dst, f, v)
		if dst[start] == '"' { // no number, such as NaN
			return append(dst[:start], dst[start+1:len(dst)-1]...)
		}
		return dst
	}
	return appendJSONValue(dst, f, v)
}

func appendJSONArray(dst []byte, f *Field, list []Value) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONValue(dst, f, &list[i])
	}
	return append(dst, ']')
}

func appendJSONRows(dst []byte, s *Shape, rows []Values) []byte {
	dst = append(dst, '[')
	for i, r := range rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = s.AppendJSON(dst, r)
	}
	return append(dst, ']')
}

// zoneOf returns what Field.RFC3339 adds to a Date's or Datetime's text. The
// texts of databases that are no RFC 3339 ("infinity", "0044-03-15 BC") get
// nothing added.
func zoneOf(f *Field, v *Value) string {
	t := v.text
	if !f.RFC3339 || t == "" || !isDigit(t[0]) || !isDigit(t[len(t)-1]) {
		return ""
	}
	if v.kind == Date {
		return "T00:00:00Z"
	}
	return "Z"
}

func appendJSONFloat(dst []byte, v *Value) []byte {
	f := math.Float64frombits(v.num)
	if name := notFinite(f); name != "" {
		return appendQuoted(dst, name)
	}
	bits := 64
	if v.kind == Float32 {
		bits = 32
	}
	return appendFloat(dst, f, bits)
}

func appendJSONDecimal(dst []byte, text string) []byte {
	// Fast path: every database's usual text is a JSON number already.
	if isJSONNumber(text) {
		return append(dst, text...)
	}
	if name := namedNumber(text); name != "" {
		return appendQuoted(dst, name)
	}
	if n, ok := parseNumber(text); ok {
		return n.appendText(dst)
	}
	return appendJSONString(dst, text)
}

// appendQuoted appends a string that needs no escapes.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// appendJSONBytes appends bytes, which a Value keeps in a string, in base64. A
// buffer on the stack stands between, because the encoder takes only a []byte.
func appendJSONBytes(dst []byte, s string) []byte {
	var buf [768]byte // a multiple of 3: no padding before the end
	dst = append(dst, '"')
	for len(s) > 0 {
		n := copy(buf[:], s)
		dst = base64.StdEncoding.AppendEncode(dst, buf[:n])
		s = s[n:]
	}
	return append(dst, '"')
}
