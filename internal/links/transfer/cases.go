package transfer

import "strings"

// A Survey tells whether the codes of a file need `case: exact`: shorteners with
// 62 letters take a1B and A1b for two codes, hotrow by default for one.
type Survey struct {
	Links   int // how many were added
	Capital int // how many codes have a capital letter

	// Clashes are codes that differ by nothing but case from an earlier one that
	// leads elsewhere, Twins those that are the very same.
	Clashes, Twins []Clash

	seen map[string]seen
}

// A Clash is an entry whose code an earlier one has.
type Clash struct {
	Line  int    `json:"line"`
	Code  string `json:"code"`
	Other int    `json:"other_line"`
}

// seen is what is remembered of a code.
type seen struct {
	line int
	code string
	url  string
}

// Add takes one more link into account.
func (s *Survey) Add(l *Link) {
	s.Links++
	if l.Code == "" {
		return
	}
	folded := strings.ToLower(l.Code)
	if folded != l.Code {
		s.Capital++
	}
	if s.seen == nil {
		s.seen = map[string]seen{}
	}
	before, taken := s.seen[folded]
	switch clash := (Clash{Line: l.Line, Code: l.Code, Other: before.line}); {
	case !taken:
		s.seen[folded] = seen{l.Line, l.Code, l.URL}
	case before.code == l.Code:
		s.Twins = append(s.Twins, clash)
	case before.url != l.URL:
		s.Clashes = append(s.Clashes, clash)
	}
}

// Earlier returns the line of the entry whose code differs from this one's by
// nothing but case, if it came before.
func (s *Survey) Earlier(l *Link) (line int, ok bool) {
	before, ok := s.seen[strings.ToLower(l.Code)]
	return before.line, ok && before.line < l.Line && before.code != l.Code
}
