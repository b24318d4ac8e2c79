package postgres

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/source"
)

// scanQuery finds the parameters, :name, of one SELECT. What is quoted or a
// comment has none, and neither :: nor := is one.
func scanQuery(sql string) (source.Template, error) {
	return source.ScanQuery(sql, passComment, passToken)
}

// passToken passes one token, or one character of no interest.
func passToken(s *source.QueryScanner) error {
	rest := s.Rest()
	switch c := rest[0]; {
	case c == '\'' || c == '"':
		_, err := s.Quoted(c, escapes(s), "a quotation")
		return err
	case c == '$':
		return passDollar(s)
	case strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, ":="):
		s.Pos += 2
	case c == ':' && s.Parameter(isWord):
		// Before anything else, as in an array's slice [1:2], a colon is left alone.
	case isWord(c): // a name or a number: a quote or a dollar within it is its own
		for s.Pos < len(s.Src) && (isWord(s.Src[s.Pos]) || s.Src[s.Pos] == '$') {
			s.Pos++
		}
	default:
		s.Pos++
	}
	return nil
}

// escapes reports whether the string that begins here is an E'...', in which a
// backslash escapes.
func escapes(s *source.QueryScanner) bool {
	if s.Pos == 0 || s.Src[s.Pos-1] != 'e' && s.Src[s.Pos-1] != 'E' {
		return false
	}
	return s.Pos == 1 || !isWord(s.Src[s.Pos-2]) && s.Src[s.Pos-2] != '$'
}

// passComment passes a comment; a /* comment */ may hold others.
func passComment(s *source.QueryScanner) (bool, error) {
	switch rest := s.Rest(); {
	case strings.HasPrefix(rest, "--"):
		s.Line()
		return true, nil
	case !strings.HasPrefix(rest, "/*"):
		return false, nil
	}
	depth := 0
	for i := s.Pos; i+1 < len(s.Src); i++ {
		switch s.Src[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			i++
			if depth--; depth == 0 {
				s.Pos = i + 1
				return true, nil
			}
		}
	}
	return true, s.Unfinished("a comment")
}

// passDollar passes a $tag$ string $tag$. A numbered parameter is an error: it would
// be one of ours.
func passDollar(s *source.QueryScanner) error {
	rest := s.Rest()
	n := 1
	for n < len(rest) && isWord(rest[n]) && (n > 1 || !isDigit(rest[n])) {
		n++
	}
	if n == len(rest) || rest[n] != '$' {
		if n < len(rest) && isDigit(rest[n]) {
			return fmt.Errorf("a parameter is written :key, not $1 (byte %d of the query)", s.Pos)
		}
		s.Pos++
		return nil
	}
	tag := rest[:n+1]
	end := strings.Index(rest[n+1:], tag)
	if end < 0 {
		return s.Unfinished("a quotation " + tag)
	}
	s.Pos += n + 1 + end + len(tag)
	return nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWord reports whether c can be part of a name.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' ||
		c >= utf8.RuneSelf
}
