package catalog

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A Column is one column of a table, or of a query's answer.
type Column struct {
	source.Column
	Num       int      // its place in the table's rows, from 1
	Type      string   // as information_schema.COLUMNS.DATA_TYPE, in lower case
	Unsigned  bool     // of a number
	Charset   string   // of a text
	Collation string   // of a text
	Labels    []string // of an enum or a set, in order
	MaxLen    int      // of a text, in characters; 0: no bound
	Auto      bool     // AUTO_INCREMENT
	Hidden    bool     // INVISIBLE: SELECT * leaves it out
	Readable  bool     // by this user
	Length    int      // of a binary of one length, in bytes
	Virtual   string   // the expression that makes it whenever it is read; "": it is stored
	Read      string   // the expression that reads it, with %s for the column; "": the column
}

// settle fills in what follows from the type.
func (c *Column) settle() {
	native := strings.ToLower(c.Native)
	c.Unsigned = strings.Contains(native, "unsigned")
	c.Kind, c.Bits = valueKind(c.Type, native, c.Unsigned)
	switch c.Type {
	case "enum", "set":
		c.Labels = parseLabels(c.Native)
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring",
		"multipolygon", "geometrycollection", "geomcollection":
		c.Read = "ST_AsText(%s)"
	case "vector":
		c.Read = "VEC_ToText(%s)"
	case "binary":
		c.Length = lengthOf(native)
	}
	c.Wide = c.isWide()
	c.Folds = c.Wide && c.folds()
	if c.Wide || c.Kind != row.Text {
		c.MaxLen = 0 // a longer text may be equal all the same
	}
}

// isWide reports whether two values of the column can be equal and have not
// the same text. Most collations are: they do not tell case or accents apart,
// or trailing blanks ("PAD SPACE").
func (c *Column) isWide() bool {
	switch c.Kind {
	case row.Text:
		return !exactCollation(c.Collation)
	case row.Decimal, row.JSON:
		return true
	}
	return false
}

// exactCollation reports whether a collation tells apart all that has not the
// same bytes.
func exactCollation(name string) bool {
	return strings.HasSuffix(name, "_nopad_bin") || strings.HasSuffix(name, "_0900_bin")
}

// folds reports whether two texts of printable ASCII are equal in the column only if they
// are without case and blanks at the end (see row.Fold). Whatever a feed tells of an enum
// is a label; of a set it tells no text.
func (c *Column) folds() bool {
	switch c.Type {
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum":
		return Folding(c.Collation)
	}
	return false
}

// Folding reports whether texts of printable ASCII are equal by a collation only if
// row.Fold makes one text of them.
func Folding(collation string) bool {
	charset, rest, _ := strings.Cut(collation, "_")
	return slices.Contains(foldings, collation) ||
		slices.Contains(foldingCharsets, charset) && slices.Contains(foldings, rest)
}

// foldings are the collations that fold, without the character sets in foldingCharsets; a
// test compares all texts of one and two characters by each. Those of a language are none:
// there two letters may be one.
var (
	foldings = []string{
		"bin", "general_ci", "general_cs", "general_nopad_ci", "general_mysql500_ci",
		"unicode_ci", "unicode_nopad_ci", "unicode_520_ci", "unicode_520_nopad_ci",
		"latin1_swedish_ci", "latin1_swedish_nopad_ci",
		"0900_ai_ci", "0900_as_ci", "0900_as_cs",
		"uca1400_ai_ci", "uca1400_as_ci", "uca1400_ai_cs", "uca1400_as_cs",
		"uca1400_nopad_ai_ci", "uca1400_nopad_as_ci", "uca1400_nopad_ai_cs",
		"uca1400_nopad_as_cs",
	}
	foldingCharsets = []string{"utf8mb4", "utf8mb3", "utf8", "latin1", "ascii"}
)

// integerBits are how many bits the integer types have.
var integerBits = map[string]int{
	"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "integer": 32, "bigint": 64,
}

// valueKind returns the kind of values of a type. A signed tinyint(1) is what
// BOOLEAN makes.
func valueKind(typ, native string, unsigned bool) (kind row.Kind, bits int) {
	if n := integerBits[typ]; n > 0 {
		switch {
		case strings.HasPrefix(native, "tinyint(1)") && !unsigned:
			return row.Bool, 0
		case unsigned && n == 64:
			return row.Uint, 0
		case unsigned:
			n++ // the sign's bit
		}
		for _, bits := range []int{16, 32} {
			if n <= bits {
				return row.Int, bits
			}
		}
		return row.Int, 64
	}
	switch typ {
	case "year":
		return row.Int, 16
	case "bit":
		if native == "bit(1)" {
			return row.Bool, 0
		}
		return row.Uint, 0
	case "float":
		return row.Float32, 0
	case "double", "real":
		return row.Float, 0
	case "decimal", "numeric":
		return row.Decimal, 0
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return row.Bytes, 0
	case "date":
		return row.Date, 0
	case "time":
		return row.Time, 0
	case "datetime":
		return row.Datetime, 0
	case "timestamp":
		return row.DatetimeTZ, 0
	case "json":
		return row.JSON, 0
	case "uuid":
		return row.UUID, 0
	}
	return row.Text, 0 // texts, enum, set, inet4, inet6, and what is yet to come
}

// KeyPart returns the column as a part of a key.
func (c *Column) KeyPart() row.KeyPart {
	p := row.KeyPart{Column: c.Name, Kind: c.Kind, Bits: c.Bits, MaxLen: c.MaxLen, Wide: c.Wide}
	if c.tinyBool() {
		p.Kind, p.Bits = row.Int, 16
	}
	return p
}

// tinyBool reports whether the column is a tinyint(1), which is true or false
// in documents and, since it may hold any number, a number in keys.
func (c *Column) tinyBool() bool { return c.Kind == row.Bool && c.Type == "tinyint" }

// KeyText returns the text that a value of the column has in a key, and false
// when it can be no part of one.
func (c *Column) KeyText(v row.Value) (string, bool) {
	if c.tinyBool() && v.Kind() == row.Bool {
		n := int64(0)
		if v.Bool() {
			n = 1
		}
		v = row.IntValue(n)
	}
	switch {
	case v.Kind() == row.Text && c.Kind != row.Text:
		return "", false // a date that is none, and the like
	case c.KeyPart().Kind == row.Bool && v.Kind() != row.Bool:
		return "", false
	}
	return row.KeyText(v)
}

// Cell returns what a change says of the column's value.
func (c *Column) Cell(v row.Value) (source.Cell, bool) {
	if v.IsNull() {
		return source.Cell{Column: c.Name, Null: true}, true
	}
	text, ok := c.KeyText(v)
	return source.Cell{Column: c.Name, Text: text}, ok && len(text) <= row.MaxKey
}

// lengthOf returns the length in a type such as "binary(8)".
func lengthOf(whole string) int {
	_, rest, _ := strings.Cut(whole, "(")
	digits, _, _ := strings.Cut(rest, ")")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// parseLabels returns the labels of enum('a','b'), where two quotes are one. Types
// without labels have none.
func parseLabels(native string) []string {
	open, end := strings.IndexByte(native, '('), strings.LastIndexByte(native, ')')
	if open < 0 || end < open {
		return nil
	}
	rest := native[open+1 : end]
	var labels []string
	for strings.HasPrefix(rest, "'") {
		var b strings.Builder
		i := 1
		for ; i < len(rest); i++ {
			if rest[i] == '\'' {
				if i+1 >= len(rest) || rest[i+1] != '\'' {
					break
				}
				i++
			}
			b.WriteByte(rest[i])
		}
		labels = append(labels, b.String())
		rest = strings.TrimPrefix(rest[min(i+1, len(rest)):], ",")
	}
	return labels
}

// ResultColumn makes a column of what the driver says about one of an answer.
func ResultColumn(name, typ string) Column {
	c := Column{Type: strings.ToLower(typ)}
	c.Name, c.Native = name, c.Type
	if rest, ok := strings.CutPrefix(c.Type, "unsigned "); ok {
		c.Type, c.Native = rest, rest+" unsigned"
	}
	switch c.Type {
	case "null":
		c.Type = "varchar"
	case "geometry":
		c.Type = "blob" // the column itself would be read as text
	}
	c.settle()
	return c
}

// AsText returns a value of the catalogue as text; "" for NULL.
func AsText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// AsInt returns a value of the catalogue as a number; 0 for what is none.
func AsInt(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case uint64:
		return int64(min(v, math.MaxInt64))
	case []byte:
		var n int64
		for _, b := range v {
			if b < '0' || b > '9' || n > 1<<58 {
				return n
			}
			n = n*10 + int64(b-'0')
		}
		return n
	}
	return 0
}
