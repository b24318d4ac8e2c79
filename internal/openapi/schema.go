package openapi

import (
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// schemaName returns the name of a resource's schema: that of a component has none but letters,
// digits and "._-", and names of tables may be anything. Two stay two.
func schemaName(resource string) string { return escaped(resource, ".-") }

// operationName is schemaName for what programs make names of functions of.
func operationName(resource string) string { return escaped(resource, "") }

// escaped writes each byte of name that is no letter or digit, nor one of more, as _ and its two
// hexadecimal digits; "_" stays, unless such digits follow it.
func escaped(name, more string) string {
	const digits = "0123456789ABCDEF"
	isDigit := func(at int) bool {
		return at < len(name) && strings.IndexByte(digits, name[at]) >= 0
	}
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_' && !(isDigit(i+1) && isDigit(i+2)),
			c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z',
			strings.IndexByte(more, c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'_', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// isNullable reports whether a member may be null.
func isNullable(f *row.Field) bool { return f.Kind != row.Rows && !f.Key && !f.NotNull }

// rowSchema describes a document.
func rowSchema(shape *row.Shape) object {
	properties, required := object{}, []string{}
	for i := range shape.Fields {
		f := &shape.Fields[i]
		if _, again := properties[f.Name]; again {
			continue
		}
		properties[f.Name] = valueSchema(f, isNullable(f), rowSchema)
		if !f.OmitNull || !isNullable(f) {
			required = append(required, f.Name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required}
}

// A use is what a body is sent for.
type use uint8

const (
	create  use = iota // a new document, of which the body may have the key
	replace            // a whole document, whose key is in the path
	update             // members that change
)

// uses are the names of the schemas of bodies, behind that of the resource.
var uses = [...]string{create: ".insert", replace: ".replace", update: ".update"}

// bodySchema describes what a client sends.
func bodySchema(shape *row.Shape, purpose use) object {
	properties, required := object{}, []string{}
	for i := range shape.Fields {
		f := &shape.Fields[i]
		if _, again := properties[f.Name]; again || f.Generated || f.Parent ||
			f.Key && purpose != create {
			continue
		}
		properties[f.Name] = sentSchema(f)
		if purpose != update && !isOptional(f) {
			required = append(required, f.Name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required,
		"additionalProperties": false}
}

// sentSchema describes the value of a member in a body. Null is no row at all, and has the
// database number a row.
func sentSchema(f *row.Field) object {
	sent := *f
	sent.RFC3339 = false // a day is enough
	nullable := isNullable(f) || f.Kind == row.Rows || f.Key && f.Default
	s := valueSchema(&sent, nullable && !f.Required, embeddedBody)
	if f.Kind == row.Text && f.MaxLen > 0 {
		s["maxLength"] = f.MaxLen
	}
	switch {
	case f.Key && f.Kind == row.Text:
		s["minLength"] = 1
	case f.Kind == row.Datetime:
		s["pattern"] = "^" + dayPattern + "T" + timePattern + "$"
	case f.Kind == row.Time:
		s["pattern"] = "^" + timePattern + "$"
	case (f.Kind == row.Int || f.Kind == row.Uint) && f.Bits > 0 && f.Bits < 64:
		s["minimum"], s["maximum"] = intRange(&row.KeyPart{Kind: f.Kind, Bits: f.Bits})
	}
	return s
}

// embeddedBody describes an embedded document that is sent.
func embeddedBody(shape *row.Shape) object { return bodySchema(shape, create) }

// isOptional reports whether a new document may leave a member out.
func isOptional(f *row.Field) bool {
	return !f.Required && (!f.NotNull || f.Default || f.Generated) && (!f.Key || f.Default)
}

// valueSchema describes a value of JSON. embedded describes documents within it.
func valueSchema(f *row.Field, nullable bool, embedded func(*row.Shape) object) object {
	s := kindSchema(f, f.Kind, embedded)
	kind, ok := s["type"].(string)
	if nullable && ok {
		s["type"] = []string{kind, "null"}
	}
	return s
}

// kindSchema describes the values of a kind. SQLite and MySQL may hold others than a column says:
// these are not described.
func kindSchema(f *row.Field, kind row.Kind, embedded func(*row.Shape) object) object {
	switch kind {
	case row.Bool:
		return object{"type": "boolean"}
	case row.Int:
		return object{"type": "integer", "format": "int64"}
	case row.Uint:
		return object{"type": "integer", "format": "int64", "minimum": 0}
	case row.Float, row.Float32, row.Decimal:
		return object{"type": "number"}
	case row.Text:
		return object{"type": "string"}
	case row.Bytes:
		return object{"type": "string", "contentEncoding": "base64"}
	case row.UUID:
		return object{"type": "string", "format": "uuid"}
	case row.Date:
		if f.RFC3339 {
			return object{"type": "string", "format": "date-time"}
		}
		return object{"type": "string", "format": "date"}
	case row.DatetimeTZ:
		return object{"type": "string", "format": "date-time"}
	case row.Datetime, row.Time: // without an offset, which no format has
		return object{"type": "string"}
	case row.Array:
		items := object{}
		if f.Elem != row.Null {
			items = kindSchema(f, f.Elem, embedded)
		}
		return object{"type": "array", "items": items}
	case row.Rows:
		return object{"type": "array", "items": embedded(f.Shape)}
	case row.Row:
		return embedded(f.Shape)
	}
	return object{} // JSON, and what nobody knows
}
