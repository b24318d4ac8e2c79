package ops

// A Statement is what was counted of SQL statements that differ in their values alone.
type Statement struct {
	Shape   string  `json:"shape"`  // without any value; "": those that are too many to tell apart
	Reason  string  `json:"reason"` // "eligible", or the code of why memory could not answer
	Why     string  `json:"why"`    // the same in words
	Count   uint64  `json:"count"`
	Within  uint64  `json:"in_transaction"` // of them, within a transaction
	Seconds float64 `json:"seconds"`        // in the database

	// What memory would have done, if it had answered.
	Looks      uint64  `json:"looks"`      // it was looked into
	Hits       uint64  `json:"hits"`       // it would have answered
	Uncompared uint64  `json:"uncompared"` // of the hits: the database may give several answers
	Older      uint64  `json:"older"`      // of the hits: rows had changed a moment ago
	Wrong      uint64  `json:"wrong"`      // of the hits: the answer would have been wrong
	Saved      float64 `json:"saved"`      // seconds in the database that the hits took

	// Passed is why it was not looked into, the last time that it was not.
	Passed string `json:"passed,omitempty"`
}

// statementPage returns a page of what statements returns, which may be nil.
func statementPage(statements func() []Statement, p Page) any {
	var all []Statement
	if statements != nil {
		all = statements()
	}
	list, of := cutPage(all, p, func(s *Statement) string { return s.Shape })
	return struct {
		Paged
		Statements []Statement `json:"statements"`
	}{of, append([]Statement{}, list...)}
}
