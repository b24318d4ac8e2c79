package ops

import "cmp"

// A Statement is what was counted of SQL statements that differ in their values alone.
type Statement struct {
	Shape   string  `json:"shape"`  // without any value; "": those that are too many to tell apart
	Reason  string  `json:"reason"` // "eligible", or the code of why memory could not answer
	Why     string  `json:"why"`    // the same in words
	Count   uint64  `json:"count"`
	Within  uint64  `json:"in_transaction"` // of them, within a transaction
	Seconds float64 `json:"seconds"`        // in the database

	// What memory has done, or would have done if it had answered.
	Looks      uint64 `json:"looks"`      // it was looked into
	Hits       uint64 `json:"hits"`       // it has answered, or would have
	Uncompared uint64 `json:"uncompared"` // of the hits: the database may give several answers
	Older      uint64 `json:"older"`      // of the hits: rows had changed a moment ago
	Wrong      uint64 `json:"wrong"`      // of the hits: the answer would have been wrong

	// Saved are the seconds in the database that the hits took, or would have taken.
	Saved float64 `json:"saved"`

	// Passed is why it was not looked into, the last time that it was not.
	Passed string `json:"passed,omitempty"`
}

// Statements are a page of them.
type Statements struct {
	Paged
	Total      *StatementTotal `json:"total,omitempty"` // of all; nil: SQL is off
	Statements []Statement     `json:"statements"`
}

// A StatementTotal is the sum of what was counted of all statements.
type StatementTotal struct {
	Mode     string  `json:"mode"` // of sql.mode: with "serve" memory has answered the hits
	Count    uint64  `json:"count"`
	Eligible uint64  `json:"eligible"` // of them, what memory could answer by its text
	Seconds  float64 `json:"seconds"`
	Looks    uint64  `json:"looks"`
	Hits     uint64  `json:"hits"`
	Wrong    uint64  `json:"wrong"`
	Saved    float64 `json:"saved"`
}

// add adds what was counted of one shape.
func (t *StatementTotal) add(s *Statement) {
	t.Count += s.Count
	if s.Reason == "eligible" {
		t.Eligible += s.Count
	}
	t.Seconds += s.Seconds
	t.Looks += s.Looks
	t.Hits += s.Hits
	t.Wrong += s.Wrong
	t.Saved += s.Saved
}

// statementOrders are what statements can be sorted by. What takes no time off is sorted by what it
// takes.
var statementOrders = map[string]func(a, b *Statement) int{
	"count":   func(a, b *Statement) int { return cmp.Compare(a.Count, b.Count) },
	"seconds": func(a, b *Statement) int { return cmp.Compare(a.Seconds, b.Seconds) },
	"wrong":   func(a, b *Statement) int { return cmp.Compare(a.Wrong, b.Wrong) },
	"saved": func(a, b *Statement) int {
		return cmp.Or(cmp.Compare(a.Saved, b.Saved), cmp.Compare(a.Seconds, b.Seconds))
	},
}

// statementPage returns a page of what statements returns, which may be nil.
func statementPage(statements func() (list []Statement, mode string), p Page) Statements {
	var all []Statement
	var total *StatementTotal
	if statements != nil {
		total = new(StatementTotal)
		all, total.Mode = statements()
	}
	for i := range all {
		total.add(&all[i])
	}
	list, of := cutPage(sorted(all, statementOrders, p.Sort), p,
		func(s *Statement) string { return s.Shape })
	return Statements{Paged: of, Total: total, Statements: list}
}
