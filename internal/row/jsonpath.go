package row

import (
	"encoding/json"
	"strings"
)

// JSONText returns a value as a JSON text; "" is no value.
func JSONText(v Value) string {
	switch v.kind {
	case Null:
		return ""
	case JSON:
		return v.text
	}
	return string(appendJSONValue(nil, &Field{}, &v))
}

// JSONMember returns the member of an object called name, the last one of that name; "" if
// doc, a valid JSON text or "", is no object or has none.
func JSONMember(doc, name string) (value string) {
	s := stripper{doc: []byte(doc)}
	if s.next() != '{' {
		return ""
	}
	s.each('}', func() {
		if isNamed(s.text(), name) {
			s.next()
			s.at++ // the colon
			value = s.skip()
			return
		}
		s.next()
		s.at++
		s.skip()
	})
	return value
}

// JSONElement returns an element of an array, counted from its end if index is negative; "" if
// doc, a valid JSON text or "", is no array or has none.
func JSONElement(doc string, index int) (value string) {
	s := stripper{doc: []byte(doc)}
	if s.next() != '[' {
		return ""
	}
	var all []string
	s.each(']', func() { all = append(all, s.skip()) })
	if index < 0 {
		index += len(all)
	}
	if index < 0 || index >= len(all) {
		return ""
	}
	return all[index]
}

// each calls do at each element of the group that begins here.
func (s *stripper) each(end byte, do func()) {
	for s.at++; s.next() != end && s.at < len(s.doc); {
		if s.doc[s.at] == ',' {
			s.at++
			continue
		}
		do()
	}
}

// skip returns the value that begins here, as it is written.
func (s *stripper) skip() string {
	s.next()
	from := s.at
	s.value(nil)
	return string(s.doc[from:s.at])
}

// isNamed reports whether a JSON string is name.
func isNamed(text []byte, name string) bool {
	var got string
	if !strings.Contains(string(text), `\`) {
		return string(text) == `"`+name+`"`
	}
	return json.Unmarshal(text, &got) == nil && got == name
}

// JSONValue returns a JSON text as a value; "" is Null.
func JSONValue(text string) Value {
	if text == "" {
		return Value{}
	}
	return TextValue(JSON, text)
}

// JSONPlain returns what a JSON text means as a text: a string without its quotes, Null for
// null and "".
func JSONPlain(text string) Value {
	if text == "" || text == "null" {
		return Value{}
	}
	if text[0] == '"' {
		var plain string
		if json.Unmarshal([]byte(text), &plain) == nil {
			text = plain
		}
	}
	return TextValue(Text, text)
}
