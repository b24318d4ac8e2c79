package catalog

// TypeWith, TypeColumns and TypeJoins describe the type a.atttypid of a query's FROM
// item a: what it is under its domains, and what its elements are if it is an
// array. Names come from format_type with the modifier -1, which is the type
// without one: format_type(bpchar, NULL) would be "character", which is char(1).
const (
	TypeWith = `WITH RECURSIVE dom(oid, base, typmod) AS (
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
	TypeColumns = `bt.oid, bt.typname::text, bt.typtype::text, b.oid IS NOT NULL,
		pg_catalog.format_type(a.atttypid, -1), pg_catalog.format_type(bt.oid, -1),
		COALESCE(b.typmod, -1), COALESCE(et.oid, 0::oid), eb.oid IS NOT NULL,
		COALESCE(pg_catalog.format_type(et.oid, -1), ''), COALESCE(et.typdelim, ',')::text,
		COALESCE(et.typtype, ' ')::text`
	TypeJoins = ` LEFT JOIN base b ON b.oid = a.atttypid
		JOIN pg_catalog.pg_type bt ON bt.oid = COALESCE(b.base, a.atttypid)
		LEFT JOIN base eb ON eb.oid = bt.typelem AND bt.typcategory = 'A'
		LEFT JOIN pg_catalog.pg_type et ON et.oid = COALESCE(eb.base, bt.typelem)
			AND bt.typcategory = 'A' AND bt.oid NOT IN (22, 30) `
)

// A Type is what TypeColumns read.
type Type struct {
	OID        uint32 // under its domains
	TypeName   string // pg_type.typname
	TypeType   string // pg_type.typtype
	Domain     bool
	Name       string // as SQL writes the type that was asked about
	Base       string // as SQL writes the type under its domains
	Mod        int32  // that a domain gives, or -1
	Elem       uint32 // under its domains; 0: not an array
	ElemDomain bool
	ElemName   string
	Delim      string // between elements: a semicolon for boxes
	ElemType   string // pg_type.typtype of them

	// Operators are those of a type that is not PostgreSQL's own, in its indexes by default:
	// by their names, with their schema. Table has them, TypeColumns has not.
	Operators map[string]string
}

// Targets returns where to scan TypeColumns to.
func (t *Type) Targets() []any {
	return []any{&t.OID, &t.TypeName, &t.TypeType, &t.Domain, &t.Name, &t.Base,
		&t.Mod, &t.Elem, &t.ElemDomain, &t.ElemName, &t.Delim, &t.ElemType}
}
