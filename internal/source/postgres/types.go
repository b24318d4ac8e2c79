package postgres

import (
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
)

// A valueType is what hotrow makes of a type.
type valueType struct {
	name string   // as SQL writes it: what the parameters of writes are cast to
	base string   // under its domains: what keys are cast to
	cast string   // what a column is cast to where it is compared; "": to nothing
	oid  uint32   // under its domains
	kind row.Kind // of its values: Array for arrays
	elem row.Kind // of an array's elements
	bits int      // of an Int
	wide bool     // equality is wider than that of the text

	// folds says that of a wide type texts of printable ASCII are equal only if they are
	// without case and blanks at the end (see row.Fold), by a collation that is not wide.
	folds bool

	// record says that values have columns of their own, into which unnest takes
	// an array of keys apart.
	record bool

	ordered bool // there are = and <, and they are an order
	matches bool // LIKE takes it
	codec   codec

	// operators compare values of an extension's type: by the signs of SQL, with their schema.
	operators map[string]string

	read string // the expression for which codec is, with %s for the column
}

// valueTypeOf says how values of a type are read and written.
func valueTypeOf(t *catalog.Type) valueType {
	v := valueType{oid: t.OID, name: t.Name, base: t.Base, operators: t.Operators}
	if t.TypeType == "e" && t.Domain { // of all domains, the operators take none over enums
		v.cast = t.Base
	}
	if t.Elem != 0 { // not ordered: what lists compare is single values
		v.kind, v.wide = row.Array, true
		v.codec, v.read = readArray(t.Elem, t.ElemName, t.Domain || t.ElemDomain)
		v.codec.delim, v.elem = t.Delim[0], v.codec.kind
		return v
	}
	v.codec, v.read = readScalar(t.OID, t.Base, t.Domain)
	v.kind, v.record = v.codec.kind, t.TypeType == "c"
	v.ordered = isOrdered(t)
	v.matches = t.OID == pgtype.TextOID || t.OID == pgtype.VarcharOID ||
		t.OID == pgtype.BPCharOID || t.OID == pgtype.NameOID || isCitext(t.Base)
	switch t.OID {
	case pgtype.Int2OID:
		v.bits = 16
	case pgtype.Int4OID:
		v.bits = 32
	case pgtype.Int8OID, pgtype.OIDOID:
		v.bits = 64
	case pgtype.BPCharOID, pgtype.NumericOID:
		v.wide = true
	default: // citext, inet, interval, ...: who knows what their equality is
		v.wide = binaryKinds[t.OID] == row.Null && t.TypeType != "e"
	}
	v.folds = v.kind == row.Text && (t.OID == pgtype.BPCharOID || isCitext(t.Base))
	return v
}

// nameBytes is the longest text that the type name keeps; it cuts off the rest.
const nameBytes = 63

// keyPart returns a key's column of the type. What the type's input function would make
// another value of, as name of a long text and time of an offset, is no key.
func (v *valueType) keyPart(column string, maxLen int) row.KeyPart {
	p := row.KeyPart{Column: column, Kind: v.kind, Bits: v.bits, MaxLen: maxLen, Wide: v.wide}
	switch v.oid {
	case pgtype.NameOID:
		p.MaxBytes = nameBytes
	case pgtype.OIDOID:
		p.Kind, p.Bits = row.Uint, 32
	case pgtype.TimetzOID:
		p.Zone = true
	}
	return p
}

// readScalar returns how a type that is no array is read: in binary where that
// is known, else as the server's text. domain says that it is hidden under a
// domain, in whose name it would come in a record.
func readScalar(oid uint32, name string, domain bool) (c codec, read string) {
	if kind, ok := binaryKinds[oid]; ok {
		if read = "%s"; domain {
			read = "%s::" + name
		}
		return codec{oid: oid, kind: kind}, read
	}
	c = codec{oid: pgtype.TextOID, kind: row.Text}
	switch oid {
	case pgtype.NumericOID:
		c.kind = row.Decimal
	case pgtype.OIDOID:
		return codec{oid: pgtype.Int8OID, kind: row.Int}, "%s::int8"
	case pgtype.InetOID, pgtype.CIDROID:
		// The cast to text adds a /32 that the type's own text has not, and the
		// text of a key must be the one that a feed has.
		return c, "pg_catalog.textin(pg_catalog." + outputOf[oid] + "(%s))"
	}
	return c, "%s::text"
}

// outputOf are the functions that make the texts of types whose cast to text
// makes another.
var outputOf = map[uint32]string{pgtype.InetOID: "inet_out", pgtype.CIDROID: "cidr_out"}

// readArray returns how an array with elements of a type is read.
func readArray(elem uint32, name string, domain bool) (c codec, read string) {
	c, _ = readScalar(elem, name, false)
	c.array = true
	_, binary := binaryKinds[elem]
	switch {
	case binary && domain:
		return c, "%s::" + name + "[]"
	case binary:
		return c, "%s"
	case elem == pgtype.OIDOID:
		return c, "%s::int8[]"
	case outputOf[elem] != "":
		return c, "%s::text::text[]"
	}
	return c, "%s::text[]"
}

// isOrdered reports whether values of a type can be compared and sorted: what is not known
// to be so is not.
func isOrdered(t *catalog.Type) bool {
	switch t.OID {
	case pgtype.JSONOID, pgtype.JSONBOID:
		return false
	case pgtype.NumericOID, pgtype.OIDOID, pgtype.InetOID, pgtype.CIDROID, pgtype.MacaddrOID,
		pgtype.Macaddr8OID, pgtype.IntervalOID, pgtype.BitOID, pgtype.VarbitOID:
		return true
	}
	return binaryKinds[t.OID] != row.Null || t.TypeType == "e" || isCitext(t.Base)
}

// isCitext reports whether a type is that of the extension citext.
func isCitext(name string) bool {
	return name == "citext" || strings.HasSuffix(name, ".citext")
}
