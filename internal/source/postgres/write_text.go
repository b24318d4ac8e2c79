package postgres

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// scalarText returns the text of a value that is not Null and not an Array.
func scalarText(v row.Value) string {
	switch v.Kind() {
	case row.Bool:
		return strconv.FormatBool(v.Bool())
	case row.Int:
		return strconv.FormatInt(v.Int(), 10)
	case row.Uint:
		return strconv.FormatUint(v.Uint(), 10)
	case row.Float:
		return floatText(v.Float(), 64)
	case row.Float32:
		return floatText(v.Float(), 32)
	case row.Bytes:
		return `\x` + hex.EncodeToString([]byte(v.Text()))
	}
	return v.Text()
}

// floatText returns the text of a float with the fewest digits that give it back.
func floatText(f float64, bits int) string {
	switch {
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

// appendArray appends the text of an array.
func appendArray(dst []byte, list []row.Value, delim byte) []byte {
	dst = append(dst, '{')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, delim)
		}
		switch {
		case v.IsNull():
			dst = append(dst, "NULL"...)
		case v.Kind() == row.Array:
			dst = appendArray(dst, v.List(), delim)
		default:
			dst = appendElement(dst, scalarText(v))
		}
	}
	return append(dst, '}')
}

// appendElement appends one element of an array's text, in quotes where it has to be.
func appendElement(dst []byte, text string) []byte {
	if text != "" && !strings.EqualFold(text, "NULL") && strings.IndexFunc(text, special) < 0 {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for i := range len(text) {
		if text[i] == '"' || text[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, text[i])
	}
	return append(dst, '"')
}

// special reports whether a character means something in the text of an array, or
// could: more are quoted than have to be.
func special(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		strings.ContainsRune("_-+.:", r))
}
