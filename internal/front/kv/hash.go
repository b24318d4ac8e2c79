package kv

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	"github.com/hotrow/hotrow/internal/row"
)

// A Field is one member of a document as a field of a hash. Both alias the document, or
// have memory of their own.
type Field struct {
	Name, Value []byte
}

// Fields appends the members of a document that have a value, in their order, to list:
// texts without their quotes, bytes as they are, all else as it stands in JSON.
func (f *Found) Fields(list []Field) []Field {
	if f.Doc == nil {
		return list
	}
	return fieldsOf(f.Doc, f.Res.Shape(), list)
}

// fieldsOf is Fields of a document of a shape; nil: it is not known.
func fieldsOf(doc *row.Document, shape *row.Shape, list []Field) []Field {
	for rest := bytes.TrimPrefix(doc.Body(), []byte{'{'}); len(rest) > 0 && rest[0] == '"'; {
		name, n := member(rest)
		if n >= len(rest) {
			break
		}
		rest = rest[n+1:] // behind the colon
		n = valueEnd(rest)
		if raw := rest[:n]; string(raw) != "null" {
			plain := text(name)
			list = append(list, Field{Name: plain, Value: valueOf(shape, plain, raw)})
		}
		rest = bytes.TrimPrefix(rest[n:], []byte{','})
	}
	return list
}

// FieldNames returns the names of the members with a value of a document in JSON, which may
// be nil.
func FieldNames(doc *row.Document) map[string]bool {
	if doc == nil || doc.Absent() {
		return nil
	}
	names := make(map[string]bool)
	for _, f := range fieldsOf(doc, nil, nil) {
		names[string(f.Name)] = true
	}
	return names
}

// member returns the text in quotes at the front of b, quotes and all.
func member(b []byte) ([]byte, int) {
	n := stringEnd(b)
	return b[:n], n
}

// stringEnd returns where the text in quotes at the front of b ends.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// valueEnd returns where the JSON value at the front of b ends. b is valid: it is of our
// own encoder, or a column of type JSON.
func valueEnd(b []byte) int {
	for i, depth := 0, 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i += stringEnd(b[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return len(b)
}

// text returns what stands in quotes.
func text(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return inner
	}
	return []byte(s)
}

// valueOf returns a member's value as the value of a field. A JSON string in a column that
// may hold any JSON value keeps its quotes: without them "1" and 1 were the same.
func valueOf(shape *row.Shape, name, raw []byte) []byte {
	if raw[0] != '"' {
		return raw
	}
	switch kindOf(shape, name) {
	case row.JSON:
		return raw
	case row.Bytes:
		if b, err := base64.StdEncoding.AppendDecode([]byte{}, text(raw)); err == nil {
			return b
		}
	}
	return text(raw)
}
