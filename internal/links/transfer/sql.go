package transfer

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// readSQL reads the INSERT statements for YOURLS's table of links (its name ends
// in _url, whatever the prefix) from what mysqldump and phpMyAdmin write.
func readSQL(in *bufio.Reader, yield func(Link, error) bool) {
	s := &statements{lex: lexer{in: in, line: 1}}
	unknown := make(strangers)
	s.columns = func(table string) []string {
		if strings.HasSuffix(strings.ToLower(table), "_url") {
			return yourlsColumns
		}
		return nil
	}
	s.row = func(line int, columns, values []string) error {
		if !yield(yourlsLink(line, columns, values, unknown)) {
			return errStop
		}
		return nil
	}
	err := s.read()
	if err == errStop {
		return
	}
	if err != nil {
		yield(Link{}, fmt.Errorf("read the dump at line %d: %w", s.lex.line, err))
		return
	}
	if s.rows == 0 {
		yield(Link{}, errors.New("no INSERT INTO a table whose name ends in _url: "+
			"this is not a dump of YOURLS's links"))
	}
}

// errStop says that nobody wants more links.
var errStop = errors.New("enough")

// statements reads a dump.
type statements struct {
	lex  lexer
	rows int // given to row

	// columns returns the columns of a table in their order, nil for one that is
	// left out; row takes one row, the columns as the statement names them if it
	// does.
	columns func(table string) []string
	row     func(line int, columns, values []string) error
}

// read looks for INSERT INTO and skips what is between.
func (s *statements) read() error {
	for {
		t, err := s.lex.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if !t.is("INSERT") {
			continue
		}
		if err := s.insert(); err != nil {
			return err
		}
	}
}

// insert reads INTO `yourls_url` (`keyword`, ...) VALUES (...), (...);
func (s *statements) insert() error {
	var t token
	var err error
	for t.is("") || t.is("INTO") || t.is("IGNORE") {
		if t, err = s.lex.next(); err != nil {
			return unexpectedEnd(err)
		}
	}
	columns := s.columns(t.text)
	if columns == nil {
		return nil
	}
	for !t.is("VALUES") {
		if t, err = s.lex.next(); err != nil {
			return unexpectedEnd(err)
		}
		if t.kind == '(' {
			if columns, err = s.tuple(); err != nil {
				return err
			}
		}
		if t.kind == ';' {
			return nil // INSERT ... SELECT, which has no rows
		}
	}
	for {
		if t, err = s.lex.next(); err != nil {
			return unexpectedEnd(err)
		}
		switch t.kind {
		case '(':
			line := s.lex.line
			values, err := s.tuple()
			if err != nil {
				return err
			}
			s.rows++
			if err := s.row(line, columns, values); err != nil {
				return err
			}
		case ';':
			return nil
		}
	}
}

// yourlsLink reads a row of YOURLS's table.
func yourlsLink(line int, columns, values []string, unknown strangers) (Link, error) {
	f := fields{line: line, format: YOURLS, of: map[string]string{}, unknown: unknown}
	for i, v := range values {
		if i < len(columns) {
			f.put(columns[i], v)
		}
	}
	return f.link()
}

// maxValues bounds a tuple: YOURLS's table has six columns, plugins add some.
const maxValues = 64

// tuple reads the values up to the closing parenthesis.
func (s *statements) tuple() ([]string, error) {
	var values []string
	for {
		t, err := s.lex.next()
		if err != nil {
			return nil, unexpectedEnd(err)
		}
		switch t.kind {
		case ')':
			return values, nil
		case ',':
		case 'w':
			if t.is("NULL") {
				t.text = ""
			}
			if strings.HasPrefix(t.text, "_") { // _binary 'x'
				continue
			}
			fallthrough
		case '\'':
			values = append(values, t.text)
		}
		if len(values) > maxValues {
			return nil, errors.New("a row has too many values")
		}
	}
}

// unexpectedEnd makes the end of the file within a statement an error.
func unexpectedEnd(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// A token is a piece of SQL.
type token struct {
	kind byte // 'w' a word, name or number; '\'' a text; else the character itself
	text string
}

// is reports whether t is a word, or no token at all for "".
func (t token) is(word string) bool {
	if word == "" {
		return t.kind == 0
	}
	return t.kind == 'w' && strings.EqualFold(t.text, word)
}

// A lexer takes SQL as MySQL writes it to pieces.
type lexer struct {
	in   *bufio.Reader
	line int
}

// maxText bounds a text of a dump.
const maxText = 1 << 20

// next returns the next token, or io.EOF.
func (l *lexer) next() (token, error) {
	for {
		c, err := l.byte()
		if err != nil {
			return token{}, err
		}
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case c == '#', c == '-' && l.peek() == '-':
			if err := l.skipTo("\n"); err != nil {
				return token{}, err
			}
		case c == '/' && l.peek() == '*':
			if err := l.skipTo("*/"); err != nil {
				return token{}, err
			}
		case c == '\'' || c == '"':
			text, err := l.quoted(c)
			return token{'\'', text}, err
		case c == '`':
			text, err := l.quoted(c)
			return token{'w', text}, err
		case isWord(c):
			return l.word(c)
		default:
			return token{kind: c}, nil
		}
	}
}

// byte reads one byte and counts lines.
func (l *lexer) byte() (byte, error) {
	c, err := l.in.ReadByte()
	if c == '\n' && err == nil {
		l.line++
	}
	return c, err
}

// peek returns the next byte, or 0 at the end.
func (l *lexer) peek() byte {
	next, err := l.in.Peek(1)
	if err != nil {
		return 0
	}
	return next[0]
}

// skipTo skips up to an end of one or two bytes.
func (l *lexer) skipTo(end string) error {
	var before byte
	for {
		c, err := l.byte()
		if err != nil {
			return err
		}
		if c == end[len(end)-1] && (len(end) == 1 || before == end[0]) {
			return nil
		}
		before = c
	}
}

// quoted reads a text up to its quote, which is doubled or escaped within.
func (l *lexer) quoted(quote byte) (string, error) {
	var text []byte
	for len(text) <= maxText {
		c, err := l.byte()
		if err != nil {
			return "", unexpectedEnd(err)
		}
		switch {
		case c == quote && l.peek() == quote:
			_, _ = l.byte()
		case c == quote:
			return string(text), nil
		case c == '\\' && quote != '`':
			if c, err = l.byte(); err != nil {
				return "", unexpectedEnd(err)
			}
			c = unescape(c)
		}
		text = append(text, c)
	}
	return "", errors.New("a text has no end")
}

// unescape returns what a backslash and c stand for (MySQL 8.0 manual, 11.1.1).
func unescape(c byte) byte {
	switch c {
	case '0':
		return 0
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'Z':
		return 0x1a
	}
	return c
}

// word reads a word or a number; 0x61 is the text "a", as mysqldump --hex-blob
// and graphical programs write it.
func (l *lexer) word(c byte) (token, error) {
	text := []byte{c}
	for isWord(l.peek()) && len(text) <= maxText {
		c, err := l.byte()
		if err != nil {
			return token{}, err
		}
		text = append(text, c)
	}
	if digits, ok := strings.CutPrefix(string(text), "0x"); ok {
		if raw, err := hex.DecodeString(digits); err == nil {
			return token{'\'', string(raw)}, nil
		}
	}
	return token{'w', string(text)}, nil
}

// isWord reports whether a byte is one of a word or a number.
func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' ||
		c == '_' || c == '.' || c == '-' || c >= 0x80
}
