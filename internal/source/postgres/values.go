package postgres

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hotrow/hotrow/internal/row"
)

// binaryKinds are the types that are read in binary, and what they become. All
// others are cast to text by the server.
var binaryKinds = map[uint32]row.Kind{
	pgtype.BoolOID: row.Bool, pgtype.ByteaOID: row.Bytes, pgtype.NameOID: row.Text,
	pgtype.Int2OID: row.Int, pgtype.Int4OID: row.Int, pgtype.Int8OID: row.Int,
	pgtype.Float4OID: row.Float32, pgtype.Float8OID: row.Float,
	pgtype.TextOID: row.Text, pgtype.VarcharOID: row.Text, pgtype.BPCharOID: row.Text,
	pgtype.JSONOID: row.JSON, pgtype.JSONBOID: row.JSON, pgtype.UUIDOID: row.UUID,
	pgtype.DateOID: row.Date, pgtype.TimeOID: row.Time, pgtype.TimetzOID: row.Time,
	pgtype.TimestampOID: row.Datetime, pgtype.TimestamptzOID: row.DatetimeTZ,
}

// maxDims is how many dimensions an array of PostgreSQL can have (MAXDIM).
const maxDims = 6

// errWire is the error of bytes that are not PostgreSQL's binary format.
var errWire = errors.New("malformed binary value")

// A codec says how one column of an answer is read. Its zero value is no codec.
type codec struct {
	oid   uint32   // of the type on the wire; of the elements of an array
	kind  row.Kind // what it becomes: Decimal and Text both travel as text
	array bool
	delim byte // between the elements of an array's text
}

// decode reads one value; nil is NULL. The value keeps nothing of src.
func (c codec) decode(src []byte) (row.Value, error) {
	if src == nil {
		return row.Value{}, nil
	}
	if c.array {
		return c.decodeArray(src)
	}
	return c.decodeScalar(src)
}

// decodeScalar reads one value that is not NULL and not an array.
func (c codec) decodeScalar(src []byte) (row.Value, error) {
	if n := width(c.oid); n != 0 && len(src) != n {
		return row.Value{}, fmt.Errorf("%w: %d bytes for type %d", errWire, len(src), c.oid)
	}
	switch c.oid {
	case pgtype.BoolOID:
		return row.BoolValue(src[0] != 0), nil
	case pgtype.Int2OID:
		return row.IntValue(int64(int16(binary.BigEndian.Uint16(src)))), nil
	case pgtype.Int4OID:
		return row.IntValue(int64(int32(binary.BigEndian.Uint32(src)))), nil
	case pgtype.Int8OID:
		return row.IntValue(int64(binary.BigEndian.Uint64(src))), nil
	case pgtype.Float4OID:
		return row.Float32Value(math.Float32frombits(binary.BigEndian.Uint32(src))), nil
	case pgtype.Float8OID:
		return row.FloatValue(math.Float64frombits(binary.BigEndian.Uint64(src))), nil
	case pgtype.ByteaOID:
		return row.TextValue(row.Bytes, string(src)), nil
	case pgtype.UUIDOID:
		return row.TextValue(row.UUID, uuidText(src)), nil
	case pgtype.DateOID:
		return dateValue(int32(binary.BigEndian.Uint32(src))), nil
	case pgtype.TimeOID, pgtype.TimetzOID:
		return timeValue(src)
	case pgtype.TimestampOID, pgtype.TimestamptzOID:
		return timestampValue(int64(binary.BigEndian.Uint64(src)),
			c.oid == pgtype.TimestamptzOID), nil
	case pgtype.JSONBOID:
		if len(src) < 2 || src[0] != 1 {
			return row.Value{}, fmt.Errorf("%w: jsonb of an unknown version", errWire)
		}
		src = src[1:]
	}
	if c.kind == row.JSON { // it goes into documents as it is
		return row.TextValue(row.JSON, validText(src)), nil
	}
	return row.TextValue(c.kind, string(src)), nil
}

// width returns how many bytes the values of a type have; 0 where that differs. It is no
// map, for it is asked of every value.
func width(oid uint32) int {
	switch oid {
	case pgtype.BoolOID:
		return 1
	case pgtype.Int2OID:
		return 2
	case pgtype.Int4OID, pgtype.Float4OID, pgtype.DateOID:
		return 4
	case pgtype.Int8OID, pgtype.Float8OID, pgtype.TimeOID, pgtype.TimestampOID,
		pgtype.TimestamptzOID:
		return 8
	case pgtype.TimetzOID:
		return 12
	case pgtype.UUIDOID:
		return 16
	}
	return 0
}

// validText returns src as a string. A database with the encoding SQL_ASCII
// may hold bytes that are not UTF-8, which no document can.
func validText(src []byte) string {
	if utf8.Valid(src) {
		return string(src)
	}
	return strings.ToValidUTF8(string(src), "\uFFFD")
}

// uuidText returns the text of a UUID of 16 bytes.
func uuidText(src []byte) string {
	var b [36]byte
	hex.Encode(b[0:8], src[0:4])
	hex.Encode(b[9:13], src[4:6])
	hex.Encode(b[14:18], src[6:8])
	hex.Encode(b[19:23], src[8:10])
	hex.Encode(b[24:36], src[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// decodeArray reads an array of any number of dimensions. What a list cannot say is
// the text that PostgreSQL has for it: see unlisted.
func (c codec) decodeArray(src []byte) (row.Value, error) {
	dims, rest, err := arrayHeader(src)
	if err != nil {
		return row.Value{}, err
	}
	if len(dims) == 0 {
		return row.ArrayValue(nil), nil
	}
	delim := c.delim
	c, ok := codec{oid: c.oid, kind: c.kind}.of(binary.BigEndian.Uint32(src[8:]))
	if !ok {
		return row.Value{}, fmt.Errorf("%w: an array of another type", errWire)
	}
	list, rest, err := c.elements(dims, rest)
	if err == nil && len(rest) != 0 {
		err = fmt.Errorf("%w: %d bytes after an array", errWire, len(rest))
	}
	if err != nil {
		return row.Value{}, err
	}
	if c.unlisted(dims, list) {
		text := appendArray(appendBounds(nil, dims), list, delim)
		return row.TextValue(row.Text, string(text)), nil
	}
	return row.ArrayValue(list), nil
}

// unlisted reports whether a list of lists does not say which array it is: its indexes
// do not begin at 1, or it is an array of JSON that has more than one dimension, as
// JSON's own arrays have, or that has JSON's null in it, as SQL's.
func (c codec) unlisted(dims []dimension, list []row.Value) bool {
	if slices.ContainsFunc(dims, func(d dimension) bool { return d.lower != 1 }) {
		return true
	}
	return c.kind == row.JSON && (len(dims) > 1 || slices.ContainsFunc(list, isJSONNull))
}

// isJSONNull reports whether v is the null of JSON.
func isJSONNull(v row.Value) bool {
	return v.Kind() == row.JSON && strings.Trim(v.Text(), " \t\r\n") == "null"
}

// appendBounds appends the indexes of each dimension, "[5:6][0:1]=", unless all of
// them begin at 1.
func appendBounds(dst []byte, dims []dimension) []byte {
	if !slices.ContainsFunc(dims, func(d dimension) bool { return d.lower != 1 }) {
		return dst
	}
	for _, d := range dims {
		dst = fmt.Appendf(dst, "[%d:%d]", d.lower, d.lower+d.length-1)
	}
	return append(dst, '=')
}

// A dimension is one of an array.
type dimension struct {
	length int
	lower  int // the index of the first element
}

// elements reads one dimension of an array and those within it.
func (c codec) elements(dims []dimension, src []byte) ([]row.Value, []byte, error) {
	// Every element takes four bytes at least: the length that an array claims
	// is never more than what arrived (arrayHeader), so neither is this.
	list := make([]row.Value, 0, min(dims[0].length, len(src)/4))
	for range dims[0].length {
		var v row.Value
		var err error
		if len(dims) > 1 {
			var inner []row.Value
			inner, src, err = c.elements(dims[1:], src)
			v = row.ArrayValue(inner)
		} else {
			var item []byte
			if item, src, err = nextItem(src); err == nil && item != nil {
				v, err = c.decodeScalar(item)
			}
		}
		if err != nil {
			return nil, nil, err
		}
		list = append(list, v)
	}
	return list, src, nil
}

// arrayHeader reads the head of an array: its dimensions, and what follows.
// The product of the dimensions is never more than what follows can hold.
func arrayHeader(src []byte) (dims []dimension, rest []byte, err error) {
	if len(src) < 12 {
		return nil, nil, fmt.Errorf("%w: an array of %d bytes", errWire, len(src))
	}
	n := int(binary.BigEndian.Uint32(src))
	rest = src[12:] // the number of dimensions, a flag, the type of the elements
	if n > maxDims || len(rest) < 8*n {
		return nil, nil, fmt.Errorf("%w: an array of %d dimensions", errWire, n)
	}
	total, limit := 1, (len(rest)-8*n)/4
	for i := range n {
		d := int(binary.BigEndian.Uint32(rest[8*i:]))
		if d < 1 || d > limit || total*d > limit {
			return nil, nil, fmt.Errorf("%w: an array longer than its bytes", errWire)
		}
		total *= d
		lower := int(int32(binary.BigEndian.Uint32(rest[8*i+4:])))
		dims = append(dims, dimension{d, lower})
	}
	return dims, rest[8*n:], nil
}

// nextItem reads a length and that many bytes; nil is NULL.
func nextItem(src []byte) (item, rest []byte, err error) {
	if len(src) < 4 {
		return nil, nil, fmt.Errorf("%w: cut short", errWire)
	}
	n := int32(binary.BigEndian.Uint32(src))
	src = src[4:]
	if n == -1 {
		return nil, src, nil
	}
	if n < 0 || int(n) > len(src) {
		return nil, nil, fmt.Errorf("%w: an item of %d bytes in %d", errWire, n, len(src))
	}
	return src[:n:n], src[n:], nil
}

// A cells is one row as it arrived: the bytes of each column, nil for NULL, and
// the OIDs of their types.
type cells struct {
	data [][]byte
	oids []uint32
}

// at returns the bytes of one column.
func (c *cells) at(place int) ([]byte, error) {
	if place >= len(c.data) || place >= len(c.oids) {
		return nil, fmt.Errorf("%w: %d columns", errWire, len(c.data))
	}
	return c.data[place], nil
}

// split reads a record of exactly n columns into c, whose bytes alias src.
func (c *cells) split(src []byte, n int) error {
	c.data, c.oids = c.data[:0], c.oids[:0]
	if len(src) < 4 || int(binary.BigEndian.Uint32(src)) != n {
		return fmt.Errorf("%w: not a record of %d columns", errWire, n)
	}
	src = src[4:]
	for range n {
		if len(src) < 4 {
			return fmt.Errorf("%w: cut short", errWire)
		}
		item, rest, err := nextItem(src[4:])
		if err != nil {
			return err
		}
		c.data = append(c.data, item)
		c.oids = append(c.oids, binary.BigEndian.Uint32(src))
		src = rest
	}
	if len(src) != 0 {
		return fmt.Errorf("%w: %d bytes after a record", errWire, len(src))
	}
	return nil
}

// of returns the codec for a column that arrived as the type oid: the one that
// it was compiled with, or its like when the column has become, say, a bigint
// since. It reports false when it has become something else.
func (c codec) of(oid uint32) (codec, bool) {
	if c.array || c.oid == oid {
		return c, true
	}
	if binaryKinds[oid] != c.kind {
		return c, false
	}
	c.oid = oid
	return c, true
}
