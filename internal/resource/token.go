package resource

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
)

// A Token is a position that travels to clients and back: "hr1.main.7f3a.16B3748".
// Positions are compared only within one origin of one source.
type Token struct {
	Source string // as configured
	Origin string // of the feed: see source.Handler
	Pos    source.Position
}

// IsZero reports whether the token asks for nothing.
func (t Token) IsZero() bool { return t.Source == "" }

// Includes reports whether whoever has seen t has seen o.
func (t Token) Includes(o Token) bool {
	return t.Source == o.Source && t.Origin == o.Origin && t.Pos >= o.Pos
}

// Append writes the token's text to dst.
func (t Token) Append(dst []byte) []byte {
	dst = append(dst, "hr1."...)
	dst = append(dst, t.Source...)
	dst = append(dst, '.')
	dst = append(dst, t.Origin...)
	dst = append(dst, '.')
	return strconv.AppendUint(dst, uint64(t.Pos), 16)
}

// String returns the token's text.
func (t Token) String() string { return string(t.Append(nil)) }

// ParseToken reads a token's text. Parameters after a semicolon are ignored.
// The error wraps ErrToken.
func ParseToken(s string) (Token, error) {
	s, _, _ = strings.Cut(s, ";")
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
	return Token{Source: src, Origin: origin, Pos: source.Position(pos)}, nil
}
