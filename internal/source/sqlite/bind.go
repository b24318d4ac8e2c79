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
	case row.Date, row.Time, row.Datetime, row.JSON:
		return row.Text
	}
	return k
}

// keyArgs returns the values that the parts of a canonical key are bound as.
func keyArgs(kt row.KeyType, k row.Key) ([]any, error) {
	parts, ok := row.SplitKey(k, len(kt))
	if !ok {
		return nil, fmt.Errorf("%w: want %d parts", row.ErrKey, len(kt))
	}
	args := make([]any, len(kt))
	for i := range kt {
		var err error
		if args[i], err = keyArg(kt[i].Kind, parts[i]); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", row.ErrKey, kt[i].Column, err)
		}
	}
	return args, nil
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
	}
	return text, nil
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

// tooLarge reports whether SQLite would make an infinity of a decimal number, which
// it stores as one of 64 bits.
func tooLarge(decimal string) bool {
	f, err := strconv.ParseFloat(decimal, 64)
	return errors.Is(err, strconv.ErrRange) && math.IsInf(f, 0)
}

// oneOrZero returns what SQLite stores for a boolean.
func oneOrZero(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
