package source

import "context"

// A Definer is a Source that says what the statements of its users mean.
type Definer interface {
	// Stamp returns what changes with any of the definitions, in a snapshot that begins
	// after the call. It is cheap where nothing has changed.
	Stamp(ctx context.Context) (Stamp, error)

	// Definitions returns all of them, in one snapshot.
	Definitions(ctx context.Context) (*Definitions, error)

	// Alive reports whether a session of this process has not ended yet.
	Alive(ctx context.Context, pid uint32) (bool, error)
}

// A Stamp tells one state of the definitions from another.
type Stamp struct {
	Sum      string // of the catalogue
	Loaded   string // when the server has read its configuration last
	Server   int64  // when it was started, in microseconds since 2000: it tells servers apart
	Database string
}

// Definitions are what names in statements may mean, and what runs code of users.
type Definitions struct {
	Stamp
	Relations []Relation

	// Names are those of functions, types and views of users: a statement that has one may
	// run code of theirs. Operators says that any operator or cast may, too.
	Names     []string
	Operators bool

	// Redefined says that users have made an operator that compares values of the server's own
	// types, or a cast between those.
	Redefined bool
}

// A Relation is a table, or whatever else has a name among tables.
type Relation struct {
	OID          uint32
	Schema, Name string

	// Rows says that an answer depends on nothing but rows that a feed can tell of: it is a
	// table without row security, and neither has partitions or heirs nor is one.
	Rows bool

	// Plain says that a change of a row runs no code of users, in this table or in those of
	// Reaches, whose rows foreign keys change with it.
	Plain   bool
	Reaches []uint32

	Columns []RelationColumn
	Unique  [][]string // columns that tell rows apart, and are never NULL
	Keyed   bool       // it has a primary key
}

// A RelationColumn is a column by its name and the number of its type.
type RelationColumn struct {
	Name string
	Type uint32
}
