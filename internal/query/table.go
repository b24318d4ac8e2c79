// Package query is the language in which lists are asked for: filters, an order, a window,
// the members of the documents. It parses the query of a URL into a Query, whose text is
// canonical: two spellings of one question have one text, and so one place in a cache.
//
// It does no I/O and writes no SQL. The grammar is that of PostgREST
// (docs.postgrest.org, API/Tables and Views), without what is listed as refused in
// docs/reference/http-api.md.
package query

import (
	"slices"

	"github.com/hotrow/hotrow/internal/row"
)

// A Table is what a query may ask about: one table of a database as a resource shows it.
// It is made by NewTable and never changes.
type Table struct {
	Name    string // as changes of its rows name it
	Columns []Column
	Key     []int // places of the key's columns

	// NullsHigh says that the database sorts NULL above every value; else below.
	NullsHigh bool

	// Native says that the database has native operators.
	Native bool

	// Embeds says that documents have more members than the columns.
	Embeds bool

	// MaxLimit is the largest limit that is allowed; 0: MaxLimit.
	MaxLimit int
}

// A Column is one column of a Table.
type Column struct {
	Name   string // of the column
	Member string // that shows it in documents; "" for one that queries may not name

	// Part says how operands are read and what text a value has.
	Part row.KeyPart

	NotNull bool

	// Compares says that the database can compare and sort values of the column. Of others
	// a query can only ask whether they are null.
	Compares bool

	// Unsorted says that rows are ordered by an expression of the column, which no index of it
	// follows.
	Unsorted bool

	// Bool says that values are truth values, whatever they are in a key.
	Bool bool

	// JSON says that values are JSON, into which a Path leads.
	JSON bool

	// Matches says that values are texts, which patterns can be matched with.
	Matches bool

	// Classed says that changes of rows tell the column's values, and that two values are
	// equal to the database only if their texts are: see Query.Classes.
	Classed bool

	// Content says what values consist of, and Elem how the texts of elements, or of the
	// bounds of ranges, are read.
	Content Content
	Elem    row.KeyPart

	// Free says that filters on the column and orders by it are run whatever indexes there are.
	Free bool

	// Folded says that changes of rows tell the column's values, and that two texts for which
	// row.Fold has a text are equal to the database only if it is the same one. Any other text
	// may be equal to all.
	Folded bool
}

// Limits of every query.
const (
	MaxTerms     = 20     // comparisons of one query
	MaxDepth     = 3      // of groups within groups
	MaxItems     = 100    // of one in.(...), or {...}
	MaxKeys      = 1000   // of one in.(...) over the key
	MaxOffset    = 10_000 // rows passed over
	MaxLimit     = 1000   // rows of an answer, unless the table says otherwise
	DefaultLimit = 100    // rows of an answer to a query without limit
)

// NewTable completes t and returns it.
func NewTable(t Table) *Table {
	if t.MaxLimit <= 0 {
		t.MaxLimit = MaxLimit
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		c.Part.Column = c.Name
		c.Part.MaxLen, c.Part.MaxBytes, c.Part.Word = 0, 0, 0 // a longer text is no row's
		if c.Member != "" {
			c.Part.Column = c.Member
		}
		c.Elem.Column = c.Part.Column
	}
	return &t
}

// Bounded returns the table with another MaxLimit; 0 is the usual one.
func (t *Table) Bounded(limit int) *Table {
	bounded := *t
	if bounded.MaxLimit = limit; limit <= 0 {
		bounded.MaxLimit = MaxLimit
	}
	return &bounded
}

// Only returns the table as those know it who may see some of its columns: the others are not
// there. Nothing is told of all columns by leaving the choice out: see Options.Sees.
func (t *Table) Only(sees func(column string) bool) *Table {
	hidden := func(c Column) bool { return c.Member != "" && !sees(c.Name) }
	if !slices.ContainsFunc(t.Columns, hidden) {
		return t
	}
	part := *t
	part.Columns, part.Embeds = slices.Clone(t.Columns), true // see parser.selected
	for i := range part.Columns {
		if hidden(part.Columns[i]) {
			part.Columns[i].Member = ""
		}
	}
	return &part
}

// shows reports whether queries may name all of some columns, which are called by their own
// names.
func (t *Table) shows(columns []string) bool { return t.Members(columns) != nil }

// Members returns the members that show columns, which are called by their own names; nil: one
// is not shown.
func (t *Table) Members(columns []string) []string {
	list := make([]string, 0, len(columns))
	for _, name := range columns {
		i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
		if i < 0 || t.Columns[i].Member == "" {
			return nil
		}
		list = append(list, t.Columns[i].Member)
	}
	return list
}

// Find returns the place of the column that a query calls name.
func (t *Table) Find(name string) (int, error) { return t.column(name) }

// column returns the place of the column that a query calls name. A member's name comes before
// that of a column.
func (t *Table) column(name string) (int, error) {
	place := -1
	for i := range t.Columns {
		switch c := &t.Columns[i]; {
		case c.Member == "":
		case c.Member == name:
			return i, nil
		case c.Name == name && place < 0:
			place = i
		}
	}
	if place >= 0 {
		return place, nil
	}
	names := make([]string, 0, len(t.Columns))
	for i := range t.Columns {
		if m := t.Columns[i].Member; m != "" {
			names = append(names, m)
		}
	}
	return 0, &Error{Code: CodeColumn,
		Message: "column " + clip(t.Name) + "." + clip(name) + " does not exist" +
			row.DidYouMean(name, names)}
}

// isKey reports whether column i is the whole key.
func (t *Table) isKey(i int) bool { return len(t.Key) == 1 && t.Key[0] == i }

// Equal returns the condition that a column, called by its own name, has one of some values. It
// is nil where it cannot be kept to the letter: values that differ might be equal to the database.
// A text that is no value in its canonical spelling is equal to none.
func (t *Table) Equal(column string, values []string) *Term {
	at := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == column })
	if at < 0 {
		return nil
	}
	c := &t.Columns[at]
	exact := c.Part.Kind == row.Int || c.Part.Kind == row.UUID || c.Part.Kind == row.Text || c.Bool
	if c.Member == "" || !c.Compares || !c.Classed || !exact {
		return nil
	}
	term := &Term{Op: In, Column: at}
	for _, v := range values {
		if text, err := c.Part.Parse(v); err == nil && text == v {
			term.Values = append(term.Values, v)
		}
	}
	return term
}
