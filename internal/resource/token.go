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
	parts := strings.Split(strings.TrimSpace(s), ".")
	if len(s) > 256 || len(parts) != 4 || parts[0] != "hr1" || parts[1] == "" {
		return Token{}, fmt.Errorf("%w: want hr1.SOURCE.ORIGIN.POSITION", ErrToken)
	}
	pos, err := strconv.ParseUint(parts[3], 16, 64)
	if err != nil {
		return Token{}, fmt.Errorf("%w: position %q is not hexadecimal", ErrToken, parts[3])
	}
	return Token{Source: parts[1], Origin: parts[2], Pos: source.Position(pos)}, nil
}
