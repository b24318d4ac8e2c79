package sqlread

import "strings"

// A dataType is a type of the server's own, whose input and output only settings of the session
// can change.
type dataType struct {
	name       string
	oid, array uint32 // array is the type of arrays of it
	timed      bool   // a text may mean another time at each reading
	casts      string // words by which a value may be cast to it
}

// dataTypes are the types that columns and parameters may have. It lacks, on purpose, the types
// whose texts are looked up in the catalogue (regclass and its like, aclitem), xml, which a setting
// reads in two ways, and timetz, of which a text without a zone means the zone's offset of today.
var dataTypes = []dataType{
	{name: "bool", oid: 16, array: 1000, casts: "bool boolean"},
	{name: "bytea", oid: 17, array: 1001},
	{name: "char", oid: 18, array: 1002},
	{name: "name", oid: 19, array: 1003},
	{name: "int8", oid: 20, array: 1016, casts: "int8 bigint"},
	{name: "int2", oid: 21, array: 1005, casts: "int2 smallint"},
	{name: "int4", oid: 23, array: 1007, casts: "int4 int integer"},
	{name: "text", oid: 25, array: 1009, casts: "text"},
	{name: "oid", oid: 26, array: 1028},
	{name: "json", oid: 114, array: 199},
	{name: "point", oid: 600, array: 1017},
	{name: "cidr", oid: 650, array: 651},
	{name: "float4", oid: 700, array: 1021, casts: "float4 real"},
	{name: "float8", oid: 701, array: 1022, casts: "float8 float double"},
	{name: "money", oid: 790, array: 791},
	{name: "macaddr8", oid: 774, array: 775},
	{name: "macaddr", oid: 829, array: 1040},
	{name: "inet", oid: 869, array: 1041},
	{name: "bpchar", oid: 1042, array: 1014},
	{name: "varchar", oid: 1043, array: 1015, casts: "varchar"},
	{name: "date", oid: 1082, array: 1182, timed: true, casts: "date"},
	{name: "time", oid: 1083, array: 1183, timed: true},
	{name: "timestamp", oid: 1114, array: 1115, timed: true, casts: "timestamp"},
	{name: "timestamptz", oid: 1184, array: 1185, timed: true, casts: "timestamptz"},
	{name: "interval", oid: 1186, array: 1187},
	{name: "bit", oid: 1560, array: 1561},
	{name: "varbit", oid: 1562, array: 1563},
	{name: "numeric", oid: 1700, array: 1231, casts: "numeric decimal"},
	{name: "uuid", oid: 2950, array: 2951, casts: "uuid"},
	{name: "jsonb", oid: 3802, array: 3807, casts: "jsonb"},
}

// castTypes are the types that values may be cast to, by the words for them.
var castTypes, typesByOID = indexTypes()

func indexTypes() (casts map[string]*dataType, oids map[uint32]*dataType) {
	casts, oids = make(map[string]*dataType), make(map[uint32]*dataType)
	for i := range dataTypes {
		t := &dataTypes[i]
		oids[t.oid], oids[t.array] = t, t
		for word := range strings.FieldsSeq(t.casts) {
			casts[word] = t
		}
	}
	return casts, oids
}

// lookCast returns the type that a token names; nil: none that is listed.
func lookCast(t token) *dataType {
	var b [len("timestamptz")]byte
	if t.kind != word || len(t.text) > len(b) {
		return nil
	}
	for i := range len(t.text) {
		b[i] = lower(t.text[i])
	}
	return castTypes[string(b[:len(t.text)])]
}
