package binlog

import (
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// A cell is a value of a row in the log: the text that it has in a key, and what
// to bind for it in a statement.
type cell struct {
	text string
	bind any
}

// decode returns the value that the library gives as v, which is not nil. It
// reports false for one that no key can have, or that the log does not tell: the
// table is then taken to have changed as a whole.
func decode(c *catalog.Column, v any) (cell, bool) {
	val, ok := logged(c, v)
	if !ok {
		return cell{}, false
	}
	text, ok := c.Cell(val)
	return cell{text.Text, c.Arg(val)}, ok && !text.Null
}

// logged returns a value of the log. The library takes an integer to have a sign
// where the log does not say: the bits beyond its width are taken away then.
func logged(c *catalog.Column, v any) (row.Value, bool) {
	switch v := v.(type) {
	case int8:
		return whole(c, int64(v), 1<<8-1)
	case int16:
		return whole(c, int64(v), 1<<16-1)
	case int32:
		if c.Type == "mediumint" {
			return whole(c, int64(v), 1<<24-1)
		}
		return whole(c, int64(v), 1<<32-1)
	case int64:
		return whole(c, v, 1<<64-1)
	case int: // a year
		return row.IntValue(int64(v)), c.Type == "year"
	case uint8:
		return whole(c, int64(v), 1<<8-1)
	case uint16:
		return whole(c, int64(v), 1<<16-1)
	case uint32:
		return whole(c, int64(v), 1<<32-1)
	case uint64:
		return whole(c, int64(v), 1<<64-1)
	case float32, float64:
		val, err := c.Value(v)
		return val, err == nil
	case string:
		return textual(c, v)
	case []byte:
		return textual(c, string(v))
	}
	return row.Value{}, false
}

// whole returns what the log holds as an integer.
func whole(c *catalog.Column, n int64, mask uint64) (row.Value, bool) {
	switch c.Type {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		if c.Unsigned {
			n = int64(uint64(n) & mask)
		}
		return c.Integer(n), true
	case "bit":
		if c.Kind == row.Bool && (n == 0 || n == 1) {
			return row.BoolValue(n == 1), true
		}
		return row.UintValue(uint64(n)), c.Kind == row.Uint
	case "enum":
		if n < 1 || n > int64(len(c.Labels)) {
			return row.TextValue(row.Text, ""), n == 0
		}
		return row.TextValue(row.Text, c.Labels[n-1]), true
	}
	return row.Value{}, false
}

// textual returns what the log holds as text or bytes.
func textual(c *catalog.Column, s string) (row.Value, bool) {
	ok := true
	switch c.Type {
	case "decimal", "date", "datetime", "timestamp", "time", "varbinary", "tinyblob", "blob",
		"mediumblob", "longblob":
	case "uuid":
		s, ok = uuidText(s)
	case "binary":
		if len(s) < c.Length { // zeros at the end are not in the log
			s += strings.Repeat("\x00", c.Length-len(s))
		}
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext", "json":
		s, ok = decodeText(c.Charset, s)
	default:
		return row.Value{}, false
	}
	if !ok {
		return row.Value{}, false
	}
	val, err := c.Bytes([]byte(s))
	return val, err == nil && val.Kind() == c.Kind
}

// uuidText returns a UUID from MariaDB's 16 bytes. Zeros at the end are not in
// the log.
func uuidText(s string) (string, bool) {
	if len(s) > 16 {
		return "", false
	}
	h := hex.EncodeToString([]byte(s)) + strings.Repeat("00", 16-len(s))
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], true
}

// decodeText returns a text of the character set as UTF-8. It reports false for
// sets that nobody has taught it, unless the text is one that is the same in
// all of them that extend ASCII.
func decodeText(charset, s string) (string, bool) {
	switch charset {
	case "utf8mb4", "utf8mb3", "utf8":
		return s, utf8.ValidString(s)
	case "ucs2", "utf16", "utf16le", "utf32", "sjis", "cp932", "swe7", "filename", "gb18030",
		"gbk", "big5":
		return "", false
	}
	if isASCII(s) {
		return s, true
	}
	if charset != "latin1" {
		return "", false
	}
	var out strings.Builder
	for i := range len(s) {
		r := rune(s[i])
		if r >= 0x80 && r < 0xa0 {
			r = windows1252[r-0x80]
		}
		out.WriteRune(r)
	}
	return out.String(), true
}

// windows1252 are the letters 0x80 to 0x9f of what MySQL calls latin1.
var windows1252 = [32]rune{
	0x20ac, 0x81, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
	0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8d, 0x017d, 0x8f,
	0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
	0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d, 0x017e, 0x0178,
}
