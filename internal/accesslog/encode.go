package accesslog

import (
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// An encoder makes lines. Whatever bytes a text has, the line has no line break,
// no tab and no other control character within a value: who reads the log, or
// shows it on a terminal, sees one line for each request and nothing else.
type encoder struct {
	columns []Column
	names   []string // of the columns, as the format has them, what goes before included
	json    bool
}

// newEncoder returns the encoder of a format.
func newEncoder(columns []Column, f Format) *encoder {
	e := &encoder{columns: columns, json: f != LTSV}
	for _, c := range columns {
		name := c.Name + ":"
		if e.json {
			name = `"` + c.Name + `":`
		}
		e.names = append(e.names, name)
	}
	return e
}

// line appends the line of a record, whose values are in b.
func (e *encoder) line(out []byte, d *reader, b []byte) []byte {
	if e.json {
		out = append(out, '{')
	}
	empty := len(out)
	for i, c := range e.columns {
		before := len(out)
		if len(out) > empty {
			out = append(out, e.separator())
		}
		out = append(out, e.names[i]...)
		var some bool
		if out, b, some = e.value(out, c.Kind, d, b); !some && !c.Always {
			out = out[:before]
		}
	}
	if e.json {
		out = append(out, '}')
	}
	return append(out, '\n')
}

// separator returns what is between two fields.
func (e *encoder) separator() byte {
	if e.json {
		return ','
	}
	return '\t'
}

// value appends the value of a column, which it takes off b. It reports whether
// the line should have it.
func (e *encoder) value(out []byte, k Kind, d *reader, b []byte) (_, rest []byte, some bool) {
	switch k {
	case Time:
		return e.plain(out, d.stamp), b, true
	case Duration:
		return appendSeconds(out, d.took), b, true
	case Text:
		value, rest, cut := text(b)
		return e.text(out, value, cut), rest, len(value) > 0
	default:
		n, rest := number(b)
		return strconv.AppendInt(out, n, 10), rest, n != 0 || k == Int
	}
}

// plain appends a text that needs no escape.
func (e *encoder) plain(out, s []byte) []byte {
	if !e.json {
		return append(out, s...)
	}
	return append(append(append(out, '"'), s...), '"')
}

// appendSeconds appends d in seconds with six places.
func appendSeconds(out []byte, d time.Duration) []byte {
	us := max(int64(d/time.Microsecond), 0)
	out = append(strconv.AppendInt(out, us/1e6, 10), '.')
	for unit := int64(1e5); unit > 0; unit /= 10 {
		out = append(out, byte('0'+us/unit%10))
	}
	return out
}

// text appends any bytes as a value.
func (e *encoder) text(out, s []byte, cut bool) []byte {
	if cut {
		s = whole(s)
	}
	if e.json {
		out = append(out, '"')
	}
	done := 0 // of s, in out
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f && c != '\\' && (c != '"' || !e.json) {
			i++
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		if n > 1 && unicode.IsPrint(r) {
			i += n
			continue
		}
		out = append(out, s[done:i]...)
		if e.json {
			out = escapeJSON(out, r)
		} else {
			out = escapeLTSV(out, s[i:i+n])
		}
		i += n
		done = i
	}
	out = append(out, s[done:]...)
	if cut {
		out = append(out, mark...)
	}
	if e.json {
		out = append(out, '"')
	}
	return out
}

// whole removes the beginning of a character at the end of s, of which the rest
// was cut.
func whole(s []byte) []byte {
	for i := len(s) - 1; i >= 0 && i >= len(s)-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRune(s[i:]) {
				return s[:i]
			}
			break
		}
	}
	return s
}

const hex = "0123456789abcdef"

// escapeJSON appends a character as JSON has it. A byte that is not UTF-8 is
// U+FFFD, the character that stands for what is none.
func escapeJSON(out []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(out, '\\', byte(r))
	case r == '\n':
		return append(out, '\\', 'n')
	case r == '\t':
		return append(out, '\\', 't')
	case r > 0xffff: // RFC 8259 7: two surrogates
		r -= 0x10000
		return escapeUnit(escapeUnit(out, 0xd800+r>>10), 0xdc00+r&0x3ff)
	}
	return escapeUnit(out, r)
}

// escapeUnit appends one unit of UTF-16.
func escapeUnit(out []byte, u rune) []byte {
	return append(out, '\\', 'u', hex[u>>12&15], hex[u>>8&15], hex[u>>4&15], hex[u&15])
}

// escapeLTSV appends the bytes of a character. LTSV has no escapes of its own:
// these are those of C, for a backslash and whatever does not print.
func escapeLTSV(out, s []byte) []byte {
	for _, c := range s {
		switch c {
		case '\\':
			out = append(out, '\\', '\\')
		case '\t':
			out = append(out, '\\', 't')
		case '\n':
			out = append(out, '\\', 'n')
		case '\r':
			out = append(out, '\\', 'r')
		default:
			out = append(out, '\\', 'x', hex[c>>4], hex[c&15])
		}
	}
	return out
}
