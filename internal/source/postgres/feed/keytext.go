package feed

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// The object identifiers of the built-in types whose text is not yet the text
// of a key. They are fixed in PostgreSQL's source (pg_type.dat).
const (
	oidBool        = 16
	oidBytea       = 17
	oidInt8        = 20
	oidInt2        = 21
	OidInt4        = 23
	oidOID         = 26
	oidFloat4      = 700
	oidFloat8      = 701
	oidDate        = 1082
	oidTime        = 1083
	oidTimestamp   = 1114
	oidTimestampTZ = 1184
	oidTimeTZ      = 1266
	oidNumeric     = 1700
	oidUUID        = 2950
)

// Builtin gives the identifier of a built-in type by its name, for domains: a
// type message names the type that a domain is made of.
var Builtin = map[string]uint32{
	"bool": oidBool, "bytea": oidBytea, "int8": oidInt8, "int2": oidInt2, "int4": OidInt4,
	"oid": oidOID, "float4": oidFloat4, "float8": oidFloat8, "date": oidDate,
	"time": oidTime, "timestamp": oidTimestamp, "timestamptz": oidTimestampTZ,
	"timetz": oidTimeTZ, "numeric": oidNumeric, "uuid": oidUUID,
}

// KeyText turns a value as PostgreSQL writes it under feedSettings into the
// text that the column has in a row.Key. It reports false for what no key can
// have, such as a date before Christ.
func KeyText(oid uint32, s string) (string, bool) {
	v, ok := keyValue(oid, s)
	if !ok {
		return "", false
	}
	return row.KeyText(v)
}

// keyValue is the value that keyText writes.
func keyValue(oid uint32, s string) (row.Value, bool) {
	switch oid {
	case oidBool:
		switch s {
		case "t", "true":
			return row.BoolValue(true), true
		case "f", "false":
			return row.BoolValue(false), true
		}
		return row.Value{}, false
	case oidInt2, OidInt4, oidInt8, oidOID:
		n, err := strconv.ParseInt(s, 10, 64)
		return row.IntValue(n), err == nil
	case oidFloat4:
		f, err := strconv.ParseFloat(s, 32)
		return row.Float32Value(float32(f)), err == nil
	case oidFloat8:
		f, err := strconv.ParseFloat(s, 64)
		return row.FloatValue(f), err == nil
	case oidNumeric:
		return row.TextValue(row.Decimal, s), true
	case oidBytea:
		digits, ok := strings.CutPrefix(s, `\x`)
		b, err := hex.DecodeString(digits)
		return row.TextValue(row.Bytes, string(b)), ok && err == nil
	case oidUUID:
		return row.TextValue(row.UUID, s), true
	case oidDate:
		return row.TextValue(row.Date, s), true
	case oidTime, oidTimeTZ:
		return row.TextValue(row.Time, s), true
	case oidTimestamp:
		return row.TextValue(row.Datetime, s), true
	case oidTimestampTZ:
		return row.TextValue(row.DatetimeTZ, s), true
	default:
		return row.TextValue(row.Text, s), true
	}
}
