package query

import (
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// casts are the types that a member can be cast to, by their names without blanks.
var casts = map[string]row.Cast{
	"text": row.CastText, "varchar": row.CastText, "charactervarying": row.CastText,
	"int2": row.CastInt2, "smallint": row.CastInt2, "int": row.CastInt4, "int4": row.CastInt4,
	"integer": row.CastInt4, "int8": row.CastInt8, "bigint": row.CastInt8,
	"float8": row.CastFloat, "float": row.CastFloat, "doubleprecision": row.CastFloat,
	"numeric": row.CastDecimal, "decimal": row.CastDecimal, "bool": row.CastBool,
	"boolean": row.CastBool, "date": row.CastDate, "json": row.CastJSON, "jsonb": row.CastJSON,
}

// cutCast reads ::type, which s may begin with.
func cutCast(s string) (cast row.Cast, rest string, err error) {
	s, ok := strings.CutPrefix(s, "::")
	if !ok {
		return row.CastNone, s, nil
	}
	name, rest, err := cutName(s)
	if err != nil {
		return 0, "", err
	}
	cast, ok = casts[strings.ToLower(strings.ReplaceAll(name, " ", ""))]
	if !ok {
		return 0, "", syntax("a cast to "+clip(name)+" is not offered", "text, int2, int4, int8, "+
			"float8, numeric, bool, date and json are")
	}
	return cast, rest, nil
}

// Made reports whether the member is made of its column's value.
func (m *Member) Made() bool { return m.Path != "" || m.Cast != row.CastNone }

// Field returns the member as one of documents, in which its column is f.
func (m *Member) Field(f row.Field) row.Field {
	f.Name = m.Name
	if m.Path != "" {
		f = row.Field{Name: m.Name, Column: f.Column, Kind: row.JSON}
		if m.Path.IsText() {
			f.Kind = row.Text
		}
	}
	if m.Cast != row.CastNone {
		f = row.Field{Name: m.Name, Column: f.Column, Kind: m.Cast.Kind()}
	}
	return f
}

// Make returns the member's value, made of its column's. The error is that of a value which
// the type of the cast does not have.
func (m *Member) Make(v row.Value) (row.Value, error) {
	if m.Path != "" {
		text := row.JSONText(v)
		for _, s := range m.Path.Steps() {
			if s.IsIndex {
				text = row.JSONElement(text, s.Index)
			} else {
				text = row.JSONMember(text, s.Key)
			}
		}
		if v = row.JSONValue(text); m.Path.IsText() {
			v = row.JSONPlain(text)
		}
	}
	made, err := m.Cast.Of(v)
	if err != nil {
		code := CodeOperand
		if err == row.ErrCastRange {
			code = "22003"
		}
		return row.Value{}, &Error{Code: code, Message: clip(m.Name) + ": " + err.Error() +
			" (::" + m.Cast.String() + ")"}
	}
	return made, nil
}

// castText returns the canonical text of a path and a cast behind a column.
func (m *Member) castText() string {
	text := escape(string(m.Path))
	if m.Cast != row.CastNone {
		text += "::" + m.Cast.String()
	}
	return text
}

// noCast says why a value of a kind cannot be cast; "" if it may be.
func (m *Member) noCast(c *Column) error {
	from := c.Part.Kind
	switch {
	case m.Path.IsText():
		from = row.Text
	case m.Path != "":
		from = row.JSON
	case c.Bool:
		from = row.Bool
	case c.JSON:
		from = row.JSON
	}
	if m.Cast.Takes(from) {
		return nil
	}
	return syntax("a cast of "+clip(c.Member)+" to "+m.Cast.String()+" is not offered",
		"numbers are cast to numbers, texts, truth values; texts to numbers, truth values, "+
			"JSON; times to dates; all to text")
}
