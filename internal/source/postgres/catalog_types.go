package postgres

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hotrow/hotrow/internal/row"
)

// typeColumns and typeJoins describe the type a.atttypid of a query's FROM
// item a: what it is under its domains, and what its elements are if it is an
// array. Names come from format_type with the modifier -1, which is the type
// without one: format_type(bpchar, NULL) would be "character", which is char(1).
const (
	typeWith = `WITH RECURSIVE dom(oid, base, typmod) AS (
		SELECT oid, typbasetype, typtypmod FROM pg_catalog.pg_type WHERE typtype = 'd'
		UNION ALL
		SELECT d.oid, t.typbasetype,
			CASE WHEN d.typmod >= 0 THEN d.typmod ELSE t.typtypmod END
		FROM dom d JOIN pg_catalog.pg_type t ON t.oid = d.base
		WHERE t.typtype = 'd'
	), base AS (
		SELECT d.* FROM dom d JOIN pg_catalog.pg_type t ON t.oid = d.base
		WHERE t.typtype <> 'd'
	) `
	typeColumns = `bt.oid, bt.typname::text, bt.typtype::text, b.oid IS NOT NULL,
		pg_catalog.format_type(a.atttypid, -1), pg_catalog.format_type(bt.oid, -1),
		COALESCE(b.typmod, -1), COALESCE(et.oid, 0::oid), eb.oid IS NOT NULL,
		COALESCE(pg_catalog.format_type(et.oid, -1), ''), COALESCE(et.typdelim, ',')::text`
	typeJoins = ` LEFT JOIN base b ON b.oid = a.atttypid
		JOIN pg_catalog.pg_type bt ON bt.oid = COALESCE(b.base, a.atttypid)
		LEFT JOIN base eb ON eb.oid = bt.typelem AND bt.typcategory = 'A'
		LEFT JOIN pg_catalog.pg_type et ON et.oid = COALESCE(eb.base, bt.typelem)
			AND bt.typcategory = 'A' AND bt.oid NOT IN (22, 30) `
)

// A typeRow is what typeColumns read.
type typeRow struct {
	oid        uint32 // under its domains
	typname    string
	typtype    string
	domain     bool
	name       string // as SQL writes the type that was asked about
	base       string // as SQL writes the type under its domains
	typmod     int32  // that a domain gives, or -1
	elem       uint32 // under its domains; 0: not an array
	elemDomain bool
	elemName   string
	delim      string // between elements: a semicolon for boxes
}

// targets returns where to scan typeColumns to.
func (t *typeRow) targets() []any {
	return []any{&t.oid, &t.typname, &t.typtype, &t.domain, &t.name, &t.base,
		&t.typmod, &t.elem, &t.elemDomain, &t.elemName, &t.delim}
}

// A valueType is what hotrow makes of a type.
type valueType struct {
	name string   // as SQL writes it: what the parameters of writes are cast to
	base string   // under its domains: what keys are cast to
	oid  uint32   // under its domains
	kind row.Kind // of its values: Array for arrays
	elem row.Kind // of an array's elements
	bits int      // of an Int
	wide bool     // equality is wider than that of the text
	// record says that values have columns of their own, into which unnest takes
	// an array of keys apart.
	record bool
	codec  codec
	read   string // the expression for which codec is, with %s for the column
}

// valueType says how values of the type are read and written.
func (t *typeRow) valueType() valueType {
	v := valueType{oid: t.oid, name: t.name, base: t.base}
	if t.elem != 0 {
		v.kind, v.wide = row.Array, true
		v.codec, v.read = readArray(t.elem, t.elemName, t.domain || t.elemDomain)
		v.codec.delim, v.elem = t.delim[0], v.codec.kind
		return v
	}
	v.codec, v.read = readScalar(t.oid, t.base, t.domain)
	v.kind, v.record = v.codec.kind, t.typtype == "c"
	switch t.oid {
	case pgtype.Int2OID:
		v.bits = 16
	case pgtype.Int4OID:
		v.bits = 32
	case pgtype.Int8OID, pgtype.OIDOID:
		v.bits = 64
	case pgtype.BPCharOID, pgtype.NumericOID:
		v.wide = true
	default: // citext, inet, interval, ...: who knows what their equality is
		v.wide = binaryKinds[t.oid] == row.Null && t.typtype != "e"
	}
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
