package catalog

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/row"
)

// Value returns what the driver gave for the column: int64, uint64, float32, float64,
// []byte or nil. What does not fit the column's kind, such as a date of zeros
// or a tinyint(1) that holds 7, is what it is.
func (c *Column) Value(v any) (row.Value, error) {
	switch v := v.(type) {
	case nil:
		return row.Value{}, nil
	case int64:
		return c.Integer(v), nil
	case uint64: // by the protocol of texts
		return row.UintValue(v), nil
	case float32:
		if c.Kind == row.Float {
			return row.FloatValue(float64(v)), nil
		}
		return row.Float32Value(v), nil
	case float64:
		if c.Kind == row.Float32 {
			return row.Float32Value(float32(v)), nil
		}
		return row.FloatValue(v), nil
	case []byte:
		return c.Bytes(v)
	}
	return row.Value{}, fmt.Errorf("column %s: the driver gave a %T", c.Name, v)
}

// Integer returns a value that arrived as an integer.
func (c *Column) Integer(n int64) row.Value {
	switch {
	case c.Kind == row.Bool && (n == 0 || n == 1):
		return row.BoolValue(n == 1)
	case c.Kind == row.Uint:
		return row.UintValue(uint64(n))
	case c.Kind == row.Decimal:
		return row.TextValue(row.Decimal, strconv.FormatInt(n, 10))
	}
	return row.IntValue(n)
}

// Bytes returns a value that arrived as bytes.
func (c *Column) Bytes(b []byte) (row.Value, error) {
	switch c.Kind {
	case row.Bytes:
		return row.TextValue(row.Bytes, string(b)), nil
	case row.Bool, row.Uint, row.Int:
		if c.Type == "bit" {
			return c.bits(b)
		}
		n, err := strconv.ParseUint(string(b), 10, 64) // more than an int64 holds
		if err != nil {
			return row.Value{}, fmt.Errorf("column %s: %w", c.Name, err)
		}
		return row.UintValue(n), nil
	}
	return c.text(validText(b)), nil
}

// bits returns a BIT, whose bytes come with the highest first.
func (c *Column) bits(b []byte) (row.Value, error) {
	if len(b) > 8 {
		return row.Value{}, fmt.Errorf("column %s: a bit of %d bytes", c.Name, len(b))
	}
	var n uint64
	for _, x := range b {
		n = n<<8 | uint64(x)
	}
	if c.Kind == row.Bool && n <= 1 {
		return row.BoolValue(n == 1), nil
	}
	return row.UintValue(n), nil
}

// text returns a value that arrived as text.
func (c *Column) text(s string) row.Value {
	kind := c.Kind
	ok := true
	switch kind {
	case row.Date:
		ok = isDate(s)
	case row.Time:
		if ok = isClock(s); ok {
			s = trimFraction(s)
		}
	case row.Datetime, row.DatetimeTZ:
		if ok = len(s) >= 19 && isDate(s[:10]) && s[10] == ' ' && isClock(s[11:]); ok {
			s = trimFraction(s[:10] + "T" + s[11:])
			if kind == row.DatetimeTZ { // the session is in UTC
				s += "Z"
			}
		}
	case row.JSON:
		ok = json.Valid([]byte(s))
	case row.Decimal, row.UUID, row.Text:
	default:
		ok = false
	}
	if !ok {
		kind = row.Text
	}
	return row.TextValue(kind, s)
}

// isDate reports whether s is a day of the calendar. The server may hold
// 0000-00-00, days of month 0, and 31 February.
func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isClock reports whether s is a time of day. A TIME may also be a span of up
// to 838 hours, and negative.
func isClock(s string) bool {
	return len(s) >= 8 && s[2] == ':' && s[5] == ':' && s[:2] >= "00" && s[:2] < "24"
}

// trimFraction takes the zeros off the end of a second's fraction.
func trimFraction(s string) string {
	if i := strings.IndexByte(s, '.'); i < 0 {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// validText returns b as a string. A column may hold bytes that are not UTF-8,
// which no document can.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// Mark returns the placeholder of a parameter that is compared with the column.
// A decimal would be compared with a text as two floating-point numbers.
func (c *Column) Mark() string {
	if c.Kind == row.Decimal {
		whole, _ := c.digits()
		return fmt.Sprintf("CAST(? AS DECIMAL(65,%d))", min(30, 65-whole))
	}
	return "?"
}

// digits returns how many digits a decimal can have before and behind its point.
func (c *Column) digits() (whole, fraction int) {
	var all int
	if n, _ := fmt.Sscanf(strings.ToLower(c.Native), "decimal(%d,%d)", &all, &fraction); n != 2 {
		return 35, 30 // of a query's answer, which does not say
	}
	return all - fraction, fraction
}

// decimalArg returns the text of a decimal that the column can have: the cast would round
// another one to a neighbour, or bound it.
func (c *Column) decimalArg(text string) (any, error) {
	whole, fraction := c.digits()
	before, behind, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	before, behind = strings.TrimLeft(before, "0"), strings.TrimRight(behind, "0")
	if len(before) > whole || len(behind) > fraction {
		return nil, fmt.Errorf("%s is no %s", text, c.Native)
	}
	return text, nil
}

// KeyArg returns what the text of a key's part is bound as. It is of the
// column's own kind: a text column compared with a number has no use for its
// index. The error is that of a text which no row can have.
func (c *Column) KeyArg(text string) (any, error) {
	switch p := c.KeyPart(); p.Kind {
	case row.Bool:
		return oneOrZero(text == "true"), nil
	case row.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if c.Type == "year" && 0 < n && n < 100 { // compared as 1970 to 2069
			err = fmt.Errorf("%d is not a year that the database can hold", n)
		}
		return n, err
	case row.Uint:
		return strconv.ParseUint(text, 10, 64)
	case row.Float:
		return parseFloat(text, 64)
	case row.Float32:
		return parseFloat(text, 32)
	case row.Bytes:
		return hex.DecodeString(text)
	case row.Decimal:
		return c.decimalArg(text)
	default:
		return c.argText(p.Kind, text), nil
	}
}

// parseFloat returns a number that the server can hold.
func parseFloat(text string, bits int) (any, error) {
	f, err := strconv.ParseFloat(text, bits)
	if err == nil && (math.IsInf(f, 0) || math.IsNaN(f)) {
		err = fmt.Errorf("%s is not a number that the database can hold", text)
	}
	return f, err
}

// argText returns a text as the server writes it: 2024-01-02 03:04:05.
func (c *Column) argText(kind row.Kind, text string) string {
	switch kind {
	case row.Datetime, row.DatetimeTZ:
		return strings.TrimSuffix(strings.Replace(text, "T", " ", 1), "Z")
	}
	return text
}

// Arg returns what a value is bound as.
func (c *Column) Arg(v row.Value) any {
	switch v.Kind() {
	case row.Null:
		return nil
	case row.Bool:
		return oneOrZero(v.Bool())
	case row.Int:
		return v.Int()
	case row.Uint:
		return v.Uint()
	case row.Float, row.Float32:
		if f := v.Float(); math.IsInf(f, 0) || math.IsNaN(f) {
			return strconv.FormatFloat(f, 'g', -1, 64) // which the server refuses
		}
		return v.Float()
	case row.Bytes:
		return []byte(v.Text())
	}
	return c.argText(v.Kind(), v.Text())
}

// oneOrZero returns what the server stores for a boolean.
func oneOrZero(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
