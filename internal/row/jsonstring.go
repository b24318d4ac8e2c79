package row

import (
	"math/bits"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendJSONString appends s in quotes, escaped as encoding/json does it with
// SetEscapeHTML(false).
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	// Fast path: most strings need no escape at all.
	i := plainRun(s, 0)
	if i == len(s) {
		dst = append(dst, s...)
		return append(dst, '"')
	}
	return appendEscaped(dst, s, i)
}

// appendEscaped appends s and the closing quote.
// Slow path: s has something other than plain ASCII from i on.
func appendEscaped(dst []byte, s string, i int) []byte {
	start := 0 // of what is not yet appended
	for i < len(s) {
		c := s[i]
		if c < utf8.RuneSelf {
			if plain(c) {
				i = plainRun(s, i)
				continue
			}
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\ufffd`...)
			start = i + size
		}
		if r == '\u2028' || r == '\u2029' { // line ends in JavaScript
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			start = i + size
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendEscape appends the escape of an ASCII character that needs one.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// plain reports whether c stands for itself within a JSON string.
func plain(c byte) bool {
	return c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\'
}

// plainRun returns where the run of plain characters that begins at i ends. It
// looks at eight bytes at a time ("Bit Twiddling Hacks", S. E. Anderson).
func plainRun(s string, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for len(s)-i >= 8 {
		x := load64(s[i : i+8])
		quote := x ^ ones*'"'
		slash := x ^ ones*'\\'
		odd := (x | (x - ones*0x20) | (quote - ones) | (slash - ones)) & highs
		if odd != 0 {
			// A borrow can mark too many bytes, never too few, and never one
			// below the first that is odd: the loop below looks at that one.
			i += bits.TrailingZeros64(odd) / 8
			break
		}
		i += 8
	}
	for i < len(s) && plain(s[i]) {
		i++
	}
	return i
}

// load64 returns eight bytes, the first lowest. The compiler makes one load of it.
func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
