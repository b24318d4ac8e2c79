package sqlread

import "strings"

// A class says where a word may stand without quotes.
type class uint8

const (
	free    class = iota // a name anywhere
	noLabel              // a name, but not a label without AS
	kept                 // no name: the server's grammar has a use for it there
)

// A known word is one that this package or the server gives a meaning.
type known struct {
	text  string // in lower case
	class class
	why   Reason // if the word stands where it may not
}

// words are the known words by their texts. The classes are those of PostgreSQL 15 to 18: see
// TestWords_AreTheServers.
var words = makeWords()

// longestWord is the length of the longest known word.
const longestWord = len("current_timestamp")

// lookWord returns what is known of a word.
func lookWord(s string) known {
	var b [longestWord]byte
	if len(s) > len(b) {
		return known{}
	}
	for i := range len(s) {
		b[i] = lower(s[i])
	}
	return words[string(b[:len(s)])]
}

func makeWords() map[string]known {
	m := make(map[string]known)
	add := func(c class, why Reason, list string) {
		for text := range strings.FieldsSeq(list) {
			m[text] = known{text, c, why}
		}
	}
	add(free, Write, "copy delete insert merge truncate update")
	add(free, Transaction, "abort begin commit release rollback savepoint start")
	add(free, Session, "deallocate discard listen reset set show unlisten")
	add(free, Expression, "at escape")
	add(free, Syntax, "by count double first last next rows zone")
	add(noLabel, Function, "filter over within")
	add(noLabel, Syntax, "day hour minute month second varying without year")

	add(kept, Syntax, `all and any as asc between desc false fetch from ilike in is like limit not
		null nulls offset on or order returning row some time true using variadic where`)
	add(kept, ReservedName, `analyse analyze asymmetric authorization binary bit both char character
		bigint boolean check column concurrently constraint create dec decimal default deferrable
		do else float foreign freeze grant initially inout int integer interval leading
		merge_action national nchar none numeric out placing precision primary real references setof
		smallint then timestamp to trailing unique values varchar verbose when xmlparse xmlpi
		xmlroot`)
	add(kept, Transaction, "end")
	add(kept, Subselect, "select exists table")
	add(kept, Distinct, "distinct")
	add(kept, Join, "cross full inner join lateral left natural outer right")
	add(kept, Grouping, "group grouping having")
	add(kept, SetOperation, "except intersect union")
	add(kept, Locking, "for")
	add(kept, Into, "into")
	add(kept, TableForm, "only tablesample")
	add(kept, With, "with")
	add(kept, Expression, `array case cast collate collation isnull notnull overlaps similar
		symmetric`)
	add(kept, Function, `coalesce extract greatest least normalize nullif overlay position substring
		treat trim json json_array json_arrayagg json_exists json_object json_objectagg json_query
		json_scalar json_serialize json_table json_value window xmlattributes xmlconcat xmlelement
		xmlexists xmlforest xmlnamespaces xmlserialize xmltable`)
	add(kept, SessionValue, `current_catalog current_date current_role current_schema current_time
		current_timestamp current_user localtime localtimestamp session_user system_user user`)
	return m
}
