package document

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A Plan is one resource, compiled: the part of a source.Plan that all databases
// have in common. It never changes.
type Plan struct {
	Name    string
	Root    *Node
	Query   *Query   // of a query resource; else nil
	Parts   []Column // of the key; of a query, columns that only have the type
	KeyRead bool     // the key is among what is read
	Dialect *Dialect

	Native any // the driver's own

	db        Database
	one       Statement // reads the row of one key; empty where Dialect.Nested has it
	depth     int       // how many nodes there are
	keys      row.KeyType
	unbounded row.KeyType // keys, however long: a longer text is no error, it is no row
	deps      []source.Dep
	byItself  string  // why a document changes without a change of a row; ""
	paths     []*path // by which documents depend on rows; nil: by deps
	lookup    atomic.Pointer[lookup]
	table     *query.Table // what queries may ask about; nil for a query resource
	cols      []Column     // of table, by their places
	unguarded bool         // see source.Spec
}

// A Node is one level of a document: a table or a query.
type Node struct {
	Name    string // for people
	Alias   string // in statements, where the dialect has one
	Table   *Table
	Spec    *source.Spec
	Shape   *row.Shape
	Fields  []Column // of each member; nil for documents
	Items   []Item   // what is read, in order: the members, then what only keys need
	KeyCols []Column
	Key     []int    // places of KeyCols among Items
	On      []Column // that hold the parent's key
	OnAt    []int    // places of On among Items; nil where rows are nested
	Exact   bool     // On equals the parent's key only if their texts are equal
	IDCols  []Column // that name a row: its primary key, or else its key
	IDAt    []int    // places of IDCols, where Loaded.Children names its rows
	Order   []Order  // of the rows within their parent, then by their key
	Kids    []*Node
	Member  int  // of the parent's fields
	Merge   bool // rows that a body does not list stay
	Native  any  // the driver's own

	*related // of rows that a query embeds; nil of those that the Spec does

	places    []int    // of each item in an answer; -1 for documents, unless nested
	nested    *Nested  // an answer has the documents within; nil: it has not
	keyNames  []string // of KeyCols
	onNames   []string // of On
	find      string   // the statement that reads the rows of one key, or of one parent
	list      string   // what it begins with; "" of nodes of one query
	bind      []Column // whose KeyArg a value is bound by that On is compared with
	bound     bool     // no row of the table can refer to a parent that is not there
	namesRows bool     // Loaded.Children names its rows
	spreads   bool     // members of what is embedded are its own: see spread
}

// An Item is one column that is read, or the documents of a child table.
type Item struct {
	Column Column   // nil for a child
	Kind   row.Kind // as documents have it
	Kid    *Node

	// Make makes what documents have of the value that is read; nil: that is it.
	Make func(row.Value) (row.Value, error)
}

// An Order is one column that rows are ordered by.
type Order struct {
	Column Column
	Desc   bool
}

// Shape returns how rows of the plan are encoded.
func (p *Plan) Shape() *row.Shape { return p.Root.Shape }

// KeyType returns the columns of the key and their types.
func (p *Plan) KeyType() row.KeyType { return p.keys }

// Deps returns the tables whose rows feed the documents.
func (p *Plan) Deps() []source.Dep { return p.deps }

// ByItself implements source.Plan.
func (p *Plan) ByItself() string { return p.byItself }

// ParseKey returns k in its canonical form. A text that is longer than the column
// is no error: no row has it.
func (p *Plan) ParseKey(k row.Key) (row.Key, error) { return p.unbounded.Parse(k) }

// ParseAfter is ParseKey for the key that a list begins after.
func (p *Plan) ParseAfter(k row.Key) (row.Key, error) { return p.unbounded.ParseAfter(k) }

// Nodes returns the tables of the document, from the root down.
func (p *Plan) Nodes() []*Node {
	var all []*Node
	var visit func(n *Node)
	visit = func(n *Node) {
		all = append(all, n)
		for _, kid := range n.Kids {
			visit(kid)
		}
	}
	visit(p.Root)
	return all
}

// column returns the column called name.
func (t *Table) column(name string, fold bool) (Column, bool) {
	for _, col := range t.Cols {
		if col.Info().Name == name {
			return col, true
		}
	}
	for _, col := range t.Cols {
		if fold && strings.EqualFold(col.Info().Name, name) {
			return col, true
		}
	}
	return nil, false
}

// Names returns the names of columns.
func Names(cols []Column) []string {
	out := make([]string, len(cols))
	for i, col := range cols {
		out[i] = col.Info().Name
	}
	return out
}

// sameColumns reports whether a and b are the same columns in any order.
func sameColumns(a, b []Column) bool {
	for _, col := range a {
		if !slices.Contains(b, col) {
			return false
		}
	}
	return len(a) == len(b)
}

// place returns where the columns are among the items, adding those that are not.
// It is called when all members are there; key says that they make a key.
func (n *Node) place(cols []Column, key bool) []int {
	at := make([]int, len(cols))
	for i, col := range cols {
		at[i] = slices.IndexFunc(n.Items, func(it Item) bool { return it.Column == col })
		if at[i] < 0 {
			at[i] = len(n.Items)
			f, _ := col.Field(key)
			n.Items = append(n.Items, Item{Column: col, Kind: f.Kind})
		}
	}
	return at
}

// KeyArgs returns what the parts of a key are bound as to be compared with cols,
// which are columns of n, or stored in them; and false when no row can have it.
func (n *Node) KeyArgs(cols []Column, k row.Key) ([]any, bool) {
	if n.bind != nil && slices.Equal(cols, n.On) {
		cols = n.bind
	}
	return KeyArgs(cols, k)
}

// KeyArgs returns what the parts of a key of these columns are bound as, and false
// when no row can have it.
func KeyArgs(cols []Column, k row.Key) ([]any, bool) {
	if len(cols) == 1 {
		arg, err := cols[0].KeyArg(string(k))
		return []any{arg}, err == nil
	}
	parts, ok := row.SplitKey(k, len(cols))
	if !ok {
		return nil, false
	}
	args := make([]any, len(cols))
	for i, col := range cols {
		var err error
		if args[i], err = col.KeyArg(parts[i]); err != nil {
			return nil, false
		}
	}
	return args, true
}
