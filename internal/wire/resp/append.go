package resp

import (
	"strconv"
	"unicode/utf8"
)

// A Version is that of the protocol which a connection speaks: 2 or 3. What version 3
// has besides is written as the nearest thing that version 2 has.
type Version uint8

// The versions.
const (
	V2 Version = 2
	V3 Version = 3
)

// MaxError is the longest error text.
const MaxError = 400

// AppendSimple appends a reply that is a word of the protocol's own.
func AppendSimple(dst []byte, s string) []byte {
	dst = append(dst, '+')
	dst = append(dst, s...)
	return append(dst, '\r', '\n')
}

// AppendError appends an error: its code, a blank and a text. Control bytes become
// blanks, and what is longer than MaxError is cut.
func AppendError(dst []byte, text string) []byte {
	dst = append(dst, '-')
	if len(text) > MaxError {
		n := MaxError
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c == 0x7f {
			c = ' '
		}
		dst = append(dst, c)
	}
	return append(dst, '\r', '\n')
}

// AppendInt appends an integer.
func AppendInt(dst []byte, n int64) []byte { return line(dst, ':', n) }

// AppendBulk appends a string of bytes.
func AppendBulk(dst, b []byte) []byte {
	dst = line(dst, '$', int64(len(b)))
	dst = append(dst, b...)
	return append(dst, '\r', '\n')
}

// AppendText is AppendBulk of a string.
func AppendText(dst []byte, s string) []byte {
	dst = line(dst, '$', int64(len(s)))
	dst = append(dst, s...)
	return append(dst, '\r', '\n')
}

// AppendVerbatim appends a text for people.
func (v Version) AppendVerbatim(dst, text []byte) []byte {
	if v == V2 {
		return AppendBulk(dst, text)
	}
	dst = line(dst, '=', int64(len(text)+len("txt:")))
	dst = append(append(dst, "txt:"...), text...)
	return append(dst, '\r', '\n')
}

// AppendNil appends that there is nothing.
func (v Version) AppendNil(dst []byte) []byte {
	if v == V3 {
		return append(dst, "_\r\n"...)
	}
	return append(dst, "$-1\r\n"...)
}

// AppendArray begins an array of n replies.
func AppendArray(dst []byte, n int) []byte { return line(dst, '*', int64(n)) }

// AppendMap begins a map of n pairs of replies.
func (v Version) AppendMap(dst []byte, n int) []byte {
	if v == V3 {
		return line(dst, '%', int64(n))
	}
	return line(dst, '*', 2*int64(n))
}

// AppendSet begins a set of n replies.
func (v Version) AppendSet(dst []byte, n int) []byte {
	if v == V3 {
		return line(dst, '~', int64(n))
	}
	return line(dst, '*', int64(n))
}

// AppendPush begins a message of n replies that nobody has asked for.
func (v Version) AppendPush(dst []byte, n int) []byte {
	if v == V3 {
		return line(dst, '>', int64(n))
	}
	return line(dst, '*', int64(n))
}

// line appends a type, a number and the end of a line.
func line(dst []byte, kind byte, n int64) []byte {
	dst = append(dst, kind)
	if uint64(n) < 10 {
		dst = append(dst, byte(n)+'0')
	} else {
		dst = strconv.AppendInt(dst, n, 10)
	}
	return append(dst, '\r', '\n')
}
