package row

import "bytes"

// AppendWithoutNulls appends a JSON text without the members of objects that are null, at any
// depth, and without white space. Nulls in arrays stay. doc must be one valid JSON text.
func AppendWithoutNulls(dst, doc []byte) []byte {
	s := stripper{doc: doc}
	return s.value(dst)
}

// A stripper goes through a JSON text that is known to be valid.
type stripper struct {
	doc []byte
	at  int
}

// next returns the byte at which the next token begins.
func (s *stripper) next() byte {
	for s.at < len(s.doc) && bytes.IndexByte([]byte(" \t\n\r"), s.doc[s.at]) >= 0 {
		s.at++
	}
	if s.at == len(s.doc) {
		return 0
	}
	return s.doc[s.at]
}

// value appends the value that begins here.
func (s *stripper) value(dst []byte) []byte {
	switch c := s.next(); c {
	case '{', '[':
		return s.group(dst, c)
	case '"':
		return append(dst, s.text()...)
	}
	from := s.at
	for s.at < len(s.doc) && bytes.IndexByte([]byte(" \t\n\r,]}"), s.doc[s.at]) < 0 {
		s.at++
	}
	return append(dst, s.doc[from:s.at]...)
}

// group appends an object or an array, which open begins.
func (s *stripper) group(dst []byte, open byte) []byte {
	end := open + 2 // '[' and ']', '{' and '}' are two apart
	dst = append(dst, open)
	first := true
	for s.at++; s.next() != end && s.at < len(s.doc); {
		if s.doc[s.at] == ',' {
			s.at++
			continue
		}
		from := len(dst)
		if !first {
			dst = append(dst, ',')
		}
		if open == '{' {
			dst = append(dst, s.text()...)
			s.next()
			s.at++ // the colon
			dst = append(dst, ':')
			if s.next() == 'n' {
				s.at += len("null")
				dst = dst[:from]
				continue
			}
		}
		dst, first = s.value(dst), false
	}
	s.at++
	return append(dst, end)
}

// text returns the string that begins here, with its quotes.
func (s *stripper) text() []byte {
	from := s.at
	for s.at++; s.at < len(s.doc) && s.doc[s.at] != '"'; s.at++ {
		if s.doc[s.at] == '\\' {
			s.at++
		}
	}
	s.at = min(s.at+1, len(s.doc))
	return s.doc[from:s.at]
}
