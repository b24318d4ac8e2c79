package postgres

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/source"
)

// scanQuery finds the parameters, :name, of one SELECT. What is quoted or a
// comment has none, and neither :: nor := is one. A semicolon at the end is
// dropped; one elsewhere is an error, as is a quotation without an end.
func scanQuery(sql string) (*source.Template, error) {
	s := &queryScanner{src: strings.TrimSpace(sql), end: -1}
	for s.pos < len(s.src) {
		if err := s.step(); err != nil {
			return nil, err
		}
	}
	end := len(s.src)
	if s.end >= 0 {
		end = s.end
	}
	s.out.Texts = append(s.out.Texts, s.src[s.from:end])
	return &s.out, nil
}

// A queryScanner reads a query from pos on.
type queryScanner struct {
	src  string
	pos  int
	from int // where the text before the next parameter begins
	end  int // of the query, when a semicolon ended it; else -1
	out  source.Template
}

// step reads one token, or one character of no interest.
func (s *queryScanner) step() error {
	rest := s.src[s.pos:]
	c := rest[0]
	switch {
	case strings.HasPrefix(rest, "--"):
		n := strings.IndexByte(rest, '\n')
		if n < 0 {
			n = len(rest)
		}
		s.pos += n
		return nil
	case strings.HasPrefix(rest, "/*"):
		return s.comment()
	case c <= ' ':
		s.pos++
		return nil
	case c == ';' && s.end < 0:
		s.end = s.pos
		s.pos++
		return nil
	case s.end >= 0:
		return fmt.Errorf("a query is one statement, a SELECT: there is more after the semicolon")
	case c == '\'' || c == '"':
		return s.quoted(c, s.escapes())
	case c == '$':
		return s.dollar()
	case strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, ":="):
		s.pos += 2
		return nil
	case c == ':':
		s.parameter()
		return nil
	case isWord(c):
		s.word()
		return nil
	}
	s.pos++
	return nil
}

// word skips a name or a number: a quote or a dollar within it is its own.
func (s *queryScanner) word() {
	for s.pos < len(s.src) && (isWord(s.src[s.pos]) || s.src[s.pos] == '$') {
		s.pos++
	}
}

// escapes reports whether the string that begins here is an E'...', in which a
// backslash escapes.
func (s *queryScanner) escapes() bool {
	if s.pos == 0 || s.src[s.pos-1] != 'e' && s.src[s.pos-1] != 'E' {
		return false
	}
	return s.pos == 1 || !isWord(s.src[s.pos-2]) && s.src[s.pos-2] != '$'
}

// quoted skips what stands between two quotes; two within are one.
func (s *queryScanner) quoted(quote byte, backslash bool) error {
	for i := s.pos + 1; i < len(s.src); i++ {
		switch {
		case backslash && s.src[i] == '\\':
			i++
		case s.src[i] == quote && i+1 < len(s.src) && s.src[i+1] == quote:
			i++
		case s.src[i] == quote:
			s.pos = i + 1
			return nil
		}
	}
	return s.unfinished("a quotation")
}

// comment skips a /* comment */, which may hold others.
func (s *queryScanner) comment() error {
	depth := 0
	for i := s.pos; i+1 < len(s.src); i++ {
		switch s.src[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			i++
			if depth--; depth == 0 {
				s.pos = i + 1
				return nil
			}
		}
	}
	return s.unfinished("a comment")
}

// dollar skips a $tag$ string $tag$. A numbered parameter is an error: it would
// be one of ours.
func (s *queryScanner) dollar() error {
	rest := s.src[s.pos:]
	n := 1
	for n < len(rest) && isWord(rest[n]) && (n > 1 || !isDigit(rest[n])) {
		n++
	}
	if n == len(rest) || rest[n] != '$' {
		if n < len(rest) && isDigit(rest[n]) {
			return fmt.Errorf("a parameter is written :key, not $1 (byte %d of the query)", s.pos)
		}
		s.pos++
		return nil
	}
	tag := rest[:n+1]
	end := strings.Index(rest[n+1:], tag)
	if end < 0 {
		return s.unfinished("a quotation " + tag)
	}
	s.pos += n + 1 + end + len(tag)
	return nil
}

// parameter reads a :name. A colon before anything else, as in an array's
// slice [1:2], is left alone.
func (s *queryScanner) parameter() {
	n := s.pos + 1
	if n == len(s.src) || !isWord(s.src[n]) || isDigit(s.src[n]) {
		s.pos++
		return
	}
	end := n
	for end < len(s.src) && isWord(s.src[end]) {
		end++
	}
	s.out.Texts = append(s.out.Texts, s.src[s.from:s.pos])
	s.out.Params = append(s.out.Params, s.src[n:end])
	s.pos, s.from = end, end
}

// unfinished returns the error of what has no end.
func (s *queryScanner) unfinished(what string) error {
	return fmt.Errorf("%s has no end (byte %d of the query)", what, s.pos)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWord reports whether c can be part of a name.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' ||
		c >= utf8.RuneSelf
}
