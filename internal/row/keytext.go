package row

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// canonicalText returns the canonical text of the kinds that a Value keeps as
// text, Bytes aside, and of a Bool. It reports false for what is not of the kind.
func canonicalText(k Kind, s string) (string, bool) {
	switch k {
	case Bool:
		return canonicalBool(s)
	case Decimal:
		return canonicalDecimal(s)
	case Text:
		return s, utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
	case Date:
		return canonicalDate(s)
	case Time:
		return canonicalTime(s, keyFraction)
	case Datetime:
		return canonicalDatetime(s, keyFraction)
	case DatetimeTZ:
		return canonicalDatetimeTZ(s, keyFraction)
	case UUID:
		return canonicalUUID(s)
	}
	return "", false
}

func canonicalInt(s string, bits int) (string, bool) {
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil {
		return "", false
	}
	var room [20]byte
	return settle(strconv.AppendInt(room[:0], n, 10), s), true
}

func canonicalUint(s string, bits int) (string, bool) {
	unsigned := strings.TrimPrefix(s, "+")
	if strings.Trim(s, "0") == "-" && s[0] == '-' { // "-0", as an Int takes it
		unsigned = s[1:]
	}
	n, err := strconv.ParseUint(unsigned, 10, bits)
	if err != nil {
		return "", false
	}
	var room [20]byte
	return settle(strconv.AppendUint(room[:0], n, 10), s), true
}

func canonicalFloat(s string, bits int) (string, bool) {
	if name := namedNumber(s); name != "" {
		return name, true
	}
	// ParseFloat takes forms that no database does: 0x1p-2, 1_0.
	if _, ok := parseNumber(s); !ok {
		return "", false
	}
	f, err := strconv.ParseFloat(s, bits)
	if err != nil {
		return "", false
	}
	if f == 0 {
		f = 0 // -0 is equal to it
	}
	var room [32]byte
	return settle(appendFloat(room[:0], f, bits), s), true
}

func keyFloat(f float64, bits int) string {
	if name := notFinite(f); name != "" {
		return name
	}
	if f == 0 {
		f = 0 // -0 is equal to it
	}
	return string(appendFloat(nil, f, bits))
}

func canonicalDecimal(s string) (string, bool) {
	if name := namedNumber(s); name != "" {
		return name, true
	}
	n, ok := parseNumber(s)
	if !ok {
		return "", false
	}
	if n.zero() {
		n.negative = false
	}
	var room [64]byte
	return settle(n.appendText(room[:0]), s), true
}

func canonicalBool(s string) (string, bool) {
	for _, w := range [...]string{"true", "t", "yes", "y", "on", "1"} {
		if strings.EqualFold(s, w) {
			return "true", true
		}
	}
	for _, w := range [...]string{"false", "f", "no", "n", "off", "0"} {
		if strings.EqualFold(s, w) {
			return "false", true
		}
	}
	return "", false
}

// canonicalUUID takes what PostgreSQL takes: 32 hexadecimal digits of any case,
// a hyphen after any group of four, braces around it.
func canonicalUUID(s string) (string, bool) {
	asked := s
	if len(s) >= 2 && s[0] == '{' && s[len(s)-1] == '}' {
		s = s[1 : len(s)-1]
	}
	var room [36]byte
	text := room[:0]
	for i := range 16 {
		if i > 0 && i%2 == 0 && s != "" && s[0] == '-' {
			s = s[1:]
		}
		if len(s) < 2 {
			return "", false
		}
		high, ok1 := hexDigit(s[0])
		low, ok2 := hexDigit(s[1])
		if !ok1 || !ok2 {
			return "", false
		}
		s = s[2:]
		if i == 4 || i == 6 || i == 8 || i == 10 {
			text = append(text, '-')
		}
		text = append(text, hexDigits[high], hexDigits[low])
	}
	return settle(text, asked), s == ""
}

func canonicalBytes(s string) (string, bool) {
	hex := strings.TrimPrefix(s, `\x`)
	if len(hex)%2 != 0 {
		return "", false
	}
	for i := range len(hex) {
		if _, ok := hexDigit(hex[i]); !ok {
			return "", false
		}
	}
	return strings.ToLower(hex), true
}

func hexText(s string) string {
	text := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		text = append(text, hexDigits[s[i]>>4], hexDigits[s[i]&0xf])
	}
	return string(text)
}

// settle returns text as a string, and asked when that is the same: a key that
// is canonical already costs no allocation.
func settle(text []byte, asked string) string {
	if string(text) == asked {
		return asked
	}
	return string(text)
}
