package linksfront

import (
	"bytes"

	"github.com/hotrow/hotrow/internal/front"
)

// A pathKind is what the path of a request looks like.
type pathKind uint8

const (
	plain     pathKind = iota // a code
	deeper                    // a code and more: /code/rest
	maybe                     // no code, but there may be one in it: /code. or /%63ode
	invalid                   // no code, and there is none in it
	elsewhere                 // what other handlers answer: /, /+, /code+, /api/...
)

// codeByte is what a byte of a code is in lower case; 0: it stands in no code.
var codeByte = func() (lower [256]byte) {
	for c := byte('0'); c <= '9'; c++ {
		lower[c] = c
	}
	for c := byte('a'); c <= 'z'; c++ {
		lower[c], lower[c-'a'+'A'] = c, c
	}
	lower['-'], lower['_'] = '-', '_'
	return lower
}()

// An asked is the path of a request taken apart.
type asked struct {
	kind pathKind
	code []byte // in buf, folded if codes are
	rest []byte // of a deeper path, without the slash, as it was sent
	buf  [front.CodeBytes]byte
}

// parse takes a path apart. It begins with a slash.
func (a *asked) parse(path []byte, fold bool) {
	a.code, a.rest = nil, nil
	path = path[1:]
	n := 0
	for n < len(path) && n < front.CodeBytes {
		c := codeByte[path[n]]
		if c == 0 {
			break
		}
		if !fold {
			c = path[n]
		}
		a.buf[n] = c
		n++
	}
	a.kind = pathKindOf(path, n)
	if a.kind > deeper {
		return
	}
	a.code = a.buf[:n]
	if a.kind == deeper {
		a.rest = path[n+1:]
	}
}

// pathKindOf says what a path without its slash is whose first n bytes stand in
// codes.
func pathKindOf(path []byte, n int) pathKind {
	switch {
	case len(path) == 0, path[0] == '+', path[0] == '.', reserved(path):
		return elsewhere
	case n == 0:
		if path[0] == '%' {
			return maybe
		}
		return invalid
	case n == len(path):
		if path[0] == '-' || path[0] == '_' {
			return invalid
		}
		return plain
	case isName(path[n:], "+"), isName(path[n:], ".svg"), isName(path[n:], ".png"):
		return elsewhere
	case path[n] == '/' && n+1 < len(path):
		if climbs(path[n+1:]) {
			return invalid
		}
		return deeper
	}
	return maybe
}

// climbs reports whether a path has a segment ".." in one of the spellings that
// readers of URLs take for it: behind a target it would lead out of its path.
func climbs(path []byte) bool {
	for segment := range bytes.SplitSeq(path, []byte{'/'}) {
		dots := 0
		for len(segment) > 0 {
			if isName(segment[:min(3, len(segment))], "%2e") {
				segment = segment[3:]
			} else if segment[0] == '.' {
				segment = segment[1:]
			} else {
				dots = 0
				break
			}
			dots++
		}
		if dots == 2 {
			return true
		}
	}
	return false
}

// reserved reports whether a path, without its slash, is no link's: those of
// this listener's own.
func reserved(path []byte) bool {
	first, _, _ := bytes.Cut(path, []byte{'/'})
	switch len(first) {
	case 1:
		return first[0] == '-' && len(path) > 1
	case 3:
		return isName(first, "api")
	case 4:
		return isName(first, "auth")
	case 7:
		return isName(first, "metrics")
	case 10:
		return isName(path, "robots.txt")
	case 11:
		return isName(path, "favicon.ico")
	}
	return false
}

// repair returns the code that is probably meant by a path with no link: escapes
// are decoded, and a slash at the end and punctuation go, such as a sentence
// puts behind a link, and a fragment, which a client should have kept to itself.
func repair(path []byte, fold bool) (*asked, bool) {
	if len(path) > front.RepairedPath {
		return nil, false
	}
	path, _ = cut(path, '#')
	path, ok := unescape(path)
	if !ok {
		return nil, false
	}
	path = bytes.TrimRight(path, "/")
	path = bytes.TrimRight(path, `.,;:!?()[]{}'"`)
	if len(path) == 0 {
		return nil, false
	}
	a := new(asked)
	a.parse(path, fold)
	return a, a.kind == plain
}

// unescape decodes the escapes of a path, which are well formed, into a copy.
func unescape(path []byte) ([]byte, bool) {
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' {
			if i+2 >= len(path) {
				return nil, false
			}
			hi, lo := hexDigit(path[i+1]), hexDigit(path[i+2])
			if hi < 0 || lo < 0 {
				return nil, false
			}
			c = byte(hi<<4 | lo)
			i += 2
		}
		out = append(out, c)
	}
	return out, true
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
