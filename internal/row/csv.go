package row

import "strings"

// AppendCSVHead appends the names of the members, with commas between them, as PostgREST does.
func (s *Shape) AppendCSVHead(dst []byte) []byte {
	for i := range s.Fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, s.Fields[i].Name...)
	}
	return dst
}

// AppendCSV appends the values of one row as PostgreSQL writes a composite value, without its
// parentheses: null is nothing, and what could be misread is in double quotes. A truth value is
// t or f, an array one of PostgreSQL; all else has the text that it has in a JSON document,
// without the quotes.
func (s *Shape) AppendCSV(dst []byte, v Values) []byte {
	for i := range s.Fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		if i < len(v) && v[i].kind != Null {
			text := string(s.Fields[i].appendText(nil, &v[i]))
			dst = appendCSVText(dst, text)
		}
	}
	return dst
}

// appendCSVText appends one value, in quotes where it needs them.
func appendCSVText(dst []byte, text string) []byte {
	if text != "" && !strings.ContainsAny(text, "\"\\(), \t\n\r\v\f") {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for i := range len(text) {
		if c := text[i]; c == '"' || c == '\\' {
			dst = append(dst, c)
		}
		dst = append(dst, text[i])
	}
	return append(dst, '"')
}

// appendText appends a value of f as PostgreSQL writes it as a text.
func (f *Field) appendText(dst []byte, v *Value) []byte {
	switch v.kind {
	case Bool:
		if v.num != 0 {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case Text, Time, DatetimeTZ, UUID:
		return append(dst, v.text...)
	case Date, Datetime:
		return append(append(dst, v.text...), zoneOf(f, v)...)
	case Array:
		return f.appendArrayText(dst, v.List())
	}
	from := len(dst)
	dst = appendJSONValue(dst, f, v)
	if v.kind != JSON && dst[from] == '"' { // base64, or no number, such as NaN
		return append(dst[:from], dst[from+1:len(dst)-1]...)
	}
	return dst
}

// appendArrayText appends the text of an array.
func (f *Field) appendArrayText(dst []byte, list []Value) []byte {
	dst = append(dst, '{')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch v := &list[i]; v.kind {
		case Null:
			dst = append(dst, "NULL"...)
		case Array:
			dst = f.appendArrayText(dst, v.List())
		default:
			dst = appendElementText(dst, string(f.appendText(nil, v)))
		}
	}
	return append(dst, '}')
}

// appendElementText appends an element of an array's text, in quotes where it needs them.
func appendElementText(dst []byte, text string) []byte {
	if text != "" && !strings.ContainsAny(text, "{}\"\\, \t\n\r\v\f") &&
		!strings.EqualFold(text, "null") {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for i := range len(text) {
		if c := text[i]; c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, text[i])
	}
	return append(dst, '"')
}
