// Package catalog reads what PostgreSQL says of itself: its tables, its settings, the
// publication, and fingerprints of whatever documents stand on.
//
// It is the one reader of the catalogue: what is compiled, what the doctor looks at and
// what the feeds watch are the same tables.
package catalog

import (
	"github.com/hotrow/hotrow/internal/source"
)

// The kinds of relations, as pg_class.relkind has them.
const (
	KindTable       = "r"
	KindPartitioned = "p"
	KindView        = "v"
	KindMaterial    = "m"
	KindForeign     = "f"
)

// FirstUserOID is the first OID that is not of PostgreSQL's own making
// (FirstNormalObjectId in access/transam.h).
const FirstUserOID = 16384

// A Table is one table of the catalogue, with what source.Table does not say.
type Table struct {
	source.Table          // its Columns and its Refused are for who knows the types
	OID          uint32   // pg_class.oid
	Kind         string   // pg_class.relkind
	Persistence  string   // pg_class.relpersistence
	Identity     string   // pg_class.relreplident
	RLS          bool     // row-level security
	Owner        bool     // this user may alter it
	Usage        bool     // this user may use its schema
	Select       bool     // this user may read some of its columns
	Parent       bool     // other tables inherit from it, and it is not partitioned
	Subscribed   bool     // a subscription writes rows of it, for which only some triggers fire
	Leaves       []string // of a partitioned table: the replica identities of its partitions
	Aside        []Leaf   // of a partitioned table: the partitions that no log has changes of
	Cols         []Column // in order
	Indexes      []Index  // unique, valid, of columns alone; the primary key first
	Triggers     []Trigger
}

// A Leaf is a partition that holds rows, at whatever level.
type Leaf struct{ Schema, Name, Kind, Persistence string }

// SQL returns the partition's name for SQL.
func (l *Leaf) SQL() string { return QuoteName(l.Schema, l.Name) }

// Unlogged says what a table of such a kind and persistence is that keeps its changes out
// of the write-ahead log, and where they are not; "" if they are there.
func Unlogged(kind, persistence string) (what, why string) {
	const notLogged = "its changes are not in the write-ahead log"
	switch {
	case kind == KindForeign:
		return "a foreign table", "its changes are not in this database"
	case kind == KindMaterial:
		return "a materialized view", notLogged
	case persistence == "u":
		return "unlogged", notLogged
	case persistence == "t":
		return "temporary", notLogged
	}
	return "", ""
}

// A Column is one column of a table.
type Column struct {
	source.Column // without its Kind, Bits and Wide
	Type          Type
	Num           int16
	MaxLen        int  // of a text, in characters; 0: no bound
	Select        bool // this user may read it
	WideCollation bool // texts that are not the same may be equal
	Casts         bool // its cast to text is a function of the user's
}

// An Index is one unique index. What it only includes is not among its columns.
type Index struct {
	Name      string
	Columns   []string
	Primary   bool
	Identity  bool // it is the replica identity
	Immediate bool // and not deferrable
	NotNull   bool // none of its columns can be null
}

// A Trigger is one trigger of a table.
type Trigger struct {
	Name     string
	Function string // schema.name
	Enabled  string // pg_trigger.tgenabled
	Type     int    // pg_trigger.tgtype
	Partial  bool   // it has a WHEN or an UPDATE OF
	Source   string // of hotrow's own functions
	Notifies bool   // its function notifies a channel named after the table
}

// SQL returns the table's name for SQL.
func (t *Table) SQL() string { return QuoteName(t.Schema, t.Name) }

// IdentityKey returns the columns of the index that is the replica identity.
func (t *Table) IdentityKey() []string {
	for _, x := range t.Indexes {
		if x.Identity {
			return x.Columns
		}
	}
	return nil
}

// Column returns the column called name.
func (t *Table) Column(name string) (*Column, bool) {
	for i := range t.Cols {
		if t.Cols[i].Name == name {
			return &t.Cols[i], true
		}
	}
	return nil, false
}
