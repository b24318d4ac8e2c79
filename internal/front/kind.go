package front

// A Kind is one sort of failure, as every front tells it. A front adds the codes of its
// protocol, and hints that speak of the protocol.
type Kind struct {
	Slug  string // one of docs/reference/errors.md
	Means string // what is told when nothing more is known
	Hint  string // how to mend it; "": nothing is known
}

// kinds are those that more than one front may tell.
var kinds = []Kind{
	{"bad-key", "no row of the resource can have this key", ""},
	{"bad-query", "the query asks for something that is not offered", ""},
	{"unindexed-filter", "no index of the database answers the query",
		"ask for equality, or for a range ordered by its column"},
	{"ambiguous-relation",
		"foreign keys lead in several ways to the table that is to be embedded",
		"say which, as the detail does: table!constraint(...) or table!column(...)"},
	{"range-not-satisfiable", "the list has no such range of rows",
		"ask for fewer rows, or from an earlier one on"},
	{"bad-body", "the body is not a document of this resource",
		"get a document to see its members"},
	{"key-mismatch", "the key in the body is not the key of the request",
		"leave it out of the body"},
	{"invalid-value", "the database refuses a value", "change the value that the detail names"},
	{"unauthorized", "this needs a token", ""},
	{"forbidden", "this is not allowed",
		"ask for another role, or change access in the configuration"},
	{"database-forbids", "the database user may not do this",
		"grant it to the user that hotrow connects as"},
	{"not-found", "there is nothing here", ""},
	{"table-missing",
		"the table behind the resource is not there any more, or has another form",
		"reload hotrow after a migration"},
	{"read-only", "the resource takes no writes", "write to the database, or to another resource"},
	{"conflict", "the write breaks a constraint of the database",
		"the detail names the constraint"},
	{"precondition-failed", "the document is not the one that the request names",
		"get the document again and retry with its entity tag"},
	{"precondition-required",
		"the resource is changed only by requests that say which document they change",
		"send the entity tag that you hold"},
	{"too-large", "the request, or its answer, is too large", "send or ask for less at a time"},
	{"database-full", "the database has no space left", "free space on the database's disk"},
	{"starting", "hotrow has just started and does not know the tables of the database yet",
		"send the request again"},
	{"unread-answers", "too many answers wait for their clients to read them",
		"read the answers, and ask again"},
	{"internal", "hotrow cannot answer this; the log has the cause",
		"look for the request in hotrow's log"},
	{"database-unavailable", "the database cannot be reached and memory cannot answer",
		"try again later"},
	{"database-busy",
		"the database was reached, but could not do this now: a lock, a time limit, its own state",
		"try again later; hotrow's log has the database's words"},
	{"try-again", "the database gave up the transaction in favour of another",
		"send the request again"},
	{"outcome-unknown",
		"the connection broke during the write, which may have happened or not",
		"get the document before you write again"},
	{"not-cached", "memory has no fresh copy, and the request forbids reading the database", ""},
}

// KindOf returns the kind that fronts share by its slug.
func KindOf(slug string) Kind {
	for _, k := range kinds {
		if k.Slug == slug {
			return k
		}
	}
	panic("BUG: there is no kind " + slug)
}
