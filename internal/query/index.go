package query

import (
	"regexp"
	"slices"
)

// An Index is one by which a database may find rows of a table.
type Index struct {
	Columns []string    // one at least; "" for an expression
	Expr    string      // SQL in which the first column is, if that is an expression
	Partial bool        // it has some rows only
	Ops     []Op        // native ones, by which alone it finds rows; nil: by equality and order
	Where   []Condition // of a partial one: what its rows meet; nil where nobody can say
}

// A Condition is a term of one column, without those that no index is made with: it is
// Eq, or Is, which may be Not.
type Condition struct {
	Column string
	Op     Op
	Not    bool
	Value  string // as in Term.Values
}

// IndexOf is an index that has all rows.
func IndexOf(columns ...string) Index { return Index{Columns: columns} }

// IsNotNull is the condition that a column has a value.
func IsNotNull(column string) Condition {
	return Condition{Column: column, Op: Is, Not: true, Value: "null"}
}

// Has reports whether every row for which all of terms hold is in the index. In these rows
// the columns valued have values as well.
func (x *Index) Has(t *Table, terms []Term, valued ...string) bool {
	return (!x.Partial || len(x.Where) > 0) &&
		!slices.ContainsFunc(x.Where, func(c Condition) bool {
			return !(c == IsNotNull(c.Column) && slices.Contains(valued, c.Column)) &&
				!slices.ContainsFunc(terms, func(term Term) bool { return term.implies(t, c) })
		})
}

// implies reports whether a term holds only for rows that meet c.
func (t *Term) implies(of *Table, c Condition) bool {
	return t.is(of, c) || c == IsNotNull(c.Column) && t.Op < And &&
		of.Columns[t.Column].Name == c.Column && t.isStrict()
}

// is reports whether a term says what c says.
func (t *Term) is(of *Table, c Condition) bool {
	return t.Op < And && t.Path == "" && t.Quant == One && len(t.Values) == 1 &&
		Condition{of.Columns[t.Column].Name, t.Op, t.Not, t.Values[0]} == c
}

// isStrict reports whether a comparison holds for no NULL, in a way that planners know.
func (t *Term) isStrict() bool {
	return !t.Not && t.Path == "" &&
		(t.Op <= Lte && t.Quant == One || t.Op == In && len(t.Values) > 0)
}

// Passed says why indexes find no rows of the query, though they are about a column that it
// asks for; "" if there are none.
func (q *Query) Passed(indexes []Index) string {
	for _, name := range q.Wanted() {
		word := regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(name) + `\b`)
		for i := range indexes {
			switch x := &indexes[i]; {
			case x.Ops != nil:
			case x.Columns[0] == "" && word.MatchString(x.Expr):
				return "an index on an expression of " + name + " does not find values of " + name
			case x.Columns[0] == name && !x.Has(q.Table, q.Where):
				return "an index on " + name + " has only some of the rows, and the query may" +
					" find others"
			}
		}
	}
	return ""
}
