package row

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
)

// A Cast makes a value of another type, as PostgreSQL does it. The zero Cast makes none.
type Cast uint8

// The casts, by the types that they make.
const (
	CastNone Cast = iota
	CastText
	CastInt2
	CastInt4
	CastInt8
	CastFloat
	CastDecimal
	CastBool
	CastDate
	CastJSON
)

var castNames = [...]string{CastText: "text", CastInt2: "int2", CastInt4: "int4", CastInt8: "int8",
	CastFloat: "float8", CastDecimal: "numeric", CastBool: "bool", CastDate: "date",
	CastJSON: "json"}

// The errors of values that cannot be cast.
var (
	ErrCast      = errors.New("a value is none of this type")
	ErrCastRange = errors.New("a value is out of the range of this type")
)

// String returns the name of the type.
func (c Cast) String() string { return castNames[c] }

// Kind returns the kind of what the cast makes.
func (c Cast) Kind() Kind {
	return [...]Kind{CastText: Text, CastInt2: Int, CastInt4: Int, CastInt8: Int, CastFloat: Float,
		CastDecimal: Decimal, CastBool: Bool, CastDate: Date, CastJSON: JSON}[c]
}

// Fails reports whether there are values of which the cast makes none.
func (c Cast) Fails() bool { return c > CastText }

// Takes reports whether values of a kind can be cast.
func (c Cast) Takes(from Kind) bool {
	number := from == Int || from == Uint || from == Float || from == Float32 || from == Decimal
	switch c {
	case CastNone:
		return true
	case CastText:
		return from != Array && from != Rows && from != Row
	case CastInt4:
		return number || from == Text || from == JSON || from == Bool
	case CastBool:
		return from == Int || from == Uint || from == Text || from == JSON || from == Bool
	case CastInt2, CastInt8, CastFloat, CastDecimal:
		return number || from == Text || from == JSON
	case CastDate:
		return from == Date || from == Datetime || from == DatetimeTZ
	}
	return from == JSON || from == Text
}

// Of returns what the cast makes of v. Null stays Null.
//
// Errors: ErrCast, ErrCastRange.
func (c Cast) Of(v Value) (Value, error) {
	if c == CastNone || v.kind == Null {
		return v, nil
	}
	if v.kind == JSON && c != CastText && c != CastJSON {
		if v.text == "" || v.text[0] == '"' || v.text[0] == '{' || v.text[0] == '[' ||
			v.text == "null" {
			return v, ErrCast
		}
		of := Text
		if isJSONNumber(v.text) {
			of = Decimal
		}
		v = TextValue(of, v.text)
	}
	switch c {
	case CastText:
		return TextValue(Text, castText(&v)), nil
	case CastInt2:
		return castInt(&v, 16)
	case CastInt4:
		return castInt(&v, 32)
	case CastInt8:
		return castInt(&v, 64)
	case CastFloat:
		return castFloat(&v)
	case CastDecimal:
		return castDecimal(&v)
	case CastBool:
		return castBool(&v)
	case CastDate:
		if v.kind == Datetime || v.kind == DatetimeTZ {
			day, _, _ := strings.Cut(v.text, "T")
			return TextValue(Date, day), nil
		}
		return v, nil
	}
	if v.kind != JSON && !json.Valid([]byte(v.text)) {
		return v, ErrCast
	}
	return TextValue(JSON, v.text), nil
}

// castText returns the text that PostgreSQL makes of a value.
func castText(v *Value) string {
	switch v.kind {
	case Bytes:
		return `\x` + hex.EncodeToString([]byte(v.text))
	case Datetime, DatetimeTZ:
		text := strings.Replace(v.text, "T", " ", 1)
		if rest, ok := strings.CutSuffix(text, "Z"); ok {
			text = rest + "+00"
		}
		return text
	case Float:
		return floatText(v.Float(), 64, 15)
	case Float32:
		return floatText(v.Float(), 32, 6)
	case Decimal:
		return v.text
	case Bool:
		return strconv.FormatBool(v.num != 0)
	}
	return string((&Field{}).appendText(nil, v))
}

// floatText writes a float with the fewest digits, and with an exponent from 10^most on.
func floatText(f float64, bits, most int) string {
	if name := notFinite(f); name != "" {
		return name
	}
	text := strconv.FormatFloat(f, 'e', -1, bits)
	_, exponent, _ := strings.Cut(text, "e")
	if n, _ := strconv.Atoi(exponent); n < -4 || n >= most {
		return text
	}
	return strconv.FormatFloat(f, 'f', -1, bits)
}

// castInt makes an integer of so many bits. A Float is rounded to the even neighbour, a
// Decimal away from zero.
func castInt(v *Value, bits int) (Value, error) {
	var text string
	switch v.kind {
	case Bool:
		return IntValue(int64(v.num)), nil
	case Float, Float32:
		f := math.RoundToEven(v.Float())
		if math.IsNaN(f) || f < -math.Exp2(float64(bits-1)) || f >= math.Exp2(float64(bits-1)) {
			return *v, ErrCastRange
		}
		return IntValue(int64(f)), nil
	case Decimal:
		n, ok := parseNumber(v.text)
		if !ok {
			return *v, ErrCastRange
		}
		text = n.rounded()
	case Text:
		if text = strings.TrimSpace(v.text); !isInteger(text) {
			return *v, ErrCast
		}
	default:
		text = castText(v)
	}
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		return *v, ErrCastRange
	}
	return IntValue(n), nil
}

// isInteger reports whether a text is digits, with a sign or without.
func isInteger(s string) bool {
	s = strings.TrimLeft(s[:min(len(s), 1)], "+-") + s[min(len(s), 1):]
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// rounded returns the integer next to n, of two the one that is farther from zero.
func (n *number) rounded() string {
	digits, point := n.whole+n.fraction, len(n.whole)+n.exponent
	if point < 0 || point > 40 {
		if n.zero() || point < 0 {
			return "0"
		}
		return "1" + strings.Repeat("0", 40) // no integer has it
	}
	for len(digits) < point {
		digits += "0"
	}
	whole, up := digits[:point], point < len(digits) && digits[point] >= '5'
	if whole == "" {
		whole = "0"
	}
	if up {
		b := []byte("0" + whole)
		for i := len(b) - 1; ; i-- {
			if b[i]++; b[i] <= '9' {
				break
			}
			b[i] = '0'
		}
		whole = string(b)
	}
	if n.negative {
		return "-" + whole
	}
	return whole
}

func castFloat(v *Value) (Value, error) {
	switch v.kind {
	case Float, Float32:
		return FloatValue(v.Float()), nil
	}
	text := strings.TrimSpace(castText(v))
	if _, ok := parseNumber(text); !ok && namedNumber(text) == "" {
		return *v, ErrCast
	}
	if name := namedNumber(text); name != "" {
		text = name
	}
	f, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrRange) {
		return *v, ErrCastRange
	}
	if err != nil {
		return *v, ErrCast
	}
	return FloatValue(f), nil
}

// castDecimal makes a decimal: of a Float with 15 digits, as PostgreSQL does.
func castDecimal(v *Value) (Value, error) {
	text := castText(v)
	if v.kind == Float || v.kind == Float32 {
		digits := 15
		if v.kind == Float32 {
			digits = 6
		}
		if notFinite(v.Float()) == "" {
			text = strconv.FormatFloat(v.Float(), 'g', digits, 64)
		}
	}
	text = strings.TrimSpace(text)
	if name := namedNumber(text); name != "" {
		return TextValue(Decimal, name), nil
	}
	n, ok := parseNumber(text)
	if !ok {
		return *v, ErrCast
	}
	if n.exponent < -maxUnfolded || n.exponent > maxUnfolded {
		return *v, ErrCastRange
	}
	n.unfold()
	return TextValue(Decimal, string(n.appendText(nil))), nil
}

// maxUnfolded is up to which exponent the digits of a number are written.
const maxUnfolded = 400

// unfold writes the number without an exponent.
func (n *number) unfold() {
	digits, point := n.whole+n.fraction, len(n.whole)+n.exponent
	switch {
	case point <= 0:
		n.whole, n.fraction = "", strings.Repeat("0", -point)+digits
	case point < len(digits):
		n.whole, n.fraction = digits[:point], digits[point:]
	default:
		n.whole, n.fraction = digits+strings.Repeat("0", point-len(digits)), ""
	}
	n.exponent, n.whole = 0, strings.TrimLeft(n.whole, "0")
}

func castBool(v *Value) (Value, error) {
	switch v.kind {
	case Bool:
		return *v, nil
	case Int, Uint:
		return BoolValue(v.num != 0), nil
	case Text:
		text := strings.ToLower(strings.TrimSpace(v.text))
		for _, word := range []string{"true", "yes", "on", "1", "false", "no", "off", "0"} {
			if text != "" && strings.HasPrefix(word, text) && text != "o" {
				return BoolValue(strings.Contains("true yes on 1", word)), nil
			}
		}
	}
	return *v, ErrCast
}
