// Package row holds the one value that travels through hotrow: a row as a
// source read it (Values), the plan that encodes it (Shape), and the encoded,
// immutable Document that tiers keep and fronts send.
//
// It knows no database, no protocol and no cache. Encoders are append-style:
// AppendJSON, AppendMsgPack and AppendCBOR write to the end of dst and return it.
package row

import "math"

// Kind says what a Value holds.
type Kind uint8

// The kinds of values. Every source maps its column types to one of these.
const (
	Null       Kind = iota
	Bool            // false, true
	Int             // a signed integer of 64 bits
	Uint            // an unsigned integer of 64 bits (MySQL's bigint unsigned)
	Float           // float64; NaN and the infinities are allowed
	Float32         // float32: encoded with the fewest digits that give it back
	Decimal         // an exact decimal as text: "-1.50", "NaN", "Infinity"
	Text            // valid UTF-8
	Bytes           // any bytes
	JSON            // one valid JSON text, passed through
	Date            // "2006-01-02" (RFC 3339 full-date)
	Time            // "15:04:05.999999", with or without an offset
	Datetime        // "2006-01-02T15:04:05.999999", no zone
	DatetimeTZ      // RFC 3339 in UTC: "2006-01-02T15:04:05.999999Z"
	UUID            // 36 characters, lower case
	Array           // a list of values
	Rows            // embedded documents, one Values each
	Row             // one embedded document
)

// A Value is one column of one row. The zero Value is Null. Values are made by
// a source, read by an encoder and then forgotten: they are not kept.
type Value struct {
	kind Kind
	num  uint64  // Bool, Int, Uint, Float, Float32 (as float64 bits)
	text string  // Decimal, Text, Bytes, JSON, Date, Time, Datetime, DatetimeTZ, UUID
	more *nested // Array, Rows, Row
}

// A nested is what few values hold: a Value is small, for there is one for each
// column of each row.
type nested struct {
	list []Value
	rows []Values
}

// Values is one row: one Value for each field of the Shape that it goes with,
// in the Shape's order.
type Values []Value

// BoolValue returns a Bool.
func BoolValue(b bool) Value {
	if b {
		return Value{kind: Bool, num: 1}
	}
	return Value{kind: Bool}
}

// IntValue returns an Int.
func IntValue(n int64) Value { return Value{kind: Int, num: uint64(n)} }

// UintValue returns a Uint.
func UintValue(n uint64) Value { return Value{kind: Uint, num: n} }

// FloatValue returns a Float.
func FloatValue(f float64) Value { return Value{kind: Float, num: math.Float64bits(f)} }

// Float32Value returns a Float32.
func Float32Value(f float32) Value {
	return Value{kind: Float32, num: math.Float64bits(float64(f))}
}

// TextValue returns a value of one of the kinds that are kept as text: Decimal,
// Text, Bytes, JSON, Date, Time, Datetime, DatetimeTZ, UUID. It panics on any other.
func TextValue(k Kind, s string) Value {
	if k < Decimal || k > UUID {
		panic("BUG: row.TextValue of a kind that is not text")
	}
	return Value{kind: k, text: s}
}

// ArrayValue returns an Array, which keeps list.
func ArrayValue(list []Value) Value { return Value{kind: Array, more: &nested{list: list}} }

// RowsValue returns embedded documents, and keeps rows.
func RowsValue(rows []Values) Value { return Value{kind: Rows, more: &nested{rows: rows}} }

// RowValue returns one embedded document, and keeps r.
func RowValue(r Values) Value { return Value{kind: Row, more: &nested{rows: []Values{r}}} }

// Kind returns what v holds.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is Null.
func (v Value) IsNull() bool { return v.kind == Null }

// Bool returns a Bool's value.
func (v Value) Bool() bool { return v.num != 0 }

// Int returns an Int's value.
func (v Value) Int() int64 { return int64(v.num) }

// Uint returns a Uint's value.
func (v Value) Uint() uint64 { return v.num }

// Float returns the value of a Float or a Float32.
func (v Value) Float() float64 { return math.Float64frombits(v.num) }

// Text returns the text of a kind that is kept as text.
func (v Value) Text() string { return v.text }

// List returns an Array's elements; they must not be written to.
func (v Value) List() []Value {
	if v.more == nil {
		return nil
	}
	return v.more.list
}

// Rows returns the embedded documents, of a Row the one that it is; they must not be written to.
func (v Value) Rows() []Values {
	if v.more == nil {
		return nil
	}
	return v.more.rows
}
