package sqlite

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/row"
)

// An affinity is what SQLite prefers to store in a column
// (sqlite.org/datatype3.html, 3.1).
type affinity uint8

const (
	affinityBlob affinity = iota
	affinityText
	affinityInteger
	affinityReal
	affinityNumeric
)

// affinityOf returns the affinity of a column declared so, by SQLite's rules.
func affinityOf(native string) affinity {
	n := strings.ToUpper(native)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(n, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("INT"):
		return affinityInteger
	case has("CHAR", "CLOB", "TEXT"):
		return affinityText
	case n == "" || has("BLOB"):
		return affinityBlob
	case has("REAL", "FLOA", "DOUB"):
		return affinityReal
	}
	return affinityNumeric
}

// kindOf returns the kind of a column declared so, Null for one that is declared to hold
// anything. It is a promise only: SQLite stores any value in any column, and valueOf looks
// at the value.
func kindOf(native string) row.Kind {
	n, _, _ := strings.Cut(strings.ToUpper(native), "(")
	switch strings.TrimSpace(n) {
	case "", "ANY":
		return row.Null
	case "BOOL", "BOOLEAN":
		return row.Bool
	case "DATE":
		return row.Date
	case "TIME":
		return row.Time
	case "DATETIME", "TIMESTAMP":
		return row.Datetime
	case "JSON":
		return row.JSON
	case "JSONB":
		return row.Bytes
	case "NUMERIC", "DECIMAL", "NUMBER", "MONEY":
		return row.Decimal
	}
	switch affinityOf(native) {
	case affinityInteger:
		return row.Int
	case affinityReal:
		return row.Float
	case affinityBlob:
		return row.Bytes
	}
	return row.Text
}

// valueOf returns a stored value as the kind of its column, or as what it is
// when it is not of that kind. Texts keep every byte.
func valueOf(k row.Kind, v any) row.Value {
	switch v := v.(type) {
	case nil:
		return row.Value{}
	case int64:
		return integerValue(k, v)
	case float64:
		return realValue(k, v)
	case string:
		return textValue(k, v)
	case []byte:
		return row.TextValue(row.Bytes, string(v))
	case time.Time: // the driver's, which the statements take care not to get
		return row.TextValue(row.Text, v.Format(time.RFC3339Nano))
	}
	return row.TextValue(row.Text, fmt.Sprint(v))
}

// integerValue returns a stored integer.
func integerValue(k row.Kind, n int64) row.Value {
	switch {
	case k == row.Bool && (n == 0 || n == 1):
		return row.BoolValue(n == 1)
	case k == row.Decimal:
		return row.TextValue(row.Decimal, strconv.FormatInt(n, 10))
	}
	return row.IntValue(n)
}

// realValue returns a stored real.
func realValue(k row.Kind, f float64) row.Value {
	if k != row.Decimal {
		return row.FloatValue(f)
	}
	switch {
	case math.IsInf(f, 1):
		return row.TextValue(row.Decimal, "Infinity")
	case math.IsInf(f, -1):
		return row.TextValue(row.Decimal, "-Infinity")
	}
	return row.TextValue(row.Decimal, strconv.FormatFloat(f, 'f', -1, 64))
}

// textValue returns a stored text. One that is not UTF-8 is bytes.
func textValue(k row.Kind, s string) row.Value {
	if !utf8.ValidString(s) {
		return row.TextValue(row.Bytes, s)
	}
	ok := false
	switch k {
	case row.JSON:
		ok = json.Valid([]byte(s))
	case row.Decimal:
		ok = isDecimal(s)
	case row.Date:
		ok = isTime(time.DateOnly, s)
	case row.Time:
		ok = isTime(time.TimeOnly, s)
	case row.Datetime:
		ok = isTime("2006-01-02T15:04:05", s)
	}
	if !ok {
		return row.TextValue(row.Text, s)
	}
	return row.TextValue(k, s)
}

// isTime reports whether s is a time in the layout, or that and a fraction.
func isTime(layout, s string) bool {
	if len(s) < len(layout) || len(s) > len(layout) && s[len(layout)] != '.' {
		return false
	}
	_, err := time.Parse(layout, s)
	return err == nil
}

// isDecimal reports whether s is a plain decimal number: digits, perhaps with
// a sign before and a fraction behind.
func isDecimal(s string) bool {
	s = strings.TrimPrefix(s, "-")
	whole, fraction, dotted := strings.Cut(s, ".")
	return isDigits(whole) && (!dotted || isDigits(fraction))
}

// isDigits reports whether s is one digit or more, and nothing else.
func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
