package row

import (
	"math"
	"strconv"
	"strings"
)

// appendFloat appends a finite f as ECMAScript and encoding/json write it: an
// exponent only below 1e-6 and from 1e21 on, and no leading zero within it.
func appendFloat(dst []byte, f float64, bits int) []byte {
	abs, form := math.Abs(f), byte('f')
	if abs != 0 {
		if bits == 64 && (abs < 1e-6 || abs >= 1e21) ||
			bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21) {
			form = 'e'
		}
	}
	dst = strconv.AppendFloat(dst, f, form, -1, bits)
	if n := len(dst); form == 'e' && n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' &&
		dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// notFinite returns the name of a NaN or an infinity, "" of other numbers.
func notFinite(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return ""
}

// namedNumber returns the one name of the number that s means in any of the
// spellings of databases: "NaN", "Infinity", "-Infinity", or "".
func namedNumber(s string) string {
	if len(s) < 3 || len(s) > len("-infinity") || isDigit(s[len(s)-1]) {
		return ""
	}
	if strings.EqualFold(s, "nan") {
		return "NaN"
	}
	name := "Infinity"
	switch s[0] {
	case '-':
		name, s = "-Infinity", s[1:]
	case '+':
		s = s[1:]
	}
	if strings.EqualFold(s, "inf") || strings.EqualFold(s, "infinity") {
		return name
	}
	return ""
}

// A number is the text of a decimal number, taken apart.
type number struct {
	negative bool
	whole    string // digits before the point, without leading zeros
	fraction string // digits after it, with the trailing zeros: they are its scale
	exponent int    // within ±maxExponent
}

// maxExponent is far beyond what any database holds, and far from overflow.
const maxExponent = 1 << 24

// parseNumber takes apart what databases and people write as a number: a sign,
// digits with or without a point among, before or after them, an exponent.
func parseNumber(s string) (number, bool) {
	var n number
	if s != "" && (s[0] == '+' || s[0] == '-') {
		n.negative = s[0] == '-'
		s = s[1:]
	}
	end := digits(s)
	n.whole, s = s[:end], s[end:]
	if s != "" && s[0] == '.' {
		end = digits(s[1:])
		n.fraction, s = s[1:1+end], s[1+end:]
	}
	if n.whole == "" && n.fraction == "" {
		return n, false
	}
	n.whole = strings.TrimLeft(n.whole, "0")
	if s == "" {
		return n, true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return n, false
	}
	var ok bool
	n.exponent, ok = parseExponent(s[1:])
	return n, ok
}

func parseExponent(s string) (int, bool) {
	negative := false
	if s != "" && (s[0] == '+' || s[0] == '-') {
		negative = s[0] == '-'
		s = s[1:]
	}
	if s == "" || digits(s) != len(s) {
		return 0, false
	}
	e := 0
	for i := 0; i < len(s); i++ {
		if e = e*10 + int(s[i]-'0'); e > maxExponent {
			return 0, false
		}
	}
	if negative {
		e = -e
	}
	return e, true
}

// zero reports whether the number is 0 or -0.
func (n *number) zero() bool {
	return n.whole == "" && strings.Trim(n.fraction, "0") == ""
}

// appendText appends the number in JSON's grammar, its scale kept.
func (n *number) appendText(dst []byte) []byte {
	if n.negative {
		dst = append(dst, '-')
	}
	if n.whole == "" {
		dst = append(dst, '0')
	}
	dst = append(dst, n.whole...)
	if n.fraction != "" {
		dst = append(dst, '.')
		dst = append(dst, n.fraction...)
	}
	if n.exponent != 0 {
		dst = append(dst, 'e')
		dst = strconv.AppendInt(dst, int64(n.exponent), 10)
	}
	return dst
}

// integer returns the digits of the number, with a sign, when it is an integer
// of at most 20 digits: 1e3 and 1.0 are, and are told without unfolding 1e999.
func (n *number) integer() (string, bool) {
	if n.zero() {
		return "0", true
	}
	text := strings.TrimLeft(n.whole+n.fraction, "0")
	switch shift := n.exponent - len(n.fraction); {
	case shift > 20:
		return "", false
	case shift >= 0:
		text += strings.Repeat("0", shift)
	case -shift >= len(text) || strings.Trim(text[len(text)+shift:], "0") != "":
		return "", false
	default:
		text = text[:len(text)+shift]
	}
	if len(text) > 20 {
		return "", false
	}
	if n.negative {
		text = "-" + text
	}
	return text, true
}

// isJSONNumber reports whether s is a number in JSON's grammar.
func isJSONNumber(s string) bool {
	n := scanJSONNumber(s)
	return n > 0 && n == len(s)
}

// scanJSONNumber returns the length of the JSON number that s begins with, or 0.
func scanJSONNumber(s string) int {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	n := digits(s[i:])
	if n == 0 || n > 1 && s[i] == '0' {
		return 0
	}
	i += n
	if i < len(s) && s[i] == '.' {
		if n = digits(s[i+1:]); n == 0 {
			return 0
		}
		i += 1 + n
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if n = digits(s[i:]); n == 0 {
			return 0
		}
		i += n
	}
	return i
}

// digits returns how many digits s begins with.
func digits(s string) int {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c-'0' <= 9 }
