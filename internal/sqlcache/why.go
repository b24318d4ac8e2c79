package sqlcache

// A Why says why a group is passed on without a look into memory.
type Why uint8

// The reasons. whys documents each.
const (
	Looked Why = iota // no reason: memory was looked into
	WhyText
	WhySeveral
	WhyPiped
	WhyInside
	WhySplit
	WhyName
	WhySession
	WhyIsolation
	WhyDatabase
	WhyPath
	WhyTemporary
	WhyRedefined
	WhyTable
	WhyRows
	WhyUnfollowed
	WhyType
	WhyParameter
	WhyCatalogue
	WhyClosed
	WhyFeed
	WhySample
	WhyLevel
	WhyFloor
	WhyWrong
	NumWhys
)

// whys has the code of each reason, for metrics, and what it means, for people.
var whys = [NumWhys]struct{ code, text string }{
	Looked:     {"", "memory was looked into"},
	WhyText:    {"statement", "the statement is none that memory could answer"},
	WhySeveral: {"several", "several statements were sent together"},
	WhyPiped:   {"pipelined", "statements before it were under way"},
	WhyInside:  {"in_transaction", "the session was in a transaction"},
	WhySplit:   {"split", "the statement was sent in parts"},
	WhyName: {"prepared_name",
		"a prepared statement was being named, or nobody knows what its name stands for"},
	WhySession:   {"session", "the state of the session was not known"},
	WhyIsolation: {"isolation", "transactions of the session are not read committed"},
	WhyDatabase:  {"database", "it is another database than the one that is followed"},
	WhyPath:      {"search_path", "pg_catalog is not the first schema that is searched"},
	WhyTemporary: {"temporary", "the session has temporary tables, which take the place of others"},
	WhyRedefined: {"redefined", "users have made operators or casts of the server's own types"},
	WhyTable:     {"unknown_table", "the name is no table of users"},
	WhyRows: {"table_form",
		"it is a view, a partition, a parent, unlogged, or has row security"},
	WhyUnfollowed: {"unfollowed", "the feed does not tell of changes of the table"},
	WhyType:       {"type", "a column, a parameter or a text is of a type that is not on the list"},
	WhyParameter:  {"parameter", "a parameter is too long, or another time at each reading"},
	WhyCatalogue:  {"catalogue", "what names mean was not known, or could be changing"},
	WhyClosed:     {"written", "a client of hotrow was writing the table"},
	WhyFeed:       {"feed", "the feed was not known to be complete"},
	WhySample:     {"sample", "of many statements memory is looked into for a part"},
	WhyLevel:      {"level", "hotrow.freshness of the session is off, now or unknown"},
	WhyFloor:      {"floor", "the feed was not known to be as far as what the session had seen"},
	WhyWrong:      {"wrong", "memory had a wrong answer to a statement of this shape before"},
}

// String returns the code of the reason.
func (w Why) String() string { return whys[w].code }

// Text returns what the reason means.
func (w Why) Text() string { return whys[w].text }
