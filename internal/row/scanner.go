package row

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A scanner reads the tokens of a JSON text (RFC 8259), strictly. Its methods
// leave pos at the byte that is wrong when they fail. It does not look at
// whether strings are valid UTF-8.
type scanner struct {
	src string
	pos int
}

// peek skips white space and returns the byte that follows it, 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// end reports whether nothing but white space is left.
func (s *scanner) end() bool {
	s.peek()
	return s.pos == len(s.src)
}

// word skips w when it is what follows.
func (s *scanner) word(w string) bool {
	if !strings.HasPrefix(s.src[s.pos:], w) {
		return false
	}
	s.pos += len(w)
	return true
}

// number reads a number. What may follow it is for the next token to say.
func (s *scanner) number() (string, bool) {
	n := scanJSONNumber(s.src[s.pos:])
	text := s.src[s.pos : s.pos+n]
	s.pos += n
	return text, n > 0
}

// open skips the bracket at pos, and reports whether an element follows. It
// fails at the end of the text.
func (s *scanner) open() (more, ok bool) {
	closing := s.src[s.pos] + 2 // '[' and ']', '{' and '}' are two apart
	s.pos++
	c := s.peek()
	if c == closing {
		s.pos++
		return false, true
	}
	return true, s.pos < len(s.src)
}

// next skips the comma after an element, or the closing bracket. It reports
// whether another element follows, and fails at anything else.
func (s *scanner) next(object bool) (more, ok bool) {
	closing := byte(']')
	if object {
		closing = '}'
	}
	switch s.peek() {
	case ',':
		s.pos++
		return true, true
	case closing:
		s.pos++
		return false, true
	}
	return false, false
}

// colon skips the colon after a member's name.
func (s *scanner) colon() bool {
	if s.peek() != ':' {
		return false
	}
	s.pos++
	return true
}

// str reads the string that begins at pos. It returns what is between the
// quotes, and whether there are escapes, all of them well-formed; or what is
// wrong.
func (s *scanner) str() (raw string, escaped bool, problem string) {
	s.pos++
	start := s.pos
	for {
		s.pos = plainRun(s.src, s.pos)
		if s.pos == len(s.src) {
			return "", false, "a string without an end"
		}
		switch c := s.src[s.pos]; {
		case c == '"':
			raw = s.src[start:s.pos]
			s.pos++
			return raw, escaped, ""
		case c == '\\':
			n := escapeLen(s.src[s.pos:])
			if n == 0 {
				return "", false, "an escape that JSON does not know"
			}
			escaped = true
			s.pos += n
		case c < 0x20:
			return "", false, "a control character in a string, where JSON wants an escape"
		default:
			s.pos++ // a byte of UTF-8
		}
	}
}

// escapeLen returns the length of the escape that s begins with, or 0.
func escapeLen(s string) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(s[2:]); ok {
			return 6
		}
	}
	return 0
}

// hex4 returns the number that four hexadecimal digits begin s with.
func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var r rune
	for i := range 4 {
		d, ok := hexDigit(s[i])
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// unescape returns what the raw text of a string means, whose escapes are
// well-formed. A surrogate without its other half becomes U+FFFD, and lone is
// where the first such escape is, else -1.
func unescape(raw string) (text string, lone int) {
	var b strings.Builder
	b.Grow(len(raw))
	lone = -1
	for i := 0; i < len(raw); {
		c := raw[i]
		if c != '\\' {
			b.WriteByte(c)
			i++
			continue
		}
		n := 2
		switch c = raw[i+1]; c {
		case 'u':
			var r rune
			r, n = unescapeRune(raw[i:])
			written, _ := hex4(raw[i+2:])
			if lone < 0 && r == utf8.RuneError && r != written {
				lone = i
			}
			b.WriteRune(r)
		case 'b', 'f', 'n', 'r', 't':
			b.WriteByte("\b\f\n\r\t"[strings.IndexByte("bfnrt", c)])
		default:
			b.WriteByte(c)
		}
		i += n
	}
	return b.String(), lone
}

// unescapeRune returns the character of a \u escape, or of two that make a pair,
// and their length. A surrogate alone is U+FFFD.
func unescapeRune(s string) (rune, int) {
	high, _ := hex4(s[2:])
	if !utf16.IsSurrogate(high) {
		return high, 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		low, _ := hex4(s[8:])
		if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
			return r, 12
		}
	}
	return utf8.RuneError, 6
}

// skipNested skips the object or array at pos, however deep, without a stack of
// calls. It checks that brackets and strings end, not the grammar between them.
func (s *scanner) skipNested() bool {
	for depth := 0; s.pos < len(s.src); {
		switch s.src[s.pos] {
		case '"':
			if _, _, problem := s.str(); problem != "" {
				return false
			}
			continue
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		s.pos++
		if depth == 0 {
			return true
		}
	}
	return false
}

// quote returns s in quotes for an error, shortened, nothing in it that could
// end a line of a log.
func quote(s string) string {
	const most = 64
	if len(s) > most {
		return strconv.QuoteToASCII(strings.ToValidUTF8(s[:most], "")) + "..."
	}
	return strconv.QuoteToASCII(s)
}
