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
// quoted or a comment has none.
func scanQuery(sql string) (*queryText, error) {
	q := &queryText{}
	t, err := source.ScanQuery(sql, passComment, func(s *source.QueryScanner) error {
		t, err := readToken(s)
		q.tokens = append(q.tokens, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	q.Template = t
	return q, nil
}

// passComment passes a comment. One that some servers run is an error.
func passComment(s *source.QueryScanner) (bool, error) {
	switch rest := s.Rest(); {
	case rest[0] == '#', rest == "--", strings.HasPrefix(rest, "--") && rest[2] <= ' ':
		s.Line()
	case strings.HasPrefix(rest, "/*!"), strings.HasPrefix(rest, "/*M!"):
		return true, fmt.Errorf("a comment that some servers run (byte %d of the query): write it"+
			" out", s.Pos)
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			return true, s.Unfinished("a comment")
		}
		s.Pos += 2 + end + 2
	default:
		return false, nil
	}
	return true, nil
}

// readToken reads one token.
func readToken(s *source.QueryScanner) (token, error) {
	rest := s.Rest()
	switch c := rest[0]; c {
	case '\'', '"':
		_, err := s.Quoted(c, true, "a text")
		return token{text: "'"}, err
	case '`':
		name, err := s.Quoted(c, false, "a name")
		return token{text: strings.ReplaceAll(name, "``", "`"), quoted: true}, err
	case '?', '@':
		return token{}, fmt.Errorf("%c at byte %d of the query: a parameter is written :key, and"+
			" there are no variables", c, s.Pos)
	case ':':
		if !s.Parameter(isNameByte) {
			return token{}, fmt.Errorf("a colon without a name at byte %d of the query", s.Pos)
		}
		return token{text: ":"}, nil
	default:
		n := 1
		for isNameByte(c) && n < len(rest) && isNameByte(rest[n]) {
			n++
		}
		s.Pos += n
		return token{text: rest[:n]}, nil
	}
}

// isNameByte reports whether c can be part of a name without quotes.
func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '_' || c == '$' || c >= utf8.RuneSelf
}
