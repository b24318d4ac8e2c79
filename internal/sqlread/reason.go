package sqlread

// A Reason says why memory cannot answer a statement.
type Reason uint8

// The reasons. reasons documents each.
const (
	Eligible Reason = iota // no reason: memory could answer it

	// What is no SELECT.
	Empty
	Write
	Transaction
	Session
	With
	NotASelect
	Several

	// Texts that this package does not read.
	Off
	TooLong
	TooDeep
	TooMany
	Unclosed
	Backslash
	StringForm
	NameForm
	LongName
	NonASCII
	NumberForm
	Character
	Syntax

	// Questions that one table's columns and values do not decide.
	NoTable
	TableForm
	Join
	Subselect
	SetOperation
	Distinct
	Grouping
	Locking
	Into
	WithTies
	Function
	SessionValue
	Operator
	Expression
	Cast
	CastType
	ReservedName
	Qualifier

	// What Check finds.
	NoColumn
	ColumnType
	ParameterType
	TimeText

	numReasons
)

// reasons has the code of each reason, for metrics, and what it means, for people.
var reasons = [numReasons]struct{ code, text string }{
	Eligible: {"eligible", "memory could answer it"},

	Empty:       {"empty", "the text has no statement"},
	Write:       {"write", "the statement writes rows"},
	Transaction: {"transaction", "the statement begins, ends or divides a transaction"},
	Session:     {"session", "the statement reads or changes the state of the session"},
	With:        {"with", "the statement begins with WITH"},
	NotASelect:  {"not_a_select", "the statement is neither a SELECT nor one of the kinds above"},
	Several:     {"several", "the text has more than one statement"},

	Off:      {"off", "a comment says hotrow:off"},
	TooLong:  {"too_long", "the text has more than 64 KiB"},
	TooDeep:  {"too_deep", "conditions stand in more than 20 brackets"},
	TooMany:  {"too_many", "the select list or ORDER BY is longer than any in use"},
	Unclosed: {"unclosed", "a string, name or comment does not end"},
	Backslash: {"backslash",
		"a string or name has a backslash, whose meaning depends on the session"},
	StringForm: {"string_form", "a string has a prefix, as E'...', or another string beside it"},
	NameForm:   {"name_form", "a name in quotes is empty or has a quote in it"},
	LongName:   {"long_name", "a name has more than 63 bytes"},
	NonASCII:   {"non_ascii", "a character outside strings and comments is not ASCII"},
	NumberForm: {"number_form", "a number or parameter has an unusual form, as 0x1F or 1_000"},
	Character:  {"character", "a character begins nothing that is read here"},
	Syntax:     {"syntax", "a clause or word stands where the grammar has none"},

	NoTable:      {"no_table", "the SELECT reads no table"},
	TableForm:    {"table_form", "the table is a function, a sample, or without its children"},
	Join:         {"join", "the statement reads several tables"},
	Subselect:    {"subselect", "the statement has a SELECT within it"},
	SetOperation: {"set_operation", "UNION, INTERSECT or EXCEPT"},
	Distinct:     {"distinct", "DISTINCT"},
	Grouping:     {"grouping", "GROUP BY or HAVING"},
	Locking:      {"locking", "the statement locks rows"},
	Into:         {"into", "SELECT INTO makes a table"},
	WithTies:     {"with_ties", "FETCH ... WITH TIES"},
	Function:     {"function", "the statement calls a function other than count(*)"},
	SessionValue: {"session_value",
		"the answer depends on the clock, the user or the session, as CURRENT_DATE"},
	Operator:     {"operator", "an operator is not on the list, or two stand without a space"},
	Expression:   {"expression", "an expression other than a column, a value or a comparison"},
	Cast:         {"cast", "something other than a value is cast"},
	CastType:     {"cast_type", "a value is cast to a type that is not on the list"},
	ReservedName: {"reserved_name", "a reserved word stands for a name without quotes"},
	Qualifier:    {"qualifier", "a column's qualifier is not the table's name or alias"},

	NoColumn: {"no_column",
		"a name is no column of the table: the server may take it for a function or the row"},
	ColumnType: {"column_type", "the statement uses a column of a type that is not on the list"},
	ParameterType: {"parameter_type",
		"the type of a parameter is not known, or not on the list"},
	TimeText: {"time_text",
		"a text for a date or time may mean another time at each reading, as 'now'"},
}

// String returns the code of the reason.
func (r Reason) String() string { return reasons[r].code }

// Text returns what the reason means.
func (r Reason) Text() string { return reasons[r].text }
