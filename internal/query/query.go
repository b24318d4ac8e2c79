package query

import (
	"slices"

	"github.com/hotrow/hotrow/internal/row"
)

// A Query is one question about a table. It is made by Parse and never changes.
type Query struct {
	Table  *Table
	Select []Member // of the documents; nil: whole documents
	Where  []Term   // which all hold, in the order of their texts
	Order  []Order  // which ends with what makes it total: the key
	Limit  int      // rows at most
	Offset int      // rows passed over
	After  []Value  // of Order's columns: where the page begins; nil: at the beginning
	Count  Count    // of all rows that the filters find
	Format string   // a representation by name; "" when the query has none

	where, order string // texts of the parts
	text         string
}

// A Member is one member of the documents of an answer.
type Member struct {
	Column int // -1 of an Embed
	Name   string
	Path   Path     // within a JSON column
	Cast   row.Cast // to another type
	Embed  *Embed   // rows of another table; nil: a column
}

// A Term is one condition: a comparison of a column, or a group of Terms.
type Term struct {
	Op     Op
	Not    bool
	Column int      // of a comparison
	Path   Path     // of a comparison of what is within a JSON column
	Quant  Quant    // of a comparison with several values
	Config string   // of a search: the configuration of texts; "": the database's default
	Values []string // canonical texts of the operands; of Is "null", "true", "false"
	Terms  []Term   // of And and Or, in the order of their texts; two at least
}

// An Op is an operator.
type Op uint8

// The operators.
const (
	Eq         Op = iota
	Neq           // not equal
	Gt            // greater than
	Gte           // greater than or equal
	Lt            // less than
	Lte           // less than or equal
	In            // equal to one of Values, which may be none
	IsDistinct    // not equal, where NULL is a value
	Like          // a pattern with % and _, a backslash before what is meant as it is
	ILike         // the same in any case
	Is            // null or a truth value
	Match         // a regular expression of PostgreSQL: see native.go
	IMatch        // the same in any case
	Cs            // contains all of
	Cd            // is contained in
	Ov            // overlaps with
	Sl            // is strictly left of
	Sr            // is strictly right of
	Nxl           // does not extend to the left of
	Nxr           // does not extend to the right of
	Adj           // is adjacent to
	Fts           // finds the words of to_tsquery
	Plfts         // of plainto_tsquery
	Phfts         // of phraseto_tsquery
	Wfts          // of websearch_to_tsquery
	And
	Or
)

// opNames are the names of operators in queries.
var opNames = [...]string{Eq: "eq", Neq: "neq", Gt: "gt", Gte: "gte", Lt: "lt", Lte: "lte",
	In: "in", IsDistinct: "isdistinct", Like: "like", ILike: "ilike", Is: "is",
	Match: "match", IMatch: "imatch", Cs: "cs", Cd: "cd", Ov: "ov", Sl: "sl", Sr: "sr",
	Nxl: "nxl", Nxr: "nxr", Adj: "adj", Fts: "fts", Plfts: "plfts", Phfts: "phfts",
	Wfts: "wfts", And: "and", Or: "or"}

// String returns the operator's name in queries.
func (o Op) String() string { return opNames[o] }

// A Quant says for how many of several values a comparison must hold.
type Quant uint8

// The quantifiers.
const (
	One Quant = iota // there is one value
	Any
	All
)

// An Order is one column that rows are ordered by.
type Order struct {
	Column     int
	Path       Path   // what rows are ordered by is within a JSON column
	Of         *Embed // the column is of this one row that the query embeds; nil: of the table
	Desc       bool
	NullsFirst bool
}

// A Value is one value of a column, as the text that the column's Part makes of it.
type Value struct {
	Text string
	Null bool
}

// A Count says how the rows that the filters find are counted.
type Count uint8

// The ways to count.
const (
	CountNone      Count = iota
	CountExact           // all of them
	CountPlanned         // as the database's planner estimates
	CountEstimated       // exact while they are few
)

// countNames are the names of counts in Prefer.
var countNames = [...]string{CountExact: "exact", CountPlanned: "planned",
	CountEstimated: "estimated"}

// ParseCount returns the count that a client prefers. It reports false for a name that is
// none.
func ParseCount(name string) (Count, bool) {
	i := slices.Index(countNames[1:], name) // of none it is -1, which makes CountNone
	return Count(i + 1), i >= 0
}

// String returns the name of the count; "" for none.
func (c Count) String() string { return countNames[c] }

// String returns the query as the query of a URL, in its canonical spelling: Parse of it
// makes an equal Query. It has neither Format nor Count, which is no part of a URL.
func (q *Query) String() string { return q.text }

// Key returns what is equal for two queries if and only if they ask for the same answer,
// its format apart.
func (q *Query) Key() string {
	if q.Count == CountNone {
		return q.text
	}
	return q.text + "#" + q.Count.String() // a canonical text has no #
}

// Plain reports whether the query asks for all rows in the order of the key.
func (q *Query) Plain() bool { return q.where == "" && q.order == "" }

// IsKey reports whether the query's only condition is that the key is one of some: then
// keys has them, in the order of their texts.
func (q *Query) IsKey() (keys []string, ok bool) {
	if len(q.Where) != 1 || !q.Table.isKey(q.Where[0].Column) {
		return nil, false
	}
	t := &q.Where[0]
	return t.Values, (t.Op == Eq || t.Op == In) && !t.Not && t.Quant == One
}
