package kv

import (
	"encoding/base64"
	"encoding/json"

	"github.com/hotrow/hotrow/internal/row"
)

// AppendMembers appends fields as a document in JSON: each text is read by the type of its
// column, so that what Fields has returned is the same value again. A field with a Value of
// nil is null. Of fields with one name the last counts. What no column of the type can have
// stays a text, for the decoder of bodies to refuse by its member. Where a text would be
// taken, as JSON, the error is a *row.DecodeError.
func AppendMembers(dst []byte, shape *row.Shape, fields []Field) ([]byte, error) {
	last := make(map[string]int, len(fields))
	for i := range fields {
		last[string(fields[i].Name)] = i
	}
	dst = append(dst, '{')
	for i := range fields {
		f := &fields[i]
		if last[string(f.Name)] != i {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, f.Name), ':')
		kind := kindOf(shape, f.Name)
		if f.Value != nil && (kind == row.JSON || kind == row.Rows) && !json.Valid(f.Value) {
			return nil, &row.DecodeError{Offset: -1, Path: string(f.Name),
				Message: "not JSON, in which a text stands in quotes"}
		}
		dst = appendMember(dst, kind, f.Value)
	}
	return append(dst, '}'), nil
}

// kindOf returns what the column of a member holds; Null: it is not known.
func kindOf(shape *row.Shape, name []byte) row.Kind {
	if i := IndexOf(shape, name); i >= 0 {
		return shape.Fields[i].Kind
	}
	return row.Null
}

// IndexOf returns the place of a member among the fields of a shape, -1 if it has none.
// shape may be nil.
func IndexOf(shape *row.Shape, name []byte) int {
	if shape != nil {
		for i := range shape.Fields {
			if shape.Fields[i].Name == string(name) {
				return i
			}
		}
	}
	return -1
}

// appendMember appends one value.
func appendMember(dst []byte, kind row.Kind, value []byte) []byte {
	if value == nil {
		return append(dst, "null"...)
	}
	switch kind {
	case row.Bytes:
		dst = append(dst, '"')
		return append(base64.StdEncoding.AppendEncode(dst, value), '"')
	case row.Bool:
		switch string(value) {
		case "1":
			return append(dst, "true"...)
		case "0":
			return append(dst, "false"...)
		case "true", "false":
			return append(dst, value...)
		}
	case row.Int, row.Uint, row.Float, row.Float32, row.Decimal:
		if len(value) > 0 && (value[0] == '-' || value[0] >= '0' && value[0] <= '9') &&
			json.Valid(value) {
			return append(dst, value...)
		}
	case row.JSON, row.Array, row.Rows, row.Null:
		if json.Valid(value) {
			return append(dst, value...)
		}
	}
	return appendQuoted(dst, value)
}

// appendQuoted appends a text as a JSON string. What is not valid UTF-8 stays so: the
// decoder says where.
func appendQuoted(dst, text []byte) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
