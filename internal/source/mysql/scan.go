package mysql

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/source"
)

// A queryText is one SELECT with its parameters and its tokens.
type queryText struct {
	source.Template
	tokens []token
}

// A token is a name, a keyword, a number or a mark of a query. Texts in quotes
// are none.
type token struct {
	text   string
	quoted bool // in backquotes: a name
}

// is reports whether the token is the keyword or mark.
func (t token) is(word string) bool { return !t.quoted && strings.EqualFold(t.text, word) }

// isName reports whether the token can be a name.
func (t token) isName() bool { return t.quoted || isNameByte(t.text[0]) }

// scanQuery finds the parameters, :name, of one SELECT, and its tokens. What is
// quoted or a comment has none. A semicolon at the end is dropped; one elsewhere
// is an error, as is a quotation without an end.
func scanQuery(sql string) (*queryText, error) {
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
	out  queryText
}

// step reads one token, a comment, or a character of no interest.
func (s *queryScanner) step() error {
	rest := s.src[s.pos:]
	c := rest[0]
	switch {
	case c <= ' ':
		s.pos++
		return nil
	case c == '#', rest == "--", strings.HasPrefix(rest, "--") && rest[2] <= ' ':
		s.skipTo("\n", 0)
		return nil
	case strings.HasPrefix(rest, "/*!"), strings.HasPrefix(rest, "/*M!"):
		return fmt.Errorf("a comment that some servers run (byte %d of the query): write it out",
			s.pos)
	case strings.HasPrefix(rest, "/*"):
		if !s.skipTo("*/", 2) {
			return s.unfinished("a comment")
		}
		return nil
	case s.end >= 0:
		return fmt.Errorf("a query is one statement, a SELECT: there is more after the semicolon")
	case c == ';':
		s.end = s.pos
		s.pos++
		return nil
	case c == '\'' || c == '"':
		return s.text(c)
	case c == '`':
		return s.name()
	case c == '?' || c == '@':
		return fmt.Errorf("%c at byte %d of the query: a parameter is written :key, and there are"+
			" no variables", c, s.pos)
	case c == ':':
		return s.parameter()
	}
	s.token(rest)
	return nil
}

// token reads a word or a mark.
func (s *queryScanner) token(rest string) {
	n := 1
	if isNameByte(rest[0]) {
		for n < len(rest) && isNameByte(rest[n]) {
			n++
		}
	}
	s.out.tokens = append(s.out.tokens, token{text: rest[:n]})
	s.pos += n
}

// skipTo moves behind the next end after so many bytes, or to the query's.
func (s *queryScanner) skipTo(end string, after int) bool {
	i := strings.Index(s.src[s.pos+after:], end)
	if i < 0 {
		s.pos = len(s.src)
		return false
	}
	s.pos += after + i + len(end)
	return true
}

// text skips what stands between two quotes; two within are one, and a
// backslash escapes.
func (s *queryScanner) text(mark byte) error {
	for i := s.pos + 1; i < len(s.src); i++ {
		switch {
		case s.src[i] == '\\':
			i++
		case s.src[i] == mark && i+1 < len(s.src) && s.src[i+1] == mark:
			i++
		case s.src[i] == mark:
			s.pos = i + 1
			s.out.tokens = append(s.out.tokens, token{text: "'"})
			return nil
		}
	}
	return s.unfinished("a text")
}

// name reads a name in backquotes; two within are one.
func (s *queryScanner) name() error {
	for i := s.pos + 1; i < len(s.src); i++ {
		switch {
		case s.src[i] == '`' && i+1 < len(s.src) && s.src[i+1] == '`':
			i++
		case s.src[i] == '`':
			text := strings.ReplaceAll(s.src[s.pos+1:i], "``", "`")
			s.out.tokens = append(s.out.tokens, token{text: text, quoted: true})
			s.pos = i + 1
			return nil
		}
	}
	return s.unfinished("a name")
}

// parameter reads a :name.
func (s *queryScanner) parameter() error {
	n := s.pos + 1
	if n == len(s.src) || !isNameByte(s.src[n]) || s.src[n] >= '0' && s.src[n] <= '9' {
		return fmt.Errorf("a colon without a name at byte %d of the query", s.pos)
	}
	end := n
	for end < len(s.src) && isNameByte(s.src[end]) {
		end++
	}
	s.out.Texts = append(s.out.Texts, s.src[s.from:s.pos])
	s.out.Params = append(s.out.Params, s.src[n:end])
	s.out.tokens = append(s.out.tokens, token{text: ":"})
	s.pos, s.from = end, end
	return nil
}

// unfinished returns the error of what has no end.
func (s *queryScanner) unfinished(what string) error {
	return fmt.Errorf("%s has no end (byte %d of the query)", what, s.pos)
}

// isNameByte reports whether c can be part of a name without quotes.
func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '_' || c == '$' || c >= utf8.RuneSelf
}
