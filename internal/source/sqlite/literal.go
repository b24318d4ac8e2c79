package sqlite

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

// literal writes a text as an SQL literal.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// parseLiterals reads values that quote() wrote, joined by commas.
func parseLiterals(s string) ([]any, bool) {
	var out []any
	for s != "" {
		v, rest, ok := parseLiteral(s)
		if !ok {
			return nil, false
		}
		out = append(out, v)
		if rest == "" {
			return out, true
		}
		if rest[0] != ',' || len(rest) == 1 {
			return nil, false
		}
		s = rest[1:]
	}
	return out, true
}

// parseLiteral reads one value from the beginning of s: NULL, 1, 1.5, 'text',
// X'00ff'.
func parseLiteral(s string) (v any, rest string, ok bool) {
	switch {
	case strings.HasPrefix(s, "'"):
		return parseText(s)
	case strings.HasPrefix(s, "X'"):
		text, rest, ok := parseText(s[1:])
		data, err := hex.DecodeString(text.(string))
		return data, rest, ok && err == nil
	}
	word, rest := s, ""
	if i := strings.IndexByte(s, ','); i >= 0 {
		word, rest = s[:i], s[i:]
	}
	if word == "NULL" {
		return nil, rest, true
	}
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		return n, rest, true
	}
	f, err := strconv.ParseFloat(word, 64)
	// SQLite writes the infinities as 9.0e+999.
	return f, rest, err == nil || math.IsInf(f, 0)
}

// parseText reads a text in quotes from the beginning of s.
func parseText(s string) (v any, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != '\'' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '\'' {
			b.WriteByte('\'')
			i++
			continue
		}
		return b.String(), s[i+1:], true
	}
	return "", "", false
}
