package source

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Store is a database as the place of tables that hotrow itself owns. The
// Sources of databases that speak SQL are Stores; what a driver needs stays
// in their packages. Its methods may be called by many goroutines.
//
// Statements are those of the database's Dialect, with ? for each parameter in
// every one of them. Arguments are nil, bool, int, int64, float64, string and
// []byte; a bool is stored as 0 or 1.
//
// What a Tx commits is told to the feeds as any other write is. Rows of tables
// that no resource reads cost them next to nothing: SQLite tells such a table
// as a whole, a PostgreSQL publication does not have it, and the binary log's
// reader does not decode its rows. On SQLite everything is written by the one
// connection that the feed also looks with: a Tx keeps fences waiting, and so
// should stay well below the feed's stale_after (a few thousand rows each).
type Store interface {
	// Dialect returns which SQL the database speaks.
	Dialect() Dialect

	// Tx runs fn in one transaction that sees what others have committed before
	// each of its statements, and returns its position (see Written). An error
	// of fn ends the transaction and is returned as it is. Where the database
	// asks for the transaction once more (a deadlock, a serialization failure),
	// fn is called again: it must not keep anything of a call that failed.
	//
	// A statement that fails ends the transaction: fn returns its error.
	// MariaDB and MySQL commit at each statement that defines a table.
	Tx(ctx context.Context, fn func(StoreTx) error) (Position, error)

	// Query runs a statement that only reads, on the connections that loads use,
	// and calls each for every row. An error of each ends it.
	Query(ctx context.Context, sql string, args []any, each func(StoreRow) error) error
}

// TryTx calls once, a try of a Tx, with 1, 2 and 3 until it succeeds, says that another try is of
// no use.
func TryTx(ctx context.Context, once func(try int) (Position, bool, error)) (
	Position, error,
) {
	const tries = 3
	for try := 1; ; try++ {
		pos, again, err := once(try)
		if err == nil || !again || try == tries || ctx.Err() != nil {
			return pos, err
		}
	}
}

// ErrBrokeOff ends a Query that broke off after its caller had got rows: another
// try would give them twice.
var ErrBrokeOff = &Error{Class: Unavailable, After: time.Second,
	Message: "the connection to the database was lost while it answered"}

// A StoreTx is a transaction under way. It is for one goroutine at a time.
type StoreTx interface {
	// Exec runs a statement and returns how many rows it found to change.
	Exec(ctx context.Context, sql string, args ...any) (int64, error)

	// Insert adds one row to a table whose key, id, the database makes. It
	// reports false, and the transaction goes on, when a unique key is taken.
	Insert(ctx context.Context, table string, columns []string, values ...any) (
		id int64, ok bool, err error)

	// Query is Store.Query within the transaction. It may lock rows.
	Query(ctx context.Context, sql string, args []any, each func(StoreRow) error) error

	// Bulk adds many rows to one table the fastest way that the database has.
	Bulk(ctx context.Context, b *Bulk) error
}

// A Bulk is rows that go into one table.
type Bulk struct {
	Table   string
	Columns []string
	Rows    int

	// Row sets the values of row i in into, which has one place for each column
	// and is nil everywhere. Values of one column are all of one type, or nil.
	// Byte slices are not kept longer than Bulk runs.
	Row func(i int, into []any)

	// Key and Merge say what becomes of a row whose key is there already. Key
	// is the columns of the primary key. Without it such a row is an error that
	// ends the transaction (Conflict); with it and no Merge the row is left out;
	// else the row that is there is changed as Merge says.
	Key   []string
	Merge []Merge
}

// A Merge says how a column of a row that is there takes the new value.
type Merge struct {
	Column string
	How    MergeOp
}

// MergeOp is what is done with the old value and the new one.
type MergeOp uint8

// The operations. MergeMin and MergeMax take a null for no value.
const (
	MergeSet MergeOp = iota
	MergeAdd
	MergeMin
	MergeMax
)

// Dialect is the SQL of one kind of database.
type Dialect string

// The dialects. MariaDB's is that of MySQL.
const (
	DialectSQLite   Dialect = "sqlite"
	DialectPostgres Dialect = "postgres"
	DialectMySQL    Dialect = "mysql"
)

// Quote writes an identifier.
func (d Dialect) Quote(name string) string {
	if d == DialectMySQL {
		return "`" + strings.ReplaceAll(name, "`", "``") + "`"
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// quoted writes identifiers with commas between them.
func (d Dialect) quoted(names []string) string {
	var b strings.Builder
	for i, n := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(d.Quote(n))
	}
	return b.String()
}

// InsertSQL returns an INSERT of rows rows with a ? for each value, and what
// Key and Merge of b ask for behind them. With rows 0 it ends before VALUES,
// and ConflictSQL is what follows the rows.
func (d Dialect) InsertSQL(b *Bulk, rows int) string {
	verb := "INSERT INTO "
	if d == DialectMySQL && len(b.Key) > 0 && len(b.Merge) == 0 {
		verb = "INSERT IGNORE INTO "
	}
	head := verb + d.Quote(b.Table) + " (" + d.quoted(b.Columns) + ") "
	if rows == 0 {
		return head
	}
	one := "(?" + strings.Repeat(",?", len(b.Columns)-1) + ")"
	return head + "VALUES " + one + strings.Repeat(","+one, rows-1) + d.ConflictSQL(b)
}

// ConflictSQL returns the clause that Key and Merge of b ask for, with a space
// before it; "" when there is none.
func (d Dialect) ConflictSQL(b *Bulk) string {
	if len(b.Key) == 0 || d == DialectMySQL && len(b.Merge) == 0 {
		return ""
	}
	if len(b.Merge) == 0 {
		return " ON CONFLICT (" + d.quoted(b.Key) + ") DO NOTHING"
	}
	sets := make([]string, len(b.Merge))
	for i, m := range b.Merge {
		sets[i] = d.Quote(m.Column) + " = " + d.merged(b.Table, m)
	}
	if d == DialectMySQL {
		return " ON DUPLICATE KEY UPDATE " + strings.Join(sets, ", ")
	}
	return " ON CONFLICT (" + d.quoted(b.Key) + ") DO UPDATE SET " + strings.Join(sets, ", ")
}

// merged writes the value that a column gets from the old one and the new one.
func (d Dialect) merged(table string, m Merge) string {
	col := d.Quote(m.Column)
	older, newer := d.Quote(table)+"."+col, "excluded."+col
	least, greatest := "min", "max"
	if d == DialectMySQL {
		newer = "VALUES(" + col + ")"
	}
	if d != DialectSQLite {
		least, greatest = "least", "greatest"
	}
	switch m.How {
	case MergeAdd:
		return older + " + " + newer
	case MergeMin, MergeMax:
		name := least
		if m.How == MergeMax {
			name = greatest
		}
		// SQLite's and MySQL's functions give NULL when one of the two is.
		return "coalesce(" + name + "(" + older + ", " + newer + "), " + newer + ", " + older + ")"
	}
	return newer
}

// Rebinder turns the ? of statements into the $1, $2, ... of PostgreSQL, and
// remembers what it has turned: programs have few statements. The zero Rebinder
// is ready to use, by many goroutines.
type Rebinder struct {
	known sync.Map // string to string
}

// Rebind returns the statement with numbered parameters. A ? within quotes is
// left alone.
func (r *Rebinder) Rebind(sql string) string {
	if !strings.Contains(sql, "?") {
		return sql
	}
	if done, ok := r.known.Load(sql); ok {
		return done.(string)
	}
	var b strings.Builder
	n, quote := 0, byte(0)
	for i := range len(sql) {
		c := sql[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '?':
			n++
			b.WriteString("$" + strconv.Itoa(n))
			continue
		}
		b.WriteByte(c)
	}
	out := b.String()
	r.known.Store(sql, out)
	return out
}

// A StoreRow is one row of an answer, as the driver gave it. It is valid until
// the function that got it returns; what its methods return may be kept.
type StoreRow []any

// Null reports whether column i is null.
func (r StoreRow) Null(i int) bool { return r[i] == nil }

// Int returns the integer in column i; 0 for null and for what is none.
func (r StoreRow) Int(i int) int64 {
	switch v := r[i].(type) {
	case int64:
		return v
	case int32:
		return int64(v)
	case int16:
		return int64(v)
	case int:
		return int64(v)
	case uint64:
		return int64(v)
	case bool:
		if v {
			return 1
		}
	case float64:
		return int64(v)
	case []byte:
		return parseInt(string(v))
	case string:
		return parseInt(v)
	}
	return 0
}

// parseInt reads an integer that a driver gave as text; 0 when it is none.
func parseInt(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Text returns the text in column i; "" for null.
func (r StoreRow) Text(i int) string {
	switch v := r[i].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// Bytes returns a copy of the bytes in column i; nil for null.
func (r StoreRow) Bytes(i int) []byte {
	switch v := r[i].(type) {
	case []byte:
		return append([]byte{}, v...)
	case string:
		return []byte(v)
	}
	return nil
}
