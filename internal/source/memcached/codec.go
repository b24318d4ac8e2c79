package memcached

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// defaultSeparator divides the parts of a value: that of MySQL's memcached
// plugin.
const defaultSeparator = "|"

// wholeValue is the member that holds a value that has no parts.
const wholeValue = "value"

// A codec turns a value of the server into the values of a row, and back.
type codec struct {
	format    source.ValueFormat
	separator string
	object    bool // of ValueJSON: the members are those of an object
	shape     *row.Shape
}

// newCodec checks what the configuration says of values.
func newCodec(v *source.ValueSpec) (codec, error) {
	c := codec{format: v.Format, separator: v.Separator}
	kind := row.Text
	switch v.Format {
	case source.ValueFields:
		if len(v.Fields) == 0 {
			return c, errors.New("the format fields needs fields: the members in order")
		}
		if c.separator == "" {
			c.separator = defaultSeparator
		}
	case source.ValueJSON:
		kind, c.object = row.JSON, len(v.Fields) > 0
	case source.ValueRaw:
	case source.ValueBytes:
		kind = row.Bytes
	default:
		return c, fmt.Errorf("there is no format %q for values: want fields, json, raw or bytes",
			v.Format)
	}
	names := v.Fields
	if len(names) == 0 {
		names = []string{wholeValue}
	}
	if len(names) > 1 && (v.Format == source.ValueRaw || v.Format == source.ValueBytes) {
		return c, fmt.Errorf("the format %s has one member, not %d", v.Format, len(names))
	}
	fields := make([]row.Field, len(names))
	for i, n := range names {
		if n == "" || slices.Contains(names[:i], n) {
			return c, fmt.Errorf("the member %q is there twice, or has no name", n)
		}
		fields[i] = row.Field{Name: n, Column: n, Kind: kind}
	}
	c.shape = row.NewShape(fields)
	return c, nil
}

// decode returns what a value says. Of parts there may be fewer than members,
// then the last ones are null; of more, the last member has the rest. A part
// that is empty is an empty text. A value that is not of its format is an error
// and not "no document": somebody has stored it.
func (c *codec) decode(value []byte) (row.Values, error) {
	switch c.format {
	case source.ValueFields:
		values := make(row.Values, len(c.shape.Fields))
		for i, part := range c.split(string(value)) {
			values[i] = row.TextValue(row.Text, validText(part))
		}
		return values, nil
	case source.ValueJSON:
		return c.decodeJSON(value)
	case source.ValueBytes:
		return row.Values{row.TextValue(row.Bytes, string(value))}, nil
	}
	return row.Values{row.TextValue(row.Text, validText(string(value)))}, nil
}

// split returns the parts of a value, no more than there are members.
func (c *codec) split(value string) []string {
	return strings.SplitN(value, c.separator, len(c.shape.Fields))
}

// validText returns s with U+FFFD for bytes that are not UTF-8, as a text of the
// other databases is given: no document can hold them.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// encode returns the value that makes a document what in says. before is the
// value as it is, whose members stay where in is silent; nil for a new document.
func (c *codec) encode(before []byte, in *row.Input) ([]byte, error) {
	switch {
	case c.format == source.ValueFields:
		return c.join(before, in)
	case c.object:
		return c.encodeObject(before, in)
	case !in.Present[0] && before != nil:
		return before, nil
	case !in.Present[0] || in.Values[0].IsNull():
		return nil, invalid(c.shape.Fields[0].Name + " is required")
	}
	return []byte(in.Values[0].Text()), nil
}

// join writes the parts. Those that in does not name stay as they were, byte for
// byte. Null is an empty part; at the end it is none.
func (c *codec) join(before []byte, in *row.Input) ([]byte, error) {
	fields := c.shape.Fields
	parts := make([]string, len(fields))
	known := 0 // parts up to the last one that is not null
	if before != nil {
		known = copy(parts, c.split(string(before)))
	}
	for i := range fields {
		if !in.Present[i] {
			continue
		}
		parts[i] = in.Values[i].Text()
		if !in.Values[i].IsNull() {
			known = max(known, i+1)
		} else if i == known-1 {
			known = i
		}
	}
	value := strings.Join(parts[:known], c.separator)
	// A separator within a part, or one that two parts make where they meet,
	// would come back as other members.
	again := c.split(value)
	for i := range fields {
		if i < len(again) && again[i] == parts[i] || i >= len(again) && parts[i] == "" {
			continue
		}
		return nil, invalid(fmt.Sprintf("%s: no member but the last can have the separator %q "+
			"in it", fields[i].Name, c.separator))
	}
	return []byte(value), nil
}
