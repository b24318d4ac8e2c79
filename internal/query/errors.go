package query

import (
	"strconv"
	"unicode/utf8"
)

// The codes of errors: SQLSTATEs of PostgreSQL, and PostgREST's own. What is not said to be
// otherwise is 400 over HTTP.
const (
	CodeSyntax    = "PGRST100" // the grammar, an operator, a limit of ours
	CodeRange     = "PGRST103" // a window that no list has: 416
	CodeColumn    = "42703"    // no such column
	CodeOperand   = "22P02"    // no value of the column's type
	CodeUnindexed = "HR400"    // no index answers the query
	CodeUnrelated = "PGRST200" // no foreign key leads to a table that is to be embedded
	CodeAmbiguous = "PGRST201" // several do: 300
	CodePattern   = "22025"    // a pattern that ends within an escape
)

// An Error is what is wrong with a query.
type Error struct {
	Code    string
	Message string // one sentence that names what and where
	Detail  string
	Hint    string
	Bound   bool // a bound of ours is in the way, and not the grammar
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// syntax returns the error of a query that the grammar does not have.
func syntax(message, hint string) *Error {
	return &Error{Code: CodeSyntax, Message: message, Hint: hint}
}

// beyond returns the error of a query that a bound of ours is in the way of.
func beyond(message, hint string) *Error {
	return &Error{Code: CodeSyntax, Message: message, Hint: hint, Bound: true}
}

// clip returns s for an error, shortened if it is long.
func clip(s string) string {
	const longest = 64
	if len(s) > longest {
		s = s[:longest]
		for !utf8.ValidString(s) && s != "" {
			s = s[:len(s)-1]
		}
		s += "..."
	}
	for _, r := range s {
		if !isNameRune(r) && r != '.' {
			return strconv.Quote(s)
		}
	}
	return s
}
