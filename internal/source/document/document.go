// Package document is the engine that reads and writes the rows of tables as
// documents. It is written once for every SQL database: a driver gives it the
// schema (Schema), a way to run statements (Conn, Database) and a Dialect, and
// each difference between databases is one named hook of those.
package document

import (
	"context"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A Column is one column of a table, or of a query's answer, as its driver knows
// it. Two are the same if they are the same pointer.
type Column interface {
	// Info returns what the catalogue says. The caller does not change it.
	Info() *source.Column

	// As returns a copy of the column under another name.
	As(name string) Column

	// Field returns the kind of the column as a member of documents, and whether
	// it is one unless the Spec says otherwise. key says that it is in the key.
	Field(key bool) (f row.Field, shown bool)

	// KeyPart returns the column as a part of a key.
	KeyPart() row.KeyPart

	// CanBeKey reports whether its values have a text that can name a row.
	CanBeKey() bool

	// InTuple reports whether a Change tells the values of the column.
	InTuple() bool

	// Auto reports whether the database makes a value where null is given.
	Auto() bool

	// KeyText returns the text of a value in a key; false: it can be in none.
	KeyText(v row.Value) (string, bool)

	// KeyArg returns what the text of a key's part is bound as. The error is that
	// of a text which no row can have.
	KeyArg(text string) (any, error)

	// Operand returns what a text that KeyPart has read is bound as to be compared with
	// the column in any way. The error says why no row has the value.
	Operand(text string) (any, error)

	// Matches reports whether patterns can be matched with the column's values, and
	// Compares whether the database has an order of them.
	Matches() bool
	Compares() bool

	// Arg returns what the value of a body is bound as. The error says why the
	// column cannot hold it.
	Arg(v row.Value) (any, error)
}

// A Table is one table or view, or the answer of a query.
type Table struct {
	source.Table
	Cols   []Column // those that this user may read
	From   string   // as an item of FROM
	Into   string   // as INSERT names it
	Result bool     // the answer of a query
	Native any      // the driver's own

	// ByItself says why what a read finds changes without a change of a row; "": it does not.
	// Schema.Allowed and Schema.Followed may set it.
	ByItself string

	// ReportsOld says that every feed tells the whole of a row as it was.
	ReportsOld bool

	// Unique reports whether no two rows can have the same values in columns.
	Unique func(columns []string) bool
}

// A Row is one row of an answer. It is valid until the function that was given it
// returns.
type Row interface {
	// Value returns the value in this place, which is that of it. An error that is
	// source.ErrReshaped says that it is not of the type that the column was.
	Value(place int, it *Item) (row.Value, error)

	// Cell returns what a key needs to know of the value in this place, which is of
	// col. It reports false for a value that can be in no key.
	Cell(place int, col Column) (cell source.Cell, ok bool, err error)

	// Version returns what changes with every update of the row, see
	// Dialect.Version, to be compared by reflect.DeepEqual. The caller may keep it.
	Version() (any, error)
}

// A Statement is one statement and what it is for, from which a driver may see how
// to run it.
type Statement struct {
	SQL  string
	Use  Use
	Node *Node // whose rows it is about
	Keys int   // how many keys it asks for
}

// A Use is what a statement is for.
type Use uint8

// The uses.
const (
	UseOther    Use = iota
	UseByKey        // the rows of keys, which are found by an index
	UseByParent     // the rows embedded in parents
	UseUpdate       // of the row of a key
)

// A Conn is one session, within a transaction or without.
type Conn interface {
	// Query runs a statement and calls each for every row.
	Query(ctx context.Context, st *Statement, args []any, each func(Row) error) error

	// Exec runs a statement, and returns how many rows it has changed where the
	// database says so.
	Exec(ctx context.Context, st *Statement, args []any) (int64, error)
}

// A Transaction is what Database.Transact runs between BEGIN and COMMIT.
type Transaction struct {
	Run      func(context.Context, Conn) error
	Again    bool // it is a whole new try
	Identify bool // asks for Committed.Mark

	// As is who changes rows; nil: this user. Whatever only reads is this user's.
	As *source.Session

	// Touch is told the changes by a database whose Dialect.ReportsChanges.
	Touch func([]source.Change, source.Position)
}

// Committed is what is known of a transaction: see source.Written.
type Committed struct {
	Position source.Position
	Mark     uint64
}

// A Database is the driver, as far as a plan needs it.
type Database interface {
	// Writable returns the error of a write to a database that takes none.
	Writable() error

	// Transact runs a transaction that writes, and commits it. It may run it again. retry
	// reports whether a whole new try may help.
	Transact(ctx context.Context, t *Transaction) (done Committed, retry bool, err error)

	// Read runs fn, which only reads, on a connection; in a transaction in which all
	// statements see one state of the database, if snapshot. It may run fn again.
	Read(ctx context.Context, snapshot bool, fn func(context.Context, Conn) error) error

	// Begin bounds the time of so many statements.
	Begin(ctx context.Context, statements int) (context.Context, context.CancelFunc)

	// Classify returns err as a *source.Error, unless it is one or nil.
	Classify(err error) error
}

// A Dialect is how a database writes what the engine asks: data and a few
// functions.
type Dialect struct {
	// Column returns a column as statements about n name it.
	Column func(n *Node, col Column) string

	// Compared returns a column as it is compared with a value, or with another column. It
	// is also what is read where the other side of IN is a SELECT. nil: as Column.
	Compared func(n *Node, col Column) string

	// Operator returns how a comparison of two columns, or of one and a value of its type
	// (b is nil), is written whose sign SQL has. nil: as the sign.
	Operator func(a, b Column, sign string) string

	// Read returns the expression that reads a column.
	Read func(n *Node, col Column) string

	// Quote writes an identifier.
	Quote func(name string) string

	// Aliased says that a table has an alias in every statement.
	Aliased bool

	// Fold says that the database takes the name of a column in any case.
	Fold bool

	// Nested is how one statement reads documents with all that is embedded in them. nil: the
	// engine reads one level after the other.
	Nested *Nested

	// Param returns the placeholder of a parameter that is compared with a column.
	// It is asked only where parameters are not Numbered.
	Param func(col Column) string

	// KeyParam is the placeholder of a parameter that is compared with a column of a key;
	// "": Param. Rows of any key are found in the same way, so nothing is to be learned from
	// its value.
	KeyParam string

	// Ordered returns the expression by which a list is ordered; nil: as Column. Present
	// returns the condition that a row's value may be in a key, "" for none; nil: that it is
	// not NULL.
	Ordered func(n *Node, col Column) string
	Present func(n *Node, col Column) string

	// RowValues says that (a, b) > (x, y) follows an index of both.
	RowValues bool

	// BindAsParent says that what holds the parent's key is compared with a value of
	// the parent's column; else with one of its own column.
	BindAsParent bool

	// Match returns the condition that columns are those of one of keys, and its
	// arguments, whose parameters are numbered after so many. It reports false when
	// no row can have any of the keys. nil: each column is compared with a Param.
	Match func(n *Node, cols []Column, keys []row.Key, after int) (string, []any, bool)

	// Many says that Match takes any number of keys: else it is given one.
	Many bool

	// NoSuchText reports whether an error says that a text cannot be compared with
	// the column's, so that no row has it. nil: no error does.
	NoSuchText func(error) bool

	// Version is an expression that changes with every update of a row, the first in
	// its answer; %s is the alias. "": all columns of the row are compared.
	Version string

	// ReportsChanges says that the database itself says which rows a transaction
	// changes, and lets nobody else write meanwhile: the engine need not compare rows,
	// nor lock them. Exec says how many rows it has changed.
	ReportsChanges bool

	// Lock is what ends a SELECT that locks its rows; %s is the table's alias.
	Lock string

	// Made returns the expression that a new row's column is set to, and Changed
	// that of a row that is there. The value is the parameter of this number.
	Made    func(n *Node, col Column, param int) string
	Changed func(n *Node, col Column, param int) string

	// Finish has the database do, when all rows of a write of p are written, what it
	// would else do to them at COMMIT. nil: it does nothing then.
	Finish func(ctx context.Context, c Conn, p *Plan) error

	// Numbered says that parameters are numbered. Else each ? takes an argument.
	Numbered bool

	// Default returns the expression of a column's default value.
	Default func(col Column) string

	// Empty is what follows INSERT INTO of a row without any value of ours.
	Empty string

	// Inserted runs an INSERT and returns the key of its row, for a database that
	// has no RETURNING. nil: the engine does it by RETURNING.
	Inserted func(ctx context.Context, c Conn, st *Statement, args []any,
		list []Assignment) (row.Key, error)

	// Filters are how conditions of queries are written.
	Filters Filters

	// Enforces says that a foreign key lets no row refer to one that is not there.
	Enforces bool

	// Duplicate reports whether an error is that of a unique value twice.
	Duplicate func(error) bool
}

// A RowTaker takes rows: first it is told how many there are.
type RowTaker interface {
	Begin(rows int) error
	Take(Row) error
}

// Nested is how a database reads the rows that are embedded in another as one value of it.
type Nested struct {
	// Expr returns the expression that reads the rows with these expressions that a SELECT
	// finds, from being what follows them there.
	Expr func(exprs, from string) string

	// Rows gives to the rows that the value in this place of r has, of so many columns.
	Rows func(r Row, place, columns int, to RowTaker) error

	// ByKey returns the statement that reads the row of one key, whose parts are its
	// parameters.
	ByKey func(p *Plan) *Statement

	// ByKeys reads the rows of canonical keys, and calls each with which key one is of.
	ByKeys func(ctx context.Context, c Conn, p *Plan, keys []row.Key,
		each func(key int, r Row) error) error
}
