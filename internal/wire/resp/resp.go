// Package resp reads the commands of Redis clients and writes replies, in both
// versions of their protocol (RESP2 and RESP3). It does no I/O and knows no command.
package resp

import (
	"bytes"
	"math"
)

// Limits bound one command. They are what a server has to keep of it.
type Limits struct {
	Args   int // arguments
	Arg    int // bytes of one
	Inline int // bytes of a command that is a line of text
	// Strict, if not 0, bounds the arguments of somebody whom nobody knows yet: so many
	// bytes each, and ten of them.
	Strict int
}

// strictArgs is how many arguments a command may have while Limits.Strict counts.
const strictArgs = 10

// maxLine is how long the line with a length may be: the digits are far fewer.
const maxLine = 64 << 10

// An Error is why a peer does not speak the protocol. Its text is that of Redis.
type Error string

// Error is the text as it is sent, without its code.
func (e Error) Error() string { return "Protocol error: " + string(e) }

// Next reads the command at the front of in. It returns its arguments, which alias in
// and are appended to args, and how many bytes it takes. A command without arguments
// is to be passed over.
//
// When n is 0 the command is not whole: nothing can be said before want bytes of in are
// there. Every error is an Error, after which nothing more can be read.
func Next(in []byte, args [][]byte, l *Limits) (list [][]byte, n, want int, err error) {
	if len(in) == 0 {
		return args, 0, 1, nil
	}
	if in[0] != '*' {
		return inline(in, args, l)
	}
	count, n, err := length(in, "too big mbulk count string", "invalid multibulk length")
	if n == 0 {
		return args, 0, len(in) + 1, err
	}
	switch {
	case count > int64(l.Args):
		return args, 0, 0, Error("invalid multibulk length")
	case l.Strict > 0 && count > strictArgs:
		return args, 0, 0, Error("unauthenticated multibulk length")
	}
	for ; count > 0; count-- {
		size, used, err := bulkLength(in[n:], l)
		if used == 0 {
			return args, 0, len(in) + 1, err
		}
		n += used
		end := n + int(size)
		if len(in) < end+2 {
			return args, 0, end + 2, nil
		}
		args = append(args, in[n:end:end])
		n = end + 2 // as Redis does: what ends an argument is not looked at
	}
	return args, n, 0, nil
}

// Get returns the key of a GET at the front of in, in the form in which clients write it,
// and how many bytes the command takes: what Next returns of it, sooner. n is 0 for
// everything else, be it that the command is not whole or that the key has more than 99
// bytes. The key aliases in.
func Get(in []byte) (key []byte, n int) {
	const begin = len("*2\r\n$3\r\nGET\r\n$")
	if len(in) < begin+len("1\r\nk\r\n") || string(in[:8]) != "*2\r\n$3\r\n" ||
		in[8]|0x20 != 'g' || in[9]|0x20 != 'e' || in[10]|0x20 != 't' ||
		string(in[11:14]) != "\r\n$" {
		return nil, 0
	}
	size, at := int(in[begin]-'0'), begin+1
	if size < 1 || size > 9 { // a byte less than '0' is more than 9
		return nil, 0
	}
	if c := in[at]; c >= '0' && c <= '9' {
		size, at = 10*size+int(c-'0'), at+1
	}
	end := at + 2 + size
	if len(in) < end+2 || in[at] != '\r' {
		return nil, 0
	}
	return in[at+2 : end : end], end + 2
}

// bulkLength reads the line in front of an argument.
func bulkLength(in []byte, l *Limits) (size int64, n int, err error) {
	if len(in) == 0 {
		return 0, 0, nil
	}
	if in[0] != '$' {
		// Redis looks at the whole line first.
		if bytes.IndexByte(in, '\r') < 0 && len(in) <= maxLine {
			return 0, 0, nil
		}
		return 0, 0, Error("expected '$', got '" + printable(in[0]) + "'")
	}
	// Fast path: one or two digits.
	if len(in) >= 5 && in[1] >= '1' && in[1] <= '9' {
		if in[2] == '\r' {
			size, n = int64(in[1]-'0'), 4
		} else if in[3] == '\r' && in[2] >= '0' && in[2] <= '9' {
			size, n = int64(in[1]-'0')*10+int64(in[2]-'0'), 5
		}
	}
	if n == 0 {
		size, n, err = length(in, "too big bulk count string", "invalid bulk length")
		if n == 0 {
			return 0, 0, err
		}
	}
	switch {
	case size < 0, size > int64(l.Arg):
		return 0, 0, Error("invalid bulk length")
	case l.Strict > 0 && size > int64(l.Strict):
		return 0, 0, Error("unauthenticated bulk length")
	}
	return size, n, nil
}

// printable returns a byte as an error may repeat it.
func printable(c byte) string {
	if c < ' ' || c > '~' {
		return "?"
	}
	return string(rune(c))
}

// length reads the number of a line, behind its first byte. n is 0 while the line is not
// whole.
func length(in []byte, tooLong, wrong Error) (v int64, n int, err error) {
	end := bytes.IndexByte(in, '\r')
	switch {
	case end < 0 && len(in) > maxLine:
		return 0, 0, tooLong
	case end < 0 || end+1 >= len(in):
		return 0, 0, nil
	}
	v, ok := ParseInt(in[1:end])
	if !ok {
		return 0, 0, wrong
	}
	return v, end + 2, nil
}

// ParseInt reads a number as Redis does: digits without a leading zero, a plus or a
// blank.
func ParseInt(b []byte) (int64, bool) {
	if len(b) == 1 && b[0] == '0' {
		return 0, true
	}
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 19 || b[0] == '0' {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + uint64(c-'0') // 19 digits fit
	}
	switch {
	case negative && v <= math.MaxInt64+1:
		return -int64(v), true
	case !negative && v <= math.MaxInt64:
		return int64(v), true
	}
	return 0, false
}
