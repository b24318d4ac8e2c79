package resource

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
)

// A Token is a position that travels to clients and back: "hr1.main.7f3a.16B3748".
// Positions are compared only within one origin of one source.
//
// That of an answer covers what the answer shows: who asks with it gets nothing older. What
// was read from the database may show more than it includes for certain, so there is a second
// position, which a watch may go on from: "hr1.main.7f3a.16B3748;since=16B3700".
type Token struct {
	Source string // as configured
	Origin string // of the feed: see source.Handler
	Pos    source.Position
	Ahead  source.Position // how far Pos is ahead of Since
}

// Since returns the position up to which every change is included.
func (t Token) Since() source.Position { return t.Pos - t.Ahead }

// Showing returns the token of an answer which includes what t includes, and shows nothing
// behind pos.
func (t Token) Showing(pos source.Position) Token {
	if !t.IsZero() && pos > t.Pos {
		t.Ahead += pos - t.Pos
		t.Pos = pos
	}
	return t
}

// unsure returns the token of an answer that includes nothing for certain.
func (t Token) unsure() Token {
	t.Ahead = t.Pos
	return t
}

// And returns the token of an answer that is made of two. Of two histories there is none.
func (t Token) And(o Token) Token {
	if t.Source != o.Source || t.Origin != o.Origin {
		return Token{}
	}
	since := min(t.Since(), o.Since())
	t.Pos = max(t.Pos, o.Pos)
	t.Ahead = t.Pos - since
	return t
}

// IsZero reports whether the token asks for nothing.
func (t Token) IsZero() bool { return t.Source == "" }

// Includes reports whether an answer of t includes all that one of o shows.
func (t Token) Includes(o Token) bool {
	return t.Source == o.Source && t.Origin == o.Origin && t.Since() >= o.Pos
}

// Append writes the token's text to dst, without Since.
func (t Token) Append(dst []byte) []byte {
	dst = append(dst, "hr1."...)
	dst = append(dst, t.Source...)
	dst = append(dst, '.')
	dst = append(dst, t.Origin...)
	dst = append(dst, '.')
	return strconv.AppendUint(dst, uint64(t.Pos), 16)
}

// AppendSince is Append with Since where that differs, for those who may go on from it.
func (t Token) AppendSince(dst []byte) []byte {
	dst = t.Append(dst)
	if t.Ahead > 0 {
		dst = strconv.AppendUint(append(dst, sinceParam...), uint64(t.Since()), 16)
	}
	return dst
}

// sinceParam is what Since follows in a token's text.
const sinceParam = ";since="

// String returns the token's text.
func (t Token) String() string { return string(t.Append(nil)) }

// ParseToken reads a token's text. Parameters after a semicolon are ignored, but for since.
// The error wraps ErrToken.
func ParseToken(s string) (Token, error) {
	s, params, _ := strings.Cut(s, ";")
	name, rest, _ := strings.Cut(strings.TrimSpace(s), ".")
	src, rest, _ := strings.Cut(rest, ".")
	origin, digits, found := strings.Cut(rest, ".")
	if len(s) > 256 || !found || name != "hr1" || src == "" || strings.Contains(digits, ".") {
		return Token{}, fmt.Errorf("%w: want hr1.SOURCE.ORIGIN.POSITION", ErrToken)
	}
	pos, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return Token{}, fmt.Errorf("%w: position %q is not hexadecimal", ErrToken, digits)
	}
	t := Token{Source: src, Origin: origin, Pos: source.Position(pos)}
	for params != "" {
		var p string
		p, params, _ = strings.Cut(params, ";")
		digits, found := strings.CutPrefix(strings.TrimSpace(p), sinceParam[1:])
		if !found {
			continue
		}
		if since, err := strconv.ParseUint(digits, 16, 64); err == nil && since <= pos {
			t.Ahead = source.Position(pos - since)
		}
	}
	return t, nil
}
