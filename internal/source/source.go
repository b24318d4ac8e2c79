// Package source says what hotrow asks of a database: to read rows as
// documents (Plan), to write them, and to say which rows have changed (Feed).
//
// It holds the interfaces and the values that cross them, and no database. One
// package below it speaks to each; package sourcetest is the suite that every
// one of them passes.
package source

import (
	"context"
	"time"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
)

// A Source is one database. Its methods may be called by many goroutines.
type Source interface {
	// Catalog reads which tables there are. Hotrow's own and the system's are
	// left out.
	Catalog(ctx context.Context) (*Catalog, error)

	// Compile checks spec against the catalogue and prepares its statements.
	// Errors name the table or column that is wrong and the nearest right one.
	Compile(ctx context.Context, spec *Spec) (Plan, error)

	// OpenFeed returns the feed for mode that follows these tables, or the best
	// that this database and user allow when mode is FeedAuto, with a sentence
	// that says why that one. It returns FeedNone's nil Feed when there is none. An
	// UnfollowedError names tables without which there may be one.
	OpenFeed(ctx context.Context, mode FeedMode, tables []Watched) (Feed, string, error)

	// Doctor compares the database with what mode needs for these tables. It
	// changes nothing: the caller runs Finding.Apply or Finding.Remove.
	Doctor(ctx context.Context, mode FeedMode, tables []Watched) ([]Finding, error)

	// Exec runs statements in one transaction. It serves Doctor and tests.
	Exec(ctx context.Context, statements ...string) error

	// Stats returns a snapshot of the connection pool.
	Stats() PoolStats

	// Close closes every connection. Loads under way end with an error.
	Close() error
}

// A Plan is one resource, compiled: its statements, its shape, its key. It is
// made by Source.Compile and never changes.
type Plan interface {
	// Shape returns how rows of the plan are encoded.
	Shape() *row.Shape

	// KeyType returns the columns of the key and their types.
	KeyType() row.KeyType

	// Deps returns the tables whose rows feed the documents.
	Deps() []Dep

	// ByItself says why a document can change without a change of any row, so that no copy
	// of one may be kept but for a time: a column is made when it is read. "": none can.
	ByItself() string

	// Load reads the documents of keys: one statement, or one transaction with
	// one snapshot. The answer has one Loaded for each key, in order.
	Load(ctx context.Context, keys []row.Key) ([]Loaded, error)

	// List reads up to limit documents whose key follows after (nil: from the
	// beginning), in the order of the key's columns.
	List(ctx context.Context, after *row.Key, limit int) ([]Loaded, error)

	// Table returns what queries may ask about; nil where there are no lists.
	Table() *query.Table

	// Select reads the rows that q, of Table, asks for, in one snapshot.
	Select(ctx context.Context, q *query.Query) (*Selected, error)

	// Write changes one document in one transaction and reads it again.
	Write(ctx context.Context, w *Write) (*Written, error)

	// SQL returns the statements of Load, for people.
	SQL() []string

	// Check asks the database how it would run Load, and returns what an
	// operator should know: a missing index, a comparison that needs a scan.
	Check(ctx context.Context) ([]Finding, error)
}

// A Typed is a Plan whose statements name types. A type may be renamed while all else is as
// it was.
type Typed interface {
	// Types returns the names, in an order that depends on the tables alone.
	Types() []string
}

// A Pathed is a Plan whose documents depend on rows that are told apart by paths, and on no
// others: a change of a row that no path leads to changes no document.
type Pathed interface {
	// Paths returns the paths; nil: the plan is none of these.
	Paths() []Path
}

// A Path leads from the key of a document to the rows that feed it, table by table.
type Path struct {
	Parts []int  // of the key, that PathStep.On of the first step is equal to
	Steps []Step // at least one
	Text  string // as it was configured, for people
}

// A Step is one table of a Path. Its rows are found by their On.
type Step struct {
	Table string
	On    []string // nil: any row of the table may feed the document
	Named bool     // values of On that are equal have one text, which changes tell
	Why   string   // On is not Named

	// KnowsOld says that every feed of the source tells what On of a row was.
	KnowsOld bool
}

// A Led is a value that Step.On of rows is equal to, of a step behind the first of a Path.
type Led struct {
	Path, Step int
	By         row.Key
	Over       bool // there are more than MaxLed: any rows of this step and those behind it
}

// A ManyCompiler is a Source that compiles many resources by one look at the catalogue,
// where one for each would take seconds.
type ManyCompiler interface {
	// CompileAll is Compile for each of specs: a plan or an error for each.
	CompileAll(ctx context.Context, specs []*Spec) ([]Plan, []error)
}

// A ManyChecker is a Source that checks many plans by one look at the catalogue, and some at a
// time.
type ManyChecker interface {
	// CheckAll is Plan.Check for each of plans, all of this source.
	CheckAll(ctx context.Context, plans []Plan) ([][]Finding, []error)
}

// A Guarded is a Plan that refuses queries which would read many more rows than they find.
type Guarded interface {
	// Guard says whether it would refuse a query, by what is known already.
	Guard(q *query.Query) Guard

	// Look asks the database what Guard needs to know of the table.
	Look(ctx context.Context) error
}

// A Guard is why a query is admitted, or refused.
type Guard struct {
	Known   bool       // what follows; else no query has asked for the table's indexes yet
	Small   bool       // the table has so few rows that every query is admitted
	Indexes [][]string // the columns of the index that finds its rows, or of all that do together
	Hint    string     // what would admit it; "" where an index does
	Passed  string     // why an index that is about its columns does not; "": there is none
	Free    bool       // no index is needed: Spec.Filters has its columns
	Tried   bool       // it is run all the same, and given up after a time: Spec.Unguarded

	Embeds []EmbedGuard // how rows are found that the query embeds
}

// An EmbedGuard is how embedded rows of a table are found, or those of the table between.
type EmbedGuard struct {
	Table   string
	Columns []string // of the foreign key, or what that leads to; nil: it is about !inner
	Known   bool     // what follows
	Small   bool     // as in Guard
	Hint    string   // what would admit it; "": it is admitted, by an index
}

// A Spec is a resource as configured, before it has met the database.
type Spec struct {
	Name      string   // of the resource, for errors
	Table     string   // "dept" or "schema.dept"; "" for a query
	Query     string   // a SELECT with :key (or :COLUMN for each key column)
	Key       []string // key columns; empty: the table's primary key
	Fields    map[string]FieldSpec
	Only      bool     // only the columns of Fields
	Hide      bool     // leave out columns whose names look like secrets (IsSecret)
	Embeds    []Embed  // documents of other tables within this one
	Depends   []Dep    // of a query; a table's are found
	RLSIgnore bool     // serve a table with row-level security as this user sees it
	Filters   []string // columns of which lists are filtered and ordered whatever the indexes
	Unguarded bool     // lists that no index answers are run, and given up after a time
	Timed     bool     // documents are kept for a time: tables may be read that no feed follows

	// Value is how a server of keys and values keeps the documents; nil for a
	// database, which has a Table or a Query.
	Value *ValueSpec
}

// SetTimed sets Timed, of what is within as well.
func (s *Spec) SetTimed(timed bool) {
	s.Timed = timed
	for i := range s.Embeds {
		s.Embeds[i].Spec.SetTimed(timed)
	}
}

// A FieldSpec says how one column appears in documents.
type FieldSpec struct {
	Name     string // of the member; "" for the column's name
	OmitNull bool
	RFC3339  bool // a date as a date-time
	Required bool // on write
	Hide     bool
}

// An Embed puts the rows of a child table into the document of their parent.
type Embed struct {
	Name  string   // of the member
	Spec  *Spec    // of the child
	On    []string // child columns that hold the parent's key, in its order
	Order []string // child columns to order by; empty: its key
	Merge bool     // a write leaves the rows that its body does not list; else they go
}

// A Dep says that rows of Table feed documents of a resource.
type Dep struct {
	Table string // as Table.ID gives it

	// Columns are the columns of Table whose values, old and new, make the key
	// of the document. Empty: any change of the table touches every document
	// (a generation of the table). So does one whose values a feed does not know.
	Columns []string

	// Identity are the columns that name a row of Table, to find the documents
	// that held it when a feed does not know the old values of Columns. Load
	// reports the identities that it read (Loaded.Children). Empty where
	// Columns themselves are the identity.
	Identity []string

	// KnowsOld says that every feed of the source tells the old values of
	// Columns, so that nobody needs to remember which documents hold a row.
	KnowsOld bool

	// Path is how rows lead to documents, in a Spec; all else is zero.
	Path *DepPath
}

// Loaded is what Load found for one key.
type Loaded struct {
	Asked    row.Key    // as it was asked for
	Key      row.Key    // as read back from the row; "" when there is none
	Values   row.Values // nil when there is no row
	Children []Child    // rows of other tables that the document holds
	Led      []Led      // where the plan's Paths lead to, in the snapshot of the document
}

// Found reports whether there is a row.
func (l *Loaded) Found() bool { return l.Values != nil }

// Selected is what Select found.
type Selected struct {
	Shape  *row.Shape    // of the rows
	Rows   []Loaded      // in order
	More   bool          // rows follow
	Beyond row.Key       // the key of the first of those, which was read too
	Last   []query.Value // of the last row, where the next page begins; nil: cannot be told
	Total  int64         // of all rows that the filters find; -1: nobody asked

	// Reached are the ways to embedded rows: those that were looked for, found or not, and
	// those that were read. Each is there once.
	Reached []Reached
}

// A Child names one row of one table by its identity.
type Child struct {
	Table string
	ID    row.Key
}

// Op is what a Write does.
type Op uint8

// The operations.
const (
	OpCreate  Op = iota // a new document; its key may be given by the database
	OpReplace           // create or replace
	OpMerge             // change the members that are present (RFC 7396)
	OpDelete
)

// A Write changes one document. A source may call its functions more than once, if a
// transaction has come to nothing, and by another goroutine, but not once Plan.Write has
// returned. They take no locks that who calls Plan.Write may hold.
type Write struct {
	Op    Op
	Key   row.Key    // "" for OpCreate with the key in Input or made by the database
	Input *row.Input // nil for OpDelete

	// Check is called within the transaction with the document as it is now,
	// its rows locked, before anything is changed. An error ends the
	// transaction and is returned as it is. It may be nil.
	Check func(current *Loaded) error

	// Touch is called within the transaction, just before it commits, with the
	// rows that it changes, old and new. at is the position that the transaction will
	// have if it commits; a source that names it says as well that no other transaction
	// commits before that, so that Written.Loaded is all there is at that position.
	// 0: the source does not know. It may be nil.
	Touch func(changes []Change, at Position)

	Identify bool // asks for Written.Mark, which may take another statement

	As *Session // who writes; nil: this user
}

// Written is what a Write did.
type Written struct {
	Loaded   Loaded // the document as it is after the write
	Created  bool
	Deleted  bool
	Position Position // includes the write; 0 when the source has none
	Mark     uint64   // Tx.Mark of the write, told by a feed of the log; 0: it is not known
}

// A Position is a place in the order of a source's changes: an LSN, a binlog
// place, a sequence number. Positions of one epoch are ordered.
type Position uint64

// A Feed tells which rows have changed. It is followed by one goroutine (Run);
// Fence, Settled and Follow may be called from others meanwhile, Follow by one at a time.
type Feed interface {
	// Mode returns the feed's name.
	Mode() FeedMode

	// Run connects and delivers changes to h until ctx ends or the connection
	// breaks. The caller runs it again. Run never delivers less than it says:
	// whatever may have been missed is announced by h.Attached. With an UnfollowedError
	// it would end so again: the caller opens a feed without these tables.
	Run(ctx context.Context, h Handler) error

	// Fence returns once every change that was visible when it was called has
	// been handed to the handler, with the position then reached.
	Fence(ctx context.Context) (Position, error)

	// Settled reports for each transaction whether every read that begins from
	// now on, on every connection that loads use, sees it.
	Settled(ctx context.Context, txs []*Tx) ([]bool, error)

	// Follow has the feed that Run follows the database by tell of changes of these tables in
	// place of those that it told of. It goes on without a gap for those that are among both.
	// before is as that of Handler.Attached, for the tables that it did not tell of: changes
	// of these may have been passed over until Follow has returned. It returns ErrReopen, or an
	// UnfollowedError, where only another feed can follow these tables. After an error it may
	// tell of either set, table by table, until Follow succeeds.
	Follow(ctx context.Context, tables []Watched) (before uint64, err error)

	// Stats returns a snapshot of the feed's counters.
	Stats() FeedStats

	// Close frees what the feed holds. Run must have returned.
	Close() error
}

// A Handler is told what a feed sees, by one goroutine, in the order of commits.
type Handler interface {
	// Attached says that the feed follows from pos on. Changes before it may
	// have been missed, so nothing cached before may be trusted. origin names
	// the history that positions belong to: two nodes that follow one database
	// give the same (PostgreSQL: system identifier and timeline). It is made of
	// letters and digits. before is the Tx.ID by which Settled proves that every
	// transaction of before pos is visible, for those are never told; 0: they are, to
	// every read that begins from now on.
	Attached(origin string, pos Position, before uint64)

	// Apply delivers one transaction. When it returns, no copy of what the
	// transaction touched is left. tx is kept until it is settled.
	Apply(tx *Tx)

	// Advance says that there is nothing more to come up to pos.
	Advance(pos Position)

	// SchemaChanged says that the definition of these tables has changed.
	SchemaChanged(tables []string)
}

// A Tx is one transaction of a feed.
type Tx struct {
	// ID lets Settled prove that the transaction is visible. 0: it already is,
	// to every read that begins from now on.
	ID      uint64
	Mark    uint64 // Written.Mark of the write that it is; 0: nobody can tell
	Pos     Position
	Time    time.Time // of the commit, where the feed says; else zero
	Changes []Change
	Tables  []string // changed as a whole: TRUNCATE, DDL, too many rows
	All     bool     // every table may have changed
}

// A Change is one row that is not what it was: "ask again". It carries no
// values but the identities that tell whom to ask about.
type Change struct {
	Table string // as Table.ID gives it
	Op    ChangeOp
	Old   Tuple // what is known of the row before; nil for an insert
	New   Tuple // what is known of the row after; nil for a delete
}

// ChangeOp is what happened to a row.
type ChangeOp uint8

// The operations of a Change.
const (
	Insert ChangeOp = iota
	Update
	Delete
)

// A Tuple is what a feed knows of one row, of the watched columns only: of all of
// Watched.Columns, and of Watched.Values those that it knows.
type Tuple []Cell

// A Cell is one column of a Tuple.
type Cell struct {
	Column string
	Text   string // canonical, as in a row.Key
	Null   bool
}

// Key returns the key that columns make, and false when t does not know all of
// them. A null among them makes no key: "" and true.
func (t Tuple) Key(columns []string) (row.Key, bool) {
	parts := make([]string, len(columns))
	null := false
next:
	for i, c := range columns {
		for j := range t {
			if t[j].Column == c {
				parts[i] = t[j].Text
				null = null || t[j].Null
				continue next
			}
		}
		return "", false
	}
	if null {
		return "", true
	}
	return row.JoinKey(parts...), true
}

// Watched is a table that a feed follows, and its columns that matter.
type Watched struct {
	Table   string   // as Table.ID gives it
	Columns []string // whose values make keys: those of Dep.Columns and Dep.Identity

	// Direct are those of Columns without whose old values a change of a row
	// concerns every document: no Dep.Identity finds the ones that held it.
	Direct []string

	// Values are more columns that tuples have where the feed knows them: those by whose
	// values lists are told apart. Nil: none.
	Values *ColumnSet

	Writes bool // rows are written through hotrow too; Doctor looks whether they can be

	// Old says that lists are asked for which are precise only where the feed tells what a
	// row was: Doctor proposes what makes it.
	Old bool
}

// FeedMode names a kind of feed, as in the configuration.
type FeedMode string

// The modes.
const (
	FeedAuto    FeedMode = "auto"
	FeedLogical FeedMode = "logical" // PostgreSQL logical replication
	FeedNotify  FeedMode = "notify"  // PostgreSQL LISTEN/NOTIFY with triggers
	FeedBinlog  FeedMode = "binlog"  // the row binlog of MariaDB and MySQL
	FeedSQLite  FeedMode = "sqlite"  // hooks and data_version
	FeedNone    FeedMode = "none"
)

// FeedStats is a snapshot of a feed's counters.
type FeedStats struct {
	Transactions uint64
	Changes      uint64
	Bytes        uint64
	Position     Position
}

// PoolStats is a snapshot of a connection pool.
type PoolStats struct {
	Max, InUse, Idle int
	Waiting          int    // callers that wait for a connection now
	Acquired         uint64 // since the start
	Timeouts         uint64 // callers that waited too long
}
