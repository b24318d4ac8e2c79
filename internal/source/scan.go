package source

import (
	"fmt"
	"strings"
)

// A QueryScanner reads the text of one SELECT from Pos on, and cuts it where its parameters
// are.
type QueryScanner struct {
	Src string
	Pos int

	from int // where the text before the next parameter begins
	end  int // of the query, when a semicolon ended it; else -1
	out  Template
}

// ScanQuery finds the parameters, :name, of one SELECT. A semicolon at the end is dropped; one
// elsewhere is an error. comment passes the comment that may begin at Pos, and reports whether
// there is one. token passes anything else by the database's rules: one token, or one character
// of no interest.
func ScanQuery(
	sql string, comment func(*QueryScanner) (bool, error), token func(*QueryScanner) error,
) (Template, error) {
	s := &QueryScanner{Src: strings.TrimSpace(sql), end: -1}
	for s.Pos < len(s.Src) {
		c := s.Src[s.Pos]
		switch passed, err := comment(s); {
		case err != nil:
			return s.out, err
		case passed:
		case c <= ' ':
			s.Pos++
		case s.end >= 0:
			return s.out, fmt.Errorf("a query is one statement, a SELECT: there is more after" +
				" the semicolon")
		case c == ';':
			s.end = s.Pos
			s.Pos++
		default:
			if err := token(s); err != nil {
				return s.out, err
			}
		}
	}
	end := len(s.Src)
	if s.end >= 0 {
		end = s.end
	}
	s.out.Texts = append(s.out.Texts, s.Src[s.from:end])
	return s.out, nil
}

// Rest is what is not read yet.
func (s *QueryScanner) Rest() string { return s.Src[s.Pos:] }

// Line passes the rest of the line.
func (s *QueryScanner) Line() {
	n := strings.IndexByte(s.Rest(), '\n')
	if n < 0 {
		n = len(s.Rest())
	}
	s.Pos += n
}

// Quoted passes what stands between two marks, and returns it; two marks within are one. With
// backslash that escapes what follows it. what names it in the error of one without an end.
func (s *QueryScanner) Quoted(mark byte, backslash bool, what string) (string, error) {
	begin := s.Pos + 1
	for i := begin; i < len(s.Src); i++ {
		switch {
		case backslash && s.Src[i] == '\\':
			i++
		case s.Src[i] == mark && i+1 < len(s.Src) && s.Src[i+1] == mark:
			i++
		case s.Src[i] == mark:
			s.Pos = i + 1
			return s.Src[begin:i], nil
		}
	}
	return "", s.Unfinished(what)
}

// Parameter passes a :name, whose bytes are those that named reports, and reports whether there
// is one: no name begins with a digit.
func (s *QueryScanner) Parameter(named func(byte) bool) bool {
	begin := s.Pos + 1
	end := begin
	for end < len(s.Src) && named(s.Src[end]) {
		end++
	}
	if end == begin || s.Src[begin] >= '0' && s.Src[begin] <= '9' {
		return false
	}
	s.out.Texts = append(s.out.Texts, s.Src[s.from:s.Pos])
	s.out.Params = append(s.out.Params, s.Src[begin:end])
	s.Pos, s.from = end, end
	return true
}

// Unfinished returns the error of what has no end.
func (s *QueryScanner) Unfinished(what string) error {
	return fmt.Errorf("%s has no end (byte %d of the query)", what, s.Pos)
}
