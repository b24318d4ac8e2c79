package sqlite

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// keyKind returns the kind by which a column's text in a key is read. SQLite
// has no dates: what a DATE column stores is a text of any form, and a key has
// to name it as it is.
func keyKind(k row.Kind) row.Kind {
	switch k {
	case row.Date, row.Time, row.Datetime, row.JSON, row.Null:
		return row.Text
	}
	return k
}

// keyArg returns the value that one part of a key is bound as.
func keyArg(k row.Kind, text string) (any, error) {
	switch k {
	case row.Int:
		return strconv.ParseInt(text, 10, 64)
	case row.Bool:
		return oneOrZero(text == "true"), nil
	case row.Float:
		return strconv.ParseFloat(text, 64)
	case row.Bytes:
		return hex.DecodeString(text)
	case row.Decimal:
		if f, err := strconv.ParseFloat(text, 64); err == nil && math.IsInf(f, 0) {
			return f, nil
		}
	}
	return text, nil
}

// boundAs returns what a value of a body is bound as for a column of kind k, or why SQLite
// cannot hold it.
func boundAs(k row.Kind, v row.Value) (arg any, why string) {
	switch v.Kind() {
	case row.Decimal:
		switch f, err := strconv.ParseFloat(v.Text(), 64); {
		case math.IsNaN(f):
			return nil, "SQLite has no NaN"
		case errors.Is(err, strconv.ErrRange) && math.IsInf(f, 0):
			return nil, v.Text() + " is larger than the numbers of SQLite"
		case k == row.Null && tooLarge(v.Text()):
			return nil, v.Text() + " is larger than the integers of SQLite"
		case err == nil && (k == row.Null || math.IsInf(f, 0)):
			return f, ""
		}
	case row.Float, row.Float32:
		if math.IsNaN(v.Float()) {
			return nil, "SQLite has no NaN"
		}
	case row.Uint:
		if k == row.Null && v.Uint() > math.MaxInt64 {
			return nil, fmt.Sprintf("%d is larger than the integers of SQLite", v.Uint())
		}
	case row.Array:
		return nil, "SQLite has no arrays"
	case row.JSON:
		if k == row.Null {
			return nil, "SQLite has no objects"
		}
		// The column makes a number of a text that is one.
		if f, err := strconv.ParseFloat(v.Text(), 64); err != nil && math.IsInf(f, 0) {
			return nil, v.Text() + " is larger than the numbers of SQLite"
		}
	}
	return valueArg(v), ""
}

// tooLarge reports whether a text is an integer that SQLite would round.
func tooLarge(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return errors.Is(err, strconv.ErrRange)
}

// valueArg returns what a value of a body is bound as.
func valueArg(v row.Value) any {
	switch v.Kind() {
	case row.Null:
		return nil
	case row.Bool:
		return oneOrZero(v.Bool())
	case row.Int:
		return v.Int()
	case row.Uint:
		return strconv.FormatUint(v.Uint(), 10) // NUMERIC affinity makes a number of it
	case row.Float, row.Float32:
		return v.Float()
	case row.Bytes:
		return []byte(v.Text())
	case row.Datetime:
		// The form that SQLite's own functions give and compare.
		return strings.Replace(v.Text(), "T", " ", 1)
	}
	return v.Text()
}

// oneOrZero returns what SQLite stores for a boolean.
func oneOrZero(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
