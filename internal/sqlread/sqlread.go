// Package sqlread reads the text of a SQL statement and says whether memory could answer it: a
// SELECT over one table, by comparisons of its columns with values. It is a list of what is
// allowed. Whatever is not on the list is refused, with a Reason, and is the database's to answer.
//
// Statement.Read knows the grammar (grammar.go, where.go) and no catalogue. Statement.Check then
// compares the names and types with a table. Both take time in proportion to the text, and
// allocate nothing once the Statement has grown.
//
// The words, names and numbers are those of PostgreSQL. The package never rewrites a statement
// and never runs one: it only says what an answer may depend on.
package sqlread

import "strings"

// Bounds of a statement. A longer or deeper one is refused.
const (
	maxText   = 64 << 10 // bytes
	maxDepth  = 20       // brackets around conditions
	maxItems  = 1664     // of the select list: PostgreSQL's own bound
	maxOrders = 64       // columns to order by, each of which is compared with the items' names
	maxName   = 63       // bytes: PostgreSQL cuts a longer name
)

// A Statement is a SELECT that memory could answer, as Read leaves it. It refers to the text that
// was read, and is used again by the next Read.
type Statement struct {
	Schema, Table, Alias Name // Schema and Alias may be empty

	Columns []Column // each mention of a column, in the order of the text
	Items   []int    // of the select list: places in Columns, or AllColumns, or NoItem
	Star    bool     // the select list has *: all columns
	Count   bool     // the select list has count(*)

	// Where is the condition as a tree in prefix order: Where[0] is an Or. It is empty if there is
	// no condition.
	Where  []Term
	Values []Value // each value, in the order of the text
	Limit  int     // place in Values, -1: none
	Offset int     // place in Values, -1: none
	Order  []int   // places in Columns that it is ordered by, -1: a label of the select list

	labels []Name // that the select list gives
	shape  []byte
}

// What is in the select list besides columns.
const (
	AllColumns = -1 // *
	NoItem     = -2 // a value, or count(*)
)

// NewStatement returns a Statement with room for what most texts have.
func NewStatement() *Statement {
	room := new(struct {
		Statement
		columns [4]Column
		items   [4]int
		where   [4]Term
		values  [4]Value
		shape   [192]byte
	})
	s := &room.Statement
	s.Columns, s.Where, s.Values = room.columns[:0], room.where[:0], room.values[:0]
	s.Items, s.shape = room.items[:0], room.shape[:0]
	return s
}

// A Column is a mention of a column.
type Column struct {
	Qualifier Name // empty, or the table's name or alias
	Name      Name
}

// Shape returns the statement in one spelling: without comments, with one space between words,
// names as the database stores them, and with ? in place of numbers and '?' in place of strings.
// Two statements that have one shape and the same values are the same question. The shape of a
// refused statement ends with ... where the reading ended, and has no values either. The bytes
// are valid until the next Read.
func (s *Statement) Shape() []byte { return s.shape }

// Read reads a text and returns Eligible, or why memory cannot answer it. After a refusal only
// the Shape is of use.
func (s *Statement) Read(text string) Reason {
	*s = Statement{Columns: s.Columns[:0], Items: s.Items[:0], Where: s.Where[:0],
		Values: s.Values[:0], Limit: -1, Offset: -1, Order: s.Order[:0], labels: s.labels[:0],
		shape: s.shape[:0]}
	r := reader{s: s, text: text}
	if !r.statement() {
		s.shape = append(s.shape, "..."...)
		return r.why
	}
	return Eligible
}

// A Name is the name of a table or column.
type Name struct {
	text   string // without quotes
	quoted bool
}

// Is reports whether n is the name that the database stores as stored: a name without quotes is
// in lower case.
func (n Name) Is(stored string) bool {
	if n.quoted {
		return n.text == stored
	}
	if len(n.text) != len(stored) {
		return false
	}
	for i := range len(stored) {
		if lower(n.text[i]) != stored[i] {
			return false
		}
	}
	return true
}

// String returns the name as the database stores it.
func (n Name) String() string {
	if n.quoted {
		return n.text
	}
	return strings.ToLower(n.text)
}

// IsEmpty reports whether there is no name.
func (n Name) IsEmpty() bool { return n.text == "" }

// equal reports whether two names are one.
func (n Name) equal(other Name) bool {
	if len(n.text) != len(other.text) {
		return false
	}
	for i := range len(n.text) {
		if n.stored(i) != other.stored(i) {
			return false
		}
	}
	return true
}

// stored returns byte i of the name as the database stores it.
func (n Name) stored(i int) byte {
	if n.quoted {
		return n.text[i]
	}
	return lower(n.text[i])
}

// appendTo appends the name as it must be written to mean itself.
func (n Name) appendTo(dst []byte) []byte {
	if n.isBare() {
		for i := range len(n.text) {
			dst = append(dst, n.stored(i))
		}
		return dst
	}
	return append(append(append(dst, '"'), n.text...), '"')
}

// isBare reports whether the name needs no quotes. A name without quotes was read as one.
func (n Name) isBare() bool {
	if !n.quoted {
		return true
	}
	for i := range len(n.text) {
		c := n.text[i]
		if !isWordByte(c) || c != lower(c) || i == 0 && isDigit(c) {
			return false
		}
	}
	return lookWord(n.text).class == free
}

// lower returns an ASCII letter in lower case, and any other byte as it is.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
