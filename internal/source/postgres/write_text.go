package postgres

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hotrow/hotrow/internal/row"
)

// parameter returns the text of what a body gives member i of n, as the server
// reads it for the column's type; nil is NULL.
func (n *node) parameter(i int, v row.Value) (any, error) {
	if v.IsNull() {
		return nil, nil
	}
	col := n.fields[i]
	if v.Kind() != row.Array {
		return scalarText(v), nil
	}
	text, err := appendArray(nil, v.List(), col.codec.oid == pgtype.ByteaOID)
	if err != nil {
		return nil, fmt.Errorf("%w", invalid(n.shape.Fields[i].Name+": "+err.Error()))
	}
	return string(text), nil
}

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

// appendArray appends the text of an array: "{...}" with every element quoted.
// Elements of a bytea array come in base64, as in documents.
func appendArray(dst []byte, list []row.Value, bytea bool) ([]byte, error) {
	dst = append(dst, '{')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		switch {
		case v.IsNull():
			dst = append(dst, "NULL"...)
		case v.Kind() == row.Array:
			dst, err = appendArray(dst, v.List(), bytea)
		case bytea && v.Kind() == row.Text:
			var data []byte
			data, err = base64.StdEncoding.DecodeString(v.Text())
			dst = appendElement(dst, `\x`+hex.EncodeToString(data))
		default:
			dst = appendElement(dst, scalarText(v))
		}
		if err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}
